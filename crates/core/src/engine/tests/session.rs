//! One session alone: its turns, its hooks, its endings.

use serde_json::json;

use super::*;
use crate::event::{SaveEnd, SessionFailure};
use crate::graph::builder::prompt;
use crate::snapshot::{FolderSnapshot, SnapshotName};

/// A run of one loop of turns.
pub(super) fn of_loop(rules: LoopRules) -> Spec {
    let mut spec = spec_of(vec![prompt("do it").id("loop").into()]);
    spec.sessions.insert(NodeId::new("loop"), session_settings(Some(rules)));
    spec
}

pub(super) fn begin(spec: Spec) -> Story {
    let mut story = Story::of(spec);
    story.prepared("loop");
    story
}

fn looping(mode: LoopMode, max: u32) -> Story {
    begin(of_loop(rules(mode, max)))
}

impl Story {
    pub(super) fn turn(&mut self, complete: bool) -> &mut Story {
        self.session_ends(SessionVerdict::Completed).seen(complete)
    }

    pub(super) fn ends(&mut self) -> (FinalStatus, EndReason) {
        self.cleaned("loop").ended()
    }

    fn phase(&self) -> &SessionPhase {
        &self.state.work(&NodeId::new("loop")).expect("the work").phase
    }
}

#[test]
fn a_fresh_loop_starts_a_new_session_each_turn_until_the_marker() {
    let mut story = looping(LoopMode::Fresh, 5);
    let first = story.plan();
    let second = story.turn(false).plan();
    assert_ne!(first.session, second.session);
    assert!(!second.resume && second.prompt.contains("go on"));
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.state.turns(), 2);
    assert_eq!(story.state.spent.usage.output_tokens, 20);
}

