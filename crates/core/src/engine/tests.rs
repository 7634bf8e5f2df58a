//! The engine as stories: facts in, effects and standing out.

use serde_json::json;

use super::*;
use crate::effect::SessionPlan;
use crate::event::{PersonReply, SessionEnd, SessionVerdict};
use crate::graph::{Node, NodeKind};
use crate::hook::permission::{Isolation, Rules as PermissionRules};
use crate::hook::{HookCall, HookKind};
use crate::id::{HookId, InboxId, NodeId};
use crate::looping::verdict::{CheckResult, Sight, TrackerSight};
use crate::looping::{MarkerMatch, Mode, Rules};
use crate::run::{Outcome, Reason, Standing, Status, Waiting};
use crate::spec::{Check, Driver, Limits, OnPermission, OnQuestion, Policy};

const NOW: Moment = Moment(1_000);

fn rules(mode: Mode, max_iterations: u32) -> Rules {
    Rules {
        prompt: "do it".into(),
        mode,
        marker: Some("DONE".into()),
        marker_match: MarkerMatch::Line,
        promise: None,
        signal: None,
        blocked_marker: None,
        max_iterations,
        continue_message: "go on".into(),
        tracker_body: String::new(),
        tracker_path: Some("/w/loop-tracker.md".into()),
        stuck_after: 0,
    }
}

fn spec(kind: NodeKind) -> Spec {
    Spec {
        workflow: "test".into(),
        seed: "seed".into(),
        input: "do it".into(),
        node: Node { id: NodeId::new("loop"), kind, system: None },
        workspace: "/w".into(),
        machine: "m".into(),
        driver: Driver { name: "sim".into(), program: "/bin/sim".into(), model: None, args: vec![] },
        isolation: Isolation::Strict,
        permissions: PermissionRules::default(),
        plugins: vec![],
        checks: vec![],
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
        limits: Limits::default(),
    }
}

/// A run that is told facts, and remembers what it last wanted.
struct Story {
    state: State,
    step: Step,
}

impl Story {
    fn begin(spec: Spec) -> Story {
        let (state, step) = start(RunId::new("r"), spec, NOW);
        let mut story = Story { state, step };
        story.tell(Event::Prepared { fingerprint: "0".into(), base: None, error: None });
        story
    }

    fn looping(mode: Mode, max: u32) -> Story {
        Story::begin(spec(NodeKind::Loop(rules(mode, max))))
    }

    fn tell(&mut self, event: Event) -> &mut Story {
        self.step = apply(&mut self.state, NOW, &event);
        self
    }

    fn open(&self, verb: Verb) -> EffectId {
        let found = self.state.open.iter().find(|planned| planned.id.verb == verb);
        found.unwrap_or_else(|| panic!("no open {verb:?} in {:?}", self.state.open)).id.clone()
    }

    fn session_ends(&mut self, verdict: SessionVerdict) -> &mut Story {
        let effect = self.open(Verb::Session);
        let end = SessionEnd {
            verdict,
            last_message: Some("words".into()),
            usage: Usage { output_tokens: 10, ..Usage::default() },
            tool_calls: 0,
            spoke: true,
            offset: 1,
        };
        self.tell(Event::SessionEnded { effect, end })
    }

    fn seen(&mut self, complete: bool) -> &mut Story {
        let sight = Sight {
            tracker: TrackerSight::Read { complete, blocked: None },
            promised: false,
            signalled: false,
            fingerprint: self.state.turns.to_string(),
        };
        let effect = self.open(Verb::Inspect);
        self.tell(Event::Inspected { effect, sight })
    }

    fn turn(&mut self, complete: bool) -> &mut Story {
        self.session_ends(SessionVerdict::Done).seen(complete)
    }

    fn asks(&mut self, id: &str, kind: HookKind) -> &mut Story {
        self.tell(Event::HookAsked { call: HookCall { id: HookId::new(id), kind } })
    }

    fn stops(&mut self, id: &str) -> &mut Story {
        self.asks(id, HookKind::Stop { last_message: None, background: false, stop_hook_active: true })
    }

    fn plan(&self) -> SessionPlan {
        let found = self.step.effects.iter().find_map(|planned| match &planned.effect {
            Effect::StartSession(plan) => Some(plan.clone()),
            _ => None,
        });
        found.expect("a session is started")
    }

    fn answer(&self) -> Answer {
        let found = self.step.effects.iter().find_map(|planned| match &planned.effect {
            Effect::AnswerHook { answer, .. } => Some(answer.clone()),
            _ => None,
        });
        found.expect("a hook is answered")
    }