#[test]
fn a_loop_of_three_turns_starts_three_sessions_and_is_exhausted() {
    let mut story = looping(LoopMode::Fresh, 3);
    story.turn(false).turn(false).turn(false);
    assert_eq!(story.ends(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    assert_eq!(story.state.turns(), 3);
}

#[test]
fn resume_mode_goes_on_in_the_same_session() {
    let mut story = looping(LoopMode::Resume, 5);
    let first = story.plan();
    let second = story.turn(false).plan();
    assert_eq!(first.session, second.session);
    assert!(second.resume && second.prompt.starts_with("go on"));
}

#[test]
fn in_session_blocks_each_stop_until_it_is_done_and_then_waits_for_the_agent_to_end() {
    let mut story = looping(LoopMode::InSession, 0);
    for turn in 0..12 {
        story.stops(&format!("h{turn}")).seen(false);
        assert!(matches!(story.answer(), HookAnswer::Block { .. }), "turn {turn}");
    }
    assert_eq!(story.stops("last").seen(true).answer(), HookAnswer::Pass);
    assert_eq!(
        story.session_ends(SessionVerdict::Completed).ends(),
        (FinalStatus::Completed, EndReason::Marker)
    );
    assert_eq!(story.state.turns(), 13);
}

#[test]
fn an_agent_that_does_not_end_after_its_stop_was_allowed_is_put_away() {
    let mut story = looping(LoopMode::InSession, 1);
    story.stops("h").seen(false);
    let effect = story.open(Verb::Wait);
    story.tell(Event::WaitOver { effect });
    assert!(matches!(story.step.effects.last().map(|p| &p.effect), Some(Effect::CleanUp { .. })));
    assert_eq!(story.ends(), (FinalStatus::Exhausted, EndReason::MaxIterations));
}

#[test]
fn a_stop_while_background_agents_run_is_neither_counted_nor_blocked() {
    let mut story = looping(LoopMode::InSession, 5);
    story.asks("h", HookKind::Stop { last_message: None, background: true });
    assert_eq!(story.answer(), HookAnswer::Pass);
    assert_eq!((story.state.turns(), story.phase()), (0, &SessionPhase::InTurn));
}

#[test]
fn a_resent_hook_gets_the_same_answer_and_is_counted_once() {
    let mut story = looping(LoopMode::InSession, 5);
    story.stops("h").seen(false);
    let first = story.answer();
    assert_eq!(story.stops("h").answer(), first);
    assert_eq!(story.state.turns(), 1);
    assert!(story.step.news.is_empty());
}

#[test]
fn an_in_session_agent_that_ends_while_its_turn_is_judged_is_resumed() {
    let mut story = looping(LoopMode::InSession, 5);
    let first = story.plan();
    story.stops("h").session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    let second = story.seen(false).plan();
    assert!(second.resume);
    assert_eq!(second.session, first.session);
    assert_eq!(story.state.turns(), 1);
}

#[test]
fn an_in_session_agent_whose_stop_never_arrived_is_a_broken_transport() {
    let mut story = looping(LoopMode::InSession, 5);
    assert_eq!(
        story.session_ends(SessionVerdict::Completed).ends(),
        (FinalStatus::Failed, EndReason::HookTransport)
    );
}

/// The turn's process is over, and these calls of its hooks found no owner.
fn unheard(story: &mut Story, verdict: SessionVerdict, hooks: &[&str]) {
    let effect = story.open(Verb::Session);
    let unanswered = hooks.iter().copied().map(HookId::new).collect();
    story.tell(Event::SessionEnded { effect, end: SessionEnd { unanswered, ..session_end(verdict) } });
}

#[test]
fn a_turn_in_which_a_hook_found_no_owner_was_cut_off_in_every_mode_however_it_ended() {
    for mode in [LoopMode::Fresh, LoopMode::Resume, LoopMode::InSession, LoopMode::Plugin] {
        for verdict in [
            SessionVerdict::Completed,
            SessionVerdict::Failed { cause: Default::default(), what: "gave up".into() },
        ] {
            let mut story = looping(mode, 1);
            let first = story.plan();
            story.tell(Event::OwnerChanged);
            unheard(&mut story, verdict.clone(), &["h"]);
            let again = story.plan();
            assert!(again.resume && again.session == first.session, "{mode:?} {verdict:?}");
            assert!(again.prompt.starts_with("You were interrupted"), "{}", again.prompt);
            assert_eq!((story.state.turns(), story.state.spent.turns), (0, 1), "{mode:?} {verdict:?}");
        }
    }
}

#[test]
fn a_single_turn_in_which_a_hook_found_no_owner_is_not_done() {
    let mut story = Story::of(spec_of(vec![prompt("do it").id("only").into()]));
    story.prepared("only").tell(Event::OwnerChanged);
    unheard(&mut story, SessionVerdict::Completed, &["h"]);
    assert!(story.plan().resume);
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.cleaned("only").ended(), (FinalStatus::Completed, EndReason::TurnDone));
}

#[test]
fn a_stop_that_found_no_owner_and_left_no_note_was_cut_off_as_well() {
    let mut story = looping(LoopMode::InSession, 5);
    let first = story.plan();
    let again = story.tell(Event::OwnerChanged).session_ends(SessionVerdict::Completed).plan();
    assert!(again.resume && again.session == first.session);
    assert_eq!(story.state.turns(), 0);
}

#[test]
fn owners_may_die_in_a_turn_as_often_as_somebody_resumes_it() {
    let mut story = looping(LoopMode::Fresh, 1);
    for time in 0..20 {
        story.tell(Event::OwnerChanged);
        unheard(&mut story, SessionVerdict::Completed, &[&format!("h{time}")]);
        assert!(story.plan().resume, "time {time}");
    }
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
}

#[test]
fn notes_that_somebody_makes_while_the_owner_lives_do_not_repeat_a_turn_for_ever() {
    let mut story = looping(LoopMode::Fresh, 1);
    for time in 0..4 {
        unheard(&mut story, SessionVerdict::Completed, &[&format!("h{time}")]);
    }
    assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::Interrupted));
    let mut story = looping(LoopMode::InSession, 1);
    story.tell(Event::OwnerChanged);
    for time in 0..4 {
        stops_after(&mut story, &format!("stop{time}"), &[&format!("h{time}")]);
    }
    assert_eq!(
        story.session_ends(SessionVerdict::Completed).ends(),
        (FinalStatus::Failed, EndReason::Interrupted)
    );
}

/// The agent wants to stop, after these calls of its hooks found no owner.
fn stops_after(story: &mut Story, id: &str, hooks: &[&str]) {
    let kind = HookKind::Stop { last_message: None, background: false };
    let unanswered = hooks.iter().copied().map(HookId::new).collect();
    story.tell(Event::HookAsked {
        call: HookCall { id: HookId::new(id), from: None, kind, unanswered, real: None },
    });
}

#[test]
fn a_turn_that_was_cut_off_does_not_go_on_once_the_tokens_are_spent() {
    let mut story = looping(LoopMode::InSession, 5);
    story.tell(Event::OwnerChanged);
    story.tell(Event::Allowed { budget: Budget { tokens: Some(0), ..Budget::default() } });
    stops_after(&mut story, "stop", &["h"]);
    assert_eq!(story.answer(), HookAnswer::Pass);
    assert_eq!(
        story.session_ends(SessionVerdict::Completed).ends(),
        (FinalStatus::Exhausted, EndReason::Budget)
    );
}

#[test]
fn an_agent_that_was_refused_by_nobody_uses_no_other_tool_until_it_is_told() {
    for mode in [LoopMode::Fresh, LoopMode::InSession] {
        let mut story = looping(mode, 1);
        story.tell(Event::OwnerChanged);
        for kind in [
            HookKind::Tool(ToolCall::named("Read", json!({}))),
            HookKind::Question { questions: vec![Question::open("which?")] },
        ] {
            let (id, unanswered) = (HookId::new(format!("{kind:?}")), vec![HookId::new("h")]);
            story.tell(Event::HookAsked { call: HookCall { id, from: None, kind, unanswered, real: None } });
            assert!(matches!(story.answer(), HookAnswer::Deny { .. }), "{mode:?}");
        }
    }
    let mut story = looping(LoopMode::InSession, 1);
    stops_after(&mut story, "s", &["h"]);
    let (id, unanswered) = (HookId::new("t"), vec![HookId::new("h")]);
    let kind = HookKind::Tool(ToolCall::named("Read", json!({})));
    story.tell(Event::HookAsked { call: HookCall { id, from: None, kind, unanswered, real: None } });
    assert_eq!(story.answer(), HookAnswer::Allow, "it was told");
}

#[test]
fn an_agent_that_was_refused_by_nobody_may_not_stop_its_turn_and_is_told_once() {
    let mut story = looping(LoopMode::InSession, 1);
    story.tell(Event::OwnerChanged);
    stops_after(&mut story, "s1", &["h"]);
    let HookAnswer::Block { reason } = story.answer() else { panic!("{:?}", story.answer()) };
    assert!(reason.starts_with("You were interrupted"), "{reason}");
    assert_eq!((story.state.turns(), story.state.spent.turns), (0, 1), "it is the same turn");
    stops_after(&mut story, "s2", &["h"]);
    assert_eq!(story.seen(true).answer(), HookAnswer::Pass);
    unheard(&mut story, SessionVerdict::Completed, &["h"]);
    assert_eq!(story.ends(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.state.turns(), 1);
}

#[test]
fn tool_calls_without_any_hook_are_a_broken_transport() {
    let mut story = looping(LoopMode::Fresh, 5);
    let effect = story.open(Verb::Session);
    let end = SessionEnd {
        verdict: SessionVerdict::Completed,
        last_message: None,
        usage: Usage::default(),
        tool_calls: 2,
        spoke: false,
        offset: 0,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
        value: None,
    };
    story.tell(Event::SessionEnded { effect, end });
    assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::HookTransport));
}

#[test]
fn a_rate_limit_is_a_wait_and_not_a_turn() {
    let mut story = looping(LoopMode::Fresh, 1);
    let first = story.plan();
    story.session_ends(SessionVerdict::RateLimited { resets_at: Some(Moment(90_000)) });
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::RateLimit { until: Moment(90_000) }));
    let effect = story.open(Verb::Wait);
    let again = story.tell(Event::WaitOver { effect }).plan();
    assert!(again.resume);
    assert_eq!(again.session, first.session);
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.state.turns(), 1);
}

#[test]
fn a_person_ends_the_wait_for_a_rate_limit() {
    let mut story = looping(LoopMode::Fresh, 1);
    let first = story.plan();
    story.session_ends(SessionVerdict::RateLimited { resets_at: Some(Moment(90_000)) });
    let late = story.open(Verb::Wait);
    let again = story.tell(Event::RetryAsked { inbox: None }).plan();
    assert_eq!((again.session, again.resume), (first.session, true));
    assert_eq!(story.tell(Event::WaitOver { effect: late }).does(), Vec::<String>::new());
    assert_eq!(story.tell(Event::RetryAsked { inbox: None }).does(), Vec::<String>::new(), "no turn waits");
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
}