    fn ends(&mut self) -> (Status, Reason) {
        self.tell(Event::CleanedUp);
        match self.state.standing() {
            Standing::Finished(Outcome { status, reason, .. }) => (status, reason),
            other => panic!("not finished: {other:?}"),
        }
    }
}

#[test]
fn a_fresh_loop_starts_a_new_session_each_turn_until_the_marker() {
    let mut story = Story::looping(Mode::Fresh, 5);
    let first = story.plan();
    let second = story.turn(false).plan();
    assert_ne!(first.session, second.session);
    assert!(!second.resume && second.prompt.contains("go on"));
    assert_eq!(story.turn(true).ends(), (Status::Completed, Reason::Marker));
    assert_eq!(story.state.turns, 2);
    assert_eq!(story.state.usage.output_tokens, 20);
}

#[test]
fn a_loop_of_three_turns_starts_three_sessions_and_is_exhausted() {
    let mut story = Story::looping(Mode::Fresh, 3);
    story.turn(false).turn(false).turn(false);
    assert_eq!(story.ends(), (Status::Exhausted, Reason::MaxIterations));
    assert_eq!(story.state.turns, 3);
}

#[test]
fn resume_mode_goes_on_in_the_same_session() {
    let mut story = Story::looping(Mode::Resume, 5);
    let first = story.plan();
    let second = story.turn(false).plan();
    assert_eq!(first.session, second.session);
    assert!(second.resume && second.prompt.starts_with("go on"));
}

#[test]
fn in_session_blocks_each_stop_until_it_is_done_and_then_waits_for_the_agent_to_end() {
    let mut story = Story::looping(Mode::InSession, 0);
    for turn in 0..12 {
        story.stops(&format!("h{turn}")).seen(false);
        assert!(matches!(story.answer(), Answer::Block { .. }), "turn {turn}");
    }
    assert_eq!(story.stops("last").seen(true).answer(), Answer::Pass);
    assert_eq!(story.session_ends(SessionVerdict::Done).ends(), (Status::Completed, Reason::Marker));
    assert_eq!(story.state.turns, 13);
}

#[test]
fn an_agent_that_does_not_end_after_its_stop_was_allowed_is_put_away() {
    let mut story = Story::looping(Mode::InSession, 1);
    story.stops("h").seen(false);
    let effect = story.open(Verb::Wait);
    story.tell(Event::WaitOver { effect });
    assert!(matches!(story.step.effects.last().map(|p| &p.effect), Some(Effect::CleanUp { .. })));
    assert_eq!(story.ends(), (Status::Exhausted, Reason::MaxIterations));
}

#[test]
fn a_stop_while_background_agents_run_is_neither_counted_nor_blocked() {
    let mut story = Story::looping(Mode::InSession, 5);
    story.asks("h", HookKind::Stop { last_message: None, background: true, stop_hook_active: false });
    assert_eq!(story.answer(), Answer::Pass);
    assert_eq!((story.state.turns, &story.state.phase), (0, &Phase::InTurn));
}

#[test]
fn a_resent_hook_gets_the_same_answer_and_is_counted_once() {
    let mut story = Story::looping(Mode::InSession, 5);
    story.stops("h").seen(false);
    let first = story.answer();
    assert_eq!(story.stops("h").answer(), first);
    assert_eq!(story.state.turns, 1);
    assert!(story.step.news.is_empty());
}

#[test]
fn an_in_session_agent_that_ends_while_its_turn_is_judged_is_resumed() {
    let mut story = Story::looping(Mode::InSession, 5);
    let first = story.plan();
    story.stops("h").session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    let second = story.seen(false).plan();
    assert!(second.resume);
    assert_eq!(second.session, first.session);
    assert_eq!(story.state.turns, 1);
}

#[test]
fn an_in_session_agent_whose_stop_never_arrived_is_a_broken_transport() {
    let mut story = Story::looping(Mode::InSession, 5);
    assert_eq!(story.session_ends(SessionVerdict::Done).ends(), (Status::Failed, Reason::HookTransport));
}

#[test]
fn a_stop_that_found_no_owner_is_judged_after_the_resume() {
    let mut story = Story::looping(Mode::InSession, 5);
    story.tell(Event::OwnerChanged);
    let second = story.turn(false).plan();
    assert!(second.resume);
    assert_eq!(story.state.turns, 1);
}