#[test]
fn a_rate_limit_without_an_end_is_tried_after_a_minute_and_then_less_often() {
    let mut story = looping(LoopMode::Fresh, 1);
    let mut waits = Vec::new();
    for _ in 0..5 {
        story.session_ends(SessionVerdict::RateLimited { resets_at: None });
        let Progress::Waiting(Waiting::RateLimit { until }) = story.state.progress() else { panic!() };
        waits.push(until.since(story.at) / 60_000);
        let effect = story.open(Verb::Wait);
        story.tell(Event::WaitOver { effect });
    }
    assert_eq!(waits, [1, 2, 4, 5, 5], "in minutes, up to the setting");
}

#[test]
fn a_transient_error_is_tried_again_three_times_then_failed() {
    let mut story = looping(LoopMode::Fresh, 5);
    for _ in 0..3 {
        story.session_ends(SessionVerdict::Transient { what: "529".into() });
        let effect = story.open(Verb::Wait);
        story.tell(Event::WaitOver { effect });
    }
    story.session_ends(SessionVerdict::Transient { what: "529".into() });
    assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::TransientErrors));
    assert_eq!(story.state.turns(), 0);
}

#[test]
fn an_interrupted_turn_is_resumed_and_counted_once() {
    let mut story = looping(LoopMode::Fresh, 5);
    let first = story.plan();
    let again = story.session_ends(SessionVerdict::Interrupted { what: "killed".into() }).plan();
    assert!(again.resume && again.session == first.session);
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.state.turns(), 1);
}

#[test]
fn a_turn_cut_off_before_it_spoke_begins_anew_in_another_session() {
    let mut story = looping(LoopMode::Fresh, 5);
    let first = story.plan();
    let effect = story.open(Verb::Session);
    let end = SessionEnd {
        verdict: SessionVerdict::Interrupted { what: "host died".into() },
        last_message: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
        value: None,
    };
    let again = story.tell(Event::SessionEnded { effect, end }).plan();
    assert!(!again.resume);
    assert_ne!(again.session, first.session);
    assert_eq!(again.prompt, first.prompt);
}

#[test]
fn a_turn_whose_conversation_was_not_saved_begins_anew_in_another_session() {
    let mut story = looping(LoopMode::Resume, 5);
    let lost = || SessionVerdict::Failed { cause: SessionFailure::NoConversation, what: "not found".into() };
    let first = story.plan();
    let resumed = story.session_ends(SessionVerdict::Interrupted { what: "killed".into() }).plan();
    assert!(resumed.resume);
    let again = story.session_ends(lost()).plan();
    assert!(!again.resume && again.session != first.session);
    assert_eq!(again.prompt, first.prompt);
    // The conversation of an earlier turn has more than this turn.
    assert!(story.turn(false).plan().resume);
    story.session_ends(lost());
    assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::AgentFailed));
}

#[test]
fn a_later_turn_cut_off_before_it_spoke_is_told_again_what_was_wrong() {
    let mut session_settings = of_loop(rules(LoopMode::Fresh, 5));
    session_settings.checks = vec![test_check()];
    let mut story = begin(session_settings);
    let told = story.turn(true).checks("loop", false).plan();
    assert!(told.prompt.contains("boom"), "{}", told.prompt);
    let effect = story.open(Verb::Session);
    let verdict = SessionVerdict::Interrupted { what: "host died".into() };
    let end = SessionEnd { spoke: false, ..session_end(verdict) };
    let again = story.tell(Event::SessionEnded { effect, end }).plan();
    assert_eq!((again.resume, again.prompt), (false, told.prompt));
}

#[test]
fn failing_checks_are_fed_back() {
    let mut session_settings = of_loop(rules(LoopMode::Fresh, 5));
    session_settings.checks = vec![Check { name: "test".into(), command: "make test".into() }];
    let mut story = begin(session_settings);
    story.turn(true);
    let effect = story.open(Verb::Checks);
    let red = result(false);
    let next = story.tell(Event::ChecksFinished { effect, results: vec![red] }).plan();
    assert!(next.prompt.contains("boom"));
    story.turn(true);
    let effect = story.open(Verb::Checks);
    let green = result(true);
    assert_eq!(
        story.tell(Event::ChecksFinished { effect, results: vec![green] }).ends(),
        (FinalStatus::Completed, EndReason::Marker)
    );
}

#[test]
fn a_tool_outside_the_preset_is_denied_and_one_inside_allowed() {
    let mut story = looping(LoopMode::Fresh, 5);
    story.asks("a", HookKind::Tool(ToolCall::named("WebFetch", json!({}))));
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    story.asks("b", HookKind::Tool(ToolCall::named("Read", json!({}))));
    assert_eq!(story.answer(), HookAnswer::Allow);
}

#[test]
fn a_question_under_fail_blocks_the_run_at_once() {
    let mut story = looping(LoopMode::Fresh, 5);
    story.asks("q", HookKind::Question { questions: vec![Question::open("which?")] });
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    assert_eq!(story.ends(), (FinalStatus::Blocked, EndReason::Question));
}

#[test]
fn a_question_waits_for_a_person_and_the_answer_goes_back_by_its_text() {
    let mut session_settings = of_loop(rules(LoopMode::Fresh, 5));
    session_settings.policy.on_question = OnQuestion::Wait;
    let mut story = begin(session_settings);
    story.asks("q", HookKind::Question { questions: vec![Question::open("which?")] });
    assert_eq!(story.state.progress().word(), "waiting");
    story.tell(Event::PersonAnswered {
        inbox: InboxId::new("i"),
        hook: None,
        reply: PersonReply::Answers { answers: vec![(String::new(), "the blue one".into())] },
        origin: None,
    });
    assert_eq!(story.answer(), reply(&[("which?", "the blue one")]));
    assert_eq!(story.state.progress(), Progress::Running);
}

#[test]
fn questions_asked_together_wait_until_each_is_answered() {
    let mut session_settings = of_loop(rules(LoopMode::Fresh, 5));
    session_settings.policy.on_question = OnQuestion::Wait;
    let mut story = begin(session_settings);
    let questions = ["which db?", "colour?"].map(Question::open).to_vec();
    story.asks("q", HookKind::Question { questions });
    let answer = |question: &str, text: &str| Event::PersonAnswered {
        inbox: InboxId::new(question),
        hook: None,
        reply: PersonReply::Answers { answers: vec![(question.into(), text.into())] },
        origin: None,
    };
    story.tell(answer("which db?", "pg"));
    assert!(story.step.effects.is_empty());
    assert_eq!(story.state.progress().word(), "waiting");
    story.tell(answer("colour?", "blue"));
    assert_eq!(story.answer(), reply(&[("which db?", "pg"), ("colour?", "blue")]));
}