#[test]
fn tool_calls_without_any_hook_are_a_broken_transport() {
    let mut story = Story::looping(Mode::Fresh, 5);
    let effect = story.open(Verb::Session);
    let end = SessionEnd {
        verdict: SessionVerdict::Done,
        last_message: None,
        usage: Usage::default(),
        tool_calls: 2,
        spoke: false,
        offset: 0,
    };
    story.tell(Event::SessionEnded { effect, end });
    assert_eq!(story.ends(), (Status::Failed, Reason::HookTransport));
}

#[test]
fn a_rate_limit_is_a_wait_and_not_a_turn() {
    let mut story = Story::looping(Mode::Fresh, 1);
    let first = story.plan();
    story.session_ends(SessionVerdict::RateLimited { resets_at: Some(Moment(90_000)) });
    assert_eq!(story.state.standing(), Standing::Waiting(Waiting::RateLimit { until: Moment(90_000) }));
    let effect = story.open(Verb::Wait);
    let again = story.tell(Event::WaitOver { effect }).plan();
    assert!(again.resume);
    assert_eq!(again.session, first.session);
    assert_eq!(story.turn(true).ends(), (Status::Completed, Reason::Marker));
    assert_eq!(story.state.turns, 1);
}

#[test]
fn a_transient_error_is_tried_again_three_times_then_failed() {
    let mut story = Story::looping(Mode::Fresh, 5);
    for _ in 0..3 {
        story.session_ends(SessionVerdict::Transient { what: "529".into() });
        let effect = story.open(Verb::Wait);
        story.tell(Event::WaitOver { effect });
    }
    story.session_ends(SessionVerdict::Transient { what: "529".into() });
    assert_eq!(story.ends(), (Status::Failed, Reason::TransientErrors));
    assert_eq!(story.state.turns, 0);
}

#[test]
fn an_interrupted_turn_is_resumed_and_counted_once() {
    let mut story = Story::looping(Mode::Fresh, 5);
    let first = story.plan();
    let again = story.session_ends(SessionVerdict::Interrupted { what: "killed".into() }).plan();
    assert!(again.resume && again.session == first.session);
    assert_eq!(story.turn(true).ends(), (Status::Completed, Reason::Marker));
    assert_eq!(story.state.turns, 1);
}

#[test]
fn a_turn_cut_off_before_it_spoke_begins_anew_in_another_session() {
    let mut story = Story::looping(Mode::Fresh, 5);
    let first = story.plan();
    let effect = story.open(Verb::Session);
    let end = SessionEnd {
        verdict: SessionVerdict::Interrupted { what: "host died".into() },
        last_message: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
    };
    let again = story.tell(Event::SessionEnded { effect, end }).plan();
    assert!(!again.resume);
    assert_ne!(again.session, first.session);
    assert_eq!(again.prompt, first.prompt);
}

#[test]
fn failing_checks_are_fed_back() {
    let mut orders = spec(NodeKind::Loop(rules(Mode::Fresh, 5)));
    orders.checks = vec![Check { name: "test".into(), command: "make test".into() }];
    let mut story = Story::begin(orders);
    story.turn(true);
    let effect = story.open(Verb::Checks);
    let result =
        CheckResult { name: "test".into(), passed: false, how: "exit code 1".into(), output: "boom".into() };
    let next = story.tell(Event::ChecksFinished { effect, results: vec![result] }).plan();
    assert!(next.prompt.contains("boom"));
    story.turn(true);
    let effect = story.open(Verb::Checks);
    let green = CheckResult { name: "test".into(), passed: true, how: String::new(), output: String::new() };
    assert_eq!(
        story.tell(Event::ChecksFinished { effect, results: vec![green] }).ends(),
        (Status::Completed, Reason::Marker)
    );
}

#[test]
fn a_tool_outside_the_preset_is_denied_and_one_inside_allowed() {
    let mut story = Story::looping(Mode::Fresh, 5);
    story.asks("a", HookKind::Tool { name: "WebFetch".into(), input: json!({}) });
    assert!(matches!(story.answer(), Answer::Deny { .. }));
    story.asks("b", HookKind::Tool { name: "Read".into(), input: json!({}) });
    assert_eq!(story.answer(), Answer::Allow { input: None });
}

#[test]
fn a_question_under_fail_blocks_the_run_at_once() {
    let mut story = Story::looping(Mode::Fresh, 5);
    story.asks("q", HookKind::Question { input: json!({"questions": [{"question": "which?"}]}) });
    assert!(matches!(story.answer(), Answer::Deny { .. }));
    assert_eq!(story.ends(), (Status::Blocked, Reason::Question));
}