#[test]
fn cancelling_puts_away_with_grace_and_again_without() {
    let mut story = looping(LoopMode::Fresh, 5);
    story.tell(Event::CancelAsked { inbox: None });
    assert!(matches!(story.step.effects[0].effect, Effect::CleanUp { .. }));
    story.tell(Event::CancelAsked { inbox: None });
    assert!(matches!(story.step.effects[0].effect, Effect::KillChildren));
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert_eq!(story.ends(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_finished_run_never_changes() {
    let mut story = looping(LoopMode::Fresh, 1);
    story.turn(true);
    let effect = story.open(Verb::CleanUp);
    story.ends();
    let before = story.state.clone();
    story.cancel().tell(Event::RunTimedOut).tell(Event::CleanedUp { effect });
    story.asks("late", HookKind::Tool(ToolCall::named("Read", json!({}))));
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    assert_eq!(story.state, before);
}

#[test]
fn a_late_outcome_of_a_settled_effect_changes_nothing() {
    let mut story = looping(LoopMode::Fresh, 5);
    let effect = story.open(Verb::Session);
    story.session_ends(SessionVerdict::Completed);
    let before = story.state.clone();
    let end = SessionEnd {
        verdict: SessionVerdict::Failed { cause: Default::default(), what: "late".into() },
        last_message: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
        value: None,
    };
    story.tell(Event::SessionEnded { effect, end });
    assert_eq!(story.state, before);
}

#[test]
fn all_tries_of_the_only_session_count() {
    let node = crate::graph::builder::prompt("x").id("a").retry(1, std::time::Duration::ZERO);
    let mut story = Story::drawn(Builder::new("w").start(node));
    story.breaks("a").wait_over("a", Verb::Retry).breaks("a~2");
    assert_eq!((story.ended().0, story.state.turns()), (FinalStatus::Failed, 2));
}

#[test]
fn plugin_mode_counts_the_stops_the_plugin_held() {
    let mut session_settings = rules(LoopMode::Plugin, 4);
    session_settings.tracker_path = None;
    let mut story = begin(of_loop(session_settings));
    for turn in 0..4 {
        assert_eq!(story.stops(&format!("h{turn}")).answer(), HookAnswer::Pass);
    }
    story.session_ends(SessionVerdict::Completed);
    let effect = story.open(Verb::Inspect);
    let sight = Inspection {
        tracker: TrackerInspection::None,
        promised: true,
        signalled: false,
        fingerprint: "x".into(),
    };
    assert_eq!(
        story.tell(Event::Inspected { effect, sight }).ends(),
        (FinalStatus::Completed, EndReason::Promise)
    );
    assert_eq!(story.state.turns(), 4);
}

/// A loop of a plugin, with a check.
fn looped_by_a_plugin(most: u32) -> Story {
    let mut session_settings = rules(LoopMode::Plugin, most);
    session_settings.tracker_path = None;
    session_settings.marker = None;
    session_settings.promise = Some("ALL DONE".into());
    let mut spec = of_loop(session_settings);
    spec.checks = vec![Check { name: "test".into(), command: "make test".into() }];
    begin(spec)
}

impl Story {
    /// The process ends after so many stops; the promise was said or not, the check is as it is.
    fn plugin_lets_go(&mut self, stops: u32, promised: bool, passed: bool) -> &mut Story {
        for stop in 0..stops {
            let id = format!("h{}.{stop}", self.state.turns());
            self.stops(&id);
        }
        self.session_ends(SessionVerdict::Completed);
        let effect = self.open(Verb::Inspect);
        let fingerprint = format!("{}", self.state.turns());
        let sight = Inspection { tracker: TrackerInspection::None, promised, signalled: false, fingerprint };
        self.tell(Event::Inspected { effect, sight });
        let effect = self.open(Verb::Checks);
        self.tell(Event::ChecksFinished { effect, results: vec![result(passed)] })
    }
}

#[test]
fn plugin_mode_goes_on_with_red_checks_in_the_same_session() {
    let mut story = looped_by_a_plugin(5);
    let first = story.plan();
    assert!(first.prompt.ends_with("<promise>ALL DONE</promise>, which ends it."), "{}", first.prompt);
    let next = story.plugin_lets_go(2, true, false).plan();
    assert_eq!((&next.session, next.resume, story.state.turns()), (&first.session, true, 2));
    assert!(next.prompt.contains("marked the task as complete") && next.prompt.contains("ALL DONE"));
    story.plugin_lets_go(1, true, true);
    assert_eq!((story.ends(), story.state.turns()), ((FinalStatus::Completed, EndReason::Promise), 3));
}

#[test]
fn plugin_mode_ends_on_red_checks_with_their_names_and_blames_the_plugin_only_without_them() {
    let mut story = looped_by_a_plugin(2);
    story.plugin_lets_go(2, true, false);
    assert_eq!(story.ends(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    assert!(story.detail().contains("checks still failing: test"), "{}", story.detail());
    let mut story = looped_by_a_plugin(5);
    story.plugin_lets_go(2, false, true);
    assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::PluginStopped));
}

#[test]
fn plugin_mode_counts_the_turns_of_a_run_that_is_cut_off() {
    for how in ["cancelled", "out of time", "failed"] {
        let mut story = looped_by_a_plugin(9);
        story.stops("a").stops("b");
        match how {
            "cancelled" => story.cancel(),
            "out of time" => story.tell(Event::RunTimedOut),
            _ => story.session_ends(SessionVerdict::Failed { cause: Default::default(), what: "x".into() }),
        };
        story.ends();
        assert_eq!(story.state.turns(), 2, "{how}");
    }
}

#[test]
fn a_single_prompt_is_one_turn() {
    let mut story = begin(spec_of(vec![prompt("hello").id("loop").into()]));
    assert_eq!(story.plan().prompt, "hello");
    story.session_ends(SessionVerdict::Completed);
    let effect = story.open(Verb::Inspect);
    let sight = Inspection {
        tracker: TrackerInspection::None,
        promised: false,
        signalled: false,
        fingerprint: "x".into(),
    };
    assert_eq!(
        story.tell(Event::Inspected { effect, sight }).ends(),
        (FinalStatus::Completed, EndReason::TurnDone)
    );
}

#[test]
fn whoever_resumes_a_run_may_do_so_however_often_it_was_cut_off() {
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").id("a")));
    story.prepared("a");
    for _ in 0..9 {
        story
            .tell(Event::OwnerChanged)
            .session_ends(SessionVerdict::Interrupted { what: "host died".into() });
        assert!(!story.does().is_empty() && !story.state.is_done(), "it goes on");
    }
}

#[test]
fn a_snapshot_that_fails_is_a_warning_once_and_never_ends_a_run() {
    let mut story = looping(LoopMode::Fresh, 5);
    let saved = |end| Event::FolderSaved { name: SnapshotName::Start, folder: "/w".to_owned(), end };
    let failed = || saved(SaveEnd::Failed { why: "no space".to_owned() });
    let snapshot = FolderSnapshot { commit: "c".into(), tree: "t".into(), head: None, left_out: Vec::new() };
    assert_eq!(story.tell(saved(SaveEnd::Saved(snapshot))).step, Decision::default());
    let Decision { effects, news } = story.tell(failed()).step.clone();
    assert_eq!(effects, []);
    assert!(matches!(&news[..], [News::Odd { what, .. }] if what.ends_with("no space")), "{news:?}");
    assert_eq!(story.tell(failed()).step, Decision::default());
    assert_eq!(story.turn(true).ends(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.tell(failed()).step, Decision::default());
}

#[test]
fn a_turn_is_open_until_it_is_judged() {
    let is_open = |story: &Story| story.state.work(&NodeId::new("loop")).expect("the work").is_turn_open;
    let mut story = looping(LoopMode::InSession, 5);
    assert!(is_open(&story));
    story.stops("h1").seen(false);
    assert!(is_open(&story), "the next one has begun");
    story.stops("h2").seen(true);
    assert!(!is_open(&story));
    let mut cut = looping(LoopMode::Fresh, 5);
    cut.turn(false).session_ends(SessionVerdict::TimedOut);
    assert!(is_open(&cut));
}

fn with_models(models: &[&str]) -> Story {
    let workflow = Builder::new("w").start(crate::graph::builder::prompt("x").id("x"));
    let mut spec = drawn(workflow);
    spec.inputs.insert("model".into(), serde_json::json!("haiku"));
    let models = models.iter().map(|&model| crate::graph::workflow::Template(model.to_owned()));
    spec.sessions.get_mut(&NodeId::new("x")).unwrap().models = models.collect();
    let mut story = Story::of(spec);
    story.prepared("x");
    story
}

#[test]
fn the_next_model_is_tried_in_the_same_turn_when_one_is_not_available() {
    let mut story = with_models(&["opus", "sonnet", "{{ inputs.model }}"]);
    assert_eq!(story.plan().model.as_deref(), Some("opus"));
    let unknown = || SessionVerdict::Failed { cause: SessionFailure::Model, what: "404".into() };
    let effect = story.open(Verb::Session);
    let end = SessionEnd { spoke: false, ..session_end(unknown()) };
    story.tell(Event::SessionEnded { effect, end });
    let second = story.plan();
    assert_eq!((second.model.as_deref(), second.resume), (Some("sonnet"), false));
    let told = story.step.news.iter().find_map(|news| match news {
        News::Retrying { what, .. } => Some(what.clone()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("model `opus` is not available, so `sonnet` is next: 404"));
    for _ in 0..3 {
        story.session_ends(SessionVerdict::Transient { what: "529".into() }).wait_over("x", Verb::Wait);
        assert_eq!(story.plan().model.as_deref(), Some("sonnet"));
    }
    story.session_ends(SessionVerdict::Transient { what: "529".into() });
    assert_eq!(story.plan().model.as_deref(), Some("haiku"), "an overloaded model is given up too");
    assert_eq!(story.state.spent.turns, 1, "it is the same turn");
    story.session_ends(unknown()).cleaned("x");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::AgentFailed));
}