#[test]
fn a_question_waits_for_a_person_and_the_answer_goes_back_inside_its_input() {
    let mut orders = spec(NodeKind::Loop(rules(Mode::Fresh, 5)));
    orders.policy.on_question = OnQuestion::Wait;
    let mut story = Story::begin(orders);
    story.asks("q", HookKind::Question { input: json!({"questions": [{"question": "which?"}]}) });
    assert_eq!(story.state.standing().word(), "waiting");
    story.tell(Event::PersonAnswered {
        inbox: InboxId::new("i"),
        hook: None,
        reply: PersonReply::Answers { answers: vec![(String::new(), "the blue one".into())] },
    });
    let Answer::Allow { input: Some(input) } = story.answer() else { panic!("allowed with answers") };
    assert_eq!(input["answers"], json!({"which?": "the blue one"}));
    assert_eq!(story.state.standing(), Standing::Running);
}

#[test]
fn questions_asked_together_wait_until_each_is_answered() {
    let mut orders = spec(NodeKind::Loop(rules(Mode::Fresh, 5)));
    orders.policy.on_question = OnQuestion::Wait;
    let mut story = Story::begin(orders);
    let input = json!({"questions": [{"question": "which db?"}, {"question": "colour?"}]});
    story.asks("q", HookKind::Question { input });
    let answer = |question: &str, text: &str| Event::PersonAnswered {
        inbox: InboxId::new(question),
        hook: None,
        reply: PersonReply::Answers { answers: vec![(question.into(), text.into())] },
    };
    story.tell(answer("which db?", "pg"));
    assert!(story.step.effects.is_empty());
    assert_eq!(story.state.standing().word(), "waiting");
    story.tell(answer("colour?", "blue"));
    let Answer::Allow { input: Some(input) } = story.answer() else { panic!("allowed with answers") };
    assert_eq!(input["answers"], json!({"which db?": "pg", "colour?": "blue"}));
}

#[test]
fn cancelling_puts_away_with_grace_and_again_without() {
    let mut story = Story::looping(Mode::Fresh, 5);
    story.tell(Event::CancelAsked { inbox: None });
    assert!(matches!(story.step.effects[0].effect, Effect::CleanUp { .. }));
    story.tell(Event::CancelAsked { inbox: None });
    assert!(matches!(story.step.effects[0].effect, Effect::KillChildren));
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert_eq!(story.ends(), (Status::Cancelled, Reason::User));
}

#[test]
fn a_finished_run_never_changes() {
    let mut story = Story::looping(Mode::Fresh, 1);
    story.turn(true).ends();
    let before = story.state.clone();
    story.tell(Event::CancelAsked { inbox: None }).tell(Event::RunTimedOut).tell(Event::CleanedUp);
    assert_eq!(story.state, before);
}

#[test]
fn a_late_outcome_of_a_settled_effect_changes_nothing() {
    let mut story = Story::looping(Mode::Fresh, 5);
    let effect = story.open(Verb::Session);
    story.session_ends(SessionVerdict::Done);
    let before = story.state.clone();
    let end = SessionEnd {
        verdict: SessionVerdict::Failed { what: "late".into() },
        last_message: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
    };
    story.tell(Event::SessionEnded { effect, end });
    assert_eq!(story.state, before);
}

#[test]
fn plugin_mode_counts_the_stops_the_plugin_held() {
    let mut orders = rules(Mode::Plugin, 4);
    orders.tracker_path = None;
    let mut story = Story::begin(spec(NodeKind::Loop(orders)));
    for turn in 0..4 {
        assert_eq!(story.stops(&format!("h{turn}")).answer(), Answer::Pass);
    }
    story.session_ends(SessionVerdict::Done);
    let effect = story.open(Verb::Inspect);
    let sight =
        Sight { tracker: TrackerSight::None, promised: true, signalled: false, fingerprint: "x".into() };
    assert_eq!(story.tell(Event::Inspected { effect, sight }).ends(), (Status::Completed, Reason::Promise));
    assert_eq!(story.state.turns, 4);
}

#[test]
fn a_single_prompt_is_one_turn() {
    let mut story = Story::begin(spec(NodeKind::Prompt { prompt: "hello".into() }));
    assert_eq!(story.plan().prompt, "hello");
    story.session_ends(SessionVerdict::Done);
    let effect = story.open(Verb::Inspect);
    let sight =
        Sight { tracker: TrackerSight::None, promised: false, signalled: false, fingerprint: "x".into() };
    assert_eq!(story.tell(Event::Inspected { effect, sight }).ends(), (Status::Completed, Reason::TurnDone));
}
