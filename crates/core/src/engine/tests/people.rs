//! Tests for questions and answers when several agents and people take part.

use serde_json::json;

use super::*;
use crate::graph::builder::{ask, clear_context, prompt, shell};

fn read() -> HookKind {
    HookKind::Tool(ToolCall::named("Read", json!({})))
}

fn question(text: &str) -> HookKind {
    HookKind::Question { questions: vec![Question::open(text)] }
}

/// Two agents at once, both in a turn, and a question of the workflow.
fn two_agents() -> Story {
    let mut spec = drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |b| b.then(prompt("x").id("x")));
        let lanes = lanes.branch("y", |b| b.then(prompt("y").id("y")));
        lanes.branch("gate", |b| {
            b.then(ask("ship?").choices(["yes", "no"]).id("gate")).then(shell("ship").id("ship"))
        })
    }));
    spec.policy = Policy { on_permission: OnPermission::Ask, on_question: OnQuestion::Wait };
    for session_settings in spec.sessions.values_mut() {
        session_settings.permissions.ask = vec!["Write".into()];
    }
    let mut story = Story::of(spec);
    story.prepared("x").prepared("y");
    story
}

fn push(to: &str) -> HookKind {
    HookKind::Tool(ToolCall::named("Write", json!({"file_path": to})))
}

/// The turn of `x` was cut off after these calls of its hooks found no owner.
fn cut_off(story: &mut Story, hooks: &[&str]) -> EffectId {
    let effect = story.open_of("x", Verb::Session);
    let unanswered = hooks.iter().copied().map(HookId::new).collect();
    let end = SessionEnd { unanswered, ..session_end(SessionVerdict::Completed) };
    story.tell(Event::OwnerChanged).tell(Event::SessionEnded { effect, end });
    assert!(story.plan().resume, "the turn is tried again");
    story.open_of("x", Verb::Session)
}

#[test]
fn what_a_person_answered_is_not_lost_when_the_hook_had_given_up() {
    let mut story = two_agents();
    let from = story.open_of("x", Verb::Session);
    story.turn_asks("q", &from, question("which?")).turn_asks("p", &from, push("a"));
    story.answers(Some("q"), "blue");
    let yes = PersonReply::Approve;
    story.tell(Event::PersonAnswered {
        inbox: InboxId::new("i"),
        hook: Some(HookId::new("p")),
        reply: yes,
        origin: None,
    });
    let from = cut_off(&mut story, &["q", "p"]);
    story.turn_asks("q2", &from, question("which?"));
    assert_eq!(story.answer(), reply(&[("which?", "blue")]));
    assert_eq!(story.turn_asks("p2", &from, push("a")).answer(), HookAnswer::Allow);
    story.turn_asks("q3", &from, question("which?")).turn_asks("p3", &from, push("a"));
    let open: Vec<&str> = story.state.bookkeeping.asks.iter().map(|ask| ask.hook.as_str()).collect();
    assert_eq!(open, ["ask/gate", "q3", "p3"], "an answer counts once");
}

#[test]
fn what_a_person_answered_is_not_lost_when_the_agent_was_dead_already() {
    for asks_again in [false, true] {
        let mut story = two_agents();
        let from = story.open_of("x", Verb::Session);
        story.turn_asks("q", &from, question("which?")).tell(Event::OwnerChanged);
        if asks_again {
            story.turn_asks("q", &from, question("which?"));
        }
        story.answers(Some("q"), "blue");
        let end = session_end(SessionVerdict::Interrupted { what: "killed".into() });
        story.tell(Event::SessionEnded { effect: from, end });
        let from = story.open_of("x", Verb::Session);
        story.turn_asks("q2", &from, question("which?"));
        let is_open = story.state.bookkeeping.asks.iter().any(|ask| ask.hook.as_str() == "q2");
        assert_eq!(is_open, asks_again, "what was heard is not answered a second time");
    }
}

#[test]
fn what_a_person_answered_counts_for_the_same_question_alone() {
    let mut story = two_agents();
    let from = story.open_of("x", Verb::Session);
    story.turn_asks("p", &from, push("a")).turn_asks("heard", &from, push("h"));
    for hook in ["p", "heard"] {
        let (hook, reply) = (Some(HookId::new(hook)), PersonReply::Approve);
        story.tell(Event::PersonAnswered { inbox: InboxId::new("i"), hook, reply, origin: None });
    }
    let y = story.open_of("y", Verb::Session);
    let from = cut_off(&mut story, &["p"]);
    story.turn_asks("other", &from, push("b"));
    story.turn_asks("again", &from, push("h"));
    story.turn_asks("of y", &y, push("a"));
    let open: Vec<&str> = story.state.bookkeeping.asks.iter().map(|ask| ask.hook.as_str()).collect();
    assert_eq!(open, ["ask/gate", "other", "again", "of y"]);
}

#[test]
fn a_new_owner_tells_what_is_waited_for_each_time_and_an_agents_question_when_its_hook_is_back() {
    let mut story = two_agents();
    let from = story.open_of("x", Verb::Session);
    story.turn_asks("q", &from, question("which?"));
    for _ in 0..2 {
        story.tell(Event::OwnerChanged);
        assert_eq!(told(&story), ["taken over", "ask/gate"]);
        story.turn_asks("q", &from, question("which?"));
        assert_eq!(told(&story), ["q"]);
        story.turn_asks("q", &from, question("which?"));
        assert_eq!(told(&story), Vec::<String>::new(), "once");
    }
}

/// Returns the news of the last step, by the hook that asks.
fn told(story: &Story) -> Vec<String> {
    let told = |news: &News| match news {
        News::TakenOver => "taken over".to_owned(),
        News::Waiting(Waiting::Person(ask)) => ask.hook.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    story.step.news.iter().map(told).collect()
}

impl Story {
    fn turn_asks(&mut self, id: &str, from: &EffectId, kind: HookKind) -> &mut Story {
        self.tell(Event::HookAsked {
            call: HookCall {
                id: HookId::new(id),
                from: Some(from.clone()),
                kind,
                unanswered: Vec::new(),
                real: None,
            },
        })
    }

    fn hooks_of(&self, node: &str) -> u32 {
        let work = self.state.work(&NodeId::new(node)).expect("it works");
        work.turn.as_ref().map_or(0, |turn| turn.tool_hooks)
    }
}

#[test]
fn a_hook_belongs_to_the_turn_it_comes_from() {
    let mut story = two_agents();
    let from = story.open_of("y", Verb::Session);
    story.turn_asks("h", &from, read());
    assert_eq!(story.answer(), HookAnswer::Allow);
    assert_eq!((story.hooks_of("x"), story.hooks_of("y")), (0, 1));
    assert_eq!(story.step.effects[0].id.node.as_str(), "y");
}

#[test]
fn a_hook_that_does_not_say_whose_it_is_belongs_to_a_turn_that_is_under_way() {
    let mut story = two_agents();
    story.asks("h", read());
    assert_eq!(story.answer(), HookAnswer::Allow);
    assert_eq!(story.hooks_of("x") + story.hooks_of("y"), 1);
}

#[test]
fn a_tool_of_a_turn_that_is_over_may_not_run() {
    let mut story = two_agents();
    let old = story.open_of("x", Verb::Session);
    let end = session_end(SessionVerdict::Interrupted { what: "killed".into() });
    story.tell(Event::SessionEnded { effect: old.clone(), end });
    assert!(story.plan().resume, "the turn is tried again");
    story.turn_asks("late", &old, read());
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    assert_eq!(story.hooks_of("x"), 0);
    let stop = HookKind::Stop { last_message: None, background: false };
    assert_eq!(story.turn_asks("stop", &old, stop).answer(), HookAnswer::Pass);
    let now = story.open_of("x", Verb::Session);
    assert_eq!(story.turn_asks("now", &now, read()).answer(), HookAnswer::Allow);
    let nobody = EffectId { node: NodeId::new("nobody"), ..now };
    story.turn_asks("whose", &nobody, read());
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
}

#[test]
fn a_tool_of_a_turn_that_is_being_judged_may_not_run_once_its_process_is_gone() {
    let mut story = two_agents();
    let old = story.open_of("x", Verb::Session);
    story.tell(Event::SessionEnded { effect: old.clone(), end: session_end(SessionVerdict::Completed) });
    assert!(matches!(story.turn_asks("late", &old, read()).answer(), HookAnswer::Deny { .. }));
}

#[test]
fn an_answer_without_a_name_is_for_the_oldest_question() {
    let mut story = two_agents();
    let (x, y) = (story.open_of("x", Verb::Session), story.open_of("y", Verb::Session));
    story.turn_asks("qx", &x, question("x?")).turn_asks("qy", &y, question("y?"));
    let open: Vec<&str> = story.state.bookkeeping.asks.iter().map(|ask| ask.hook.as_str()).collect();
    assert_eq!(open, ["ask/gate", "qx", "qy"]);
    assert_eq!(story.answers(None, "yes").does(), ["ship.1.1.shell"]);
    assert_eq!(story.answers(None, "blue").answer(), reply(&[("x?", "blue")]));
}

#[test]
fn an_answer_with_a_name_is_for_that_question_alone() {
    let mut story = two_agents();
    let (x, y) = (story.open_of("x", Verb::Session), story.open_of("y", Verb::Session));
    story.turn_asks("qx", &x, question("x?")).turn_asks("qy", &y, question("y?"));
    assert_eq!(story.answers(Some("qy"), "red").answer(), reply(&[("y?", "red")]));
    let before = story.state.clone();
    story.answers(Some("qy"), "again").answers(Some("nobody"), "x");
    assert_eq!(story.state, before);
    story.answers(Some("qx"), "blue").answers(Some("ask/gate"), "no");
    assert_eq!(story.does(), ["ship.1.1.shell"]);
    assert!(story.state.bookkeeping.asks.is_empty());
}

#[test]
fn a_person_approves_or_rejects_a_tool_and_a_gate() {
    let mut story = two_agents();
    let x = story.open_of("x", Verb::Session);
    let reply = |hook: &str, reply| Event::PersonAnswered {
        inbox: InboxId::new("i"),
        hook: Some(HookId::new(hook)),
        reply,
        origin: None,
    };
    let write = HookKind::Tool(ToolCall::named("Write", json!({})));
    story.turn_asks("t", &x, write);
    assert_eq!(story.state.bookkeeping.asks.len(), 2, "the rules leave it open");
    story.tell(reply("t", PersonReply::Reject { reason: "not that".into() }));
    assert_eq!(story.answer(), HookAnswer::Deny { reason: "not that".into() });
    story.tell(reply("ask/gate", PersonReply::Approve));
    assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("gate")].text, "yes");
}

#[test]
fn a_question_of_an_agent_whose_turn_is_over_waits_no_longer() {
    let mut story = two_agents();
    let x = story.open_of("x", Verb::Session);
    story.turn_asks("qx", &x, question("x?"));
    story.tell(Event::SessionEnded { effect: x, end: session_end(SessionVerdict::Completed) });
    let open: Vec<&str> = story.state.bookkeeping.asks.iter().map(|ask| ask.hook.as_str()).collect();
    assert_eq!(open, ["ask/gate"]);
}

#[test]
fn a_question_that_is_asked_again_waits_once() {
    let mut story = two_agents();
    let x = story.open_of("x", Verb::Session);
    story.turn_asks("qx", &x, question("x?")).turn_asks("qx", &x, question("x?"));
    assert_eq!(story.state.bookkeeping.asks.len(), 2);
}

#[test]
fn an_agent_cannot_answer_a_gate_by_the_name_of_its_hook() {
    let mut story = two_agents();
    let x = story.open_of("x", Verb::Session);
    story.turn_asks("ask/gate", &x, question("x?"));
    assert_eq!(story.state.bookkeeping.asks.len(), 1);
    assert!(!story.state.bookkeeping.nodes.contains_key(&NodeId::new("ship")));
}

fn writes() -> HookKind {
    HookKind::Tool(ToolCall::named("Write", json!({"file_path": ".claude/x"})))
}

/// The agent CLI asks about a write by rules of its own.
fn may_write(path: &str) -> HookKind {
    HookKind::Permission(ToolCall::named("Write", json!({"file_path": path})))
}

/// One agent in a turn, with these rules.
fn one_agent(
    permissions: crate::hook::permission::PermissionRules,
    policy: OnPermission,
) -> (Story, EffectId) {
    let mut spec = drawn(Builder::new("w").start(prompt("x").id("x")));
    spec.policy.on_permission = policy;
    for session_settings in spec.sessions.values_mut() {
        session_settings.permissions = permissions.clone();
    }
    let mut story = Story::of(spec);
    story.prepared("x");
    let turn = story.open_of("x", Verb::Session);
    (story, turn)
}

#[test]
fn what_the_cli_asks_by_itself_follows_the_rules_and_then_the_policy() {
    use crate::hook::permission::PermissionRules;
    let of = |list: &[&str]| list.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    let allow = HookAnswer::Allow;
    let told = |rules: PermissionRules, policy| {
        let (mut story, turn) = one_agent(rules, policy);
        story.turn_asks("p", &turn, may_write(".claude/x")).answer()
    };
    let named = PermissionRules { allow: of(&["Write(.claude/*)", "Bash"]), ..PermissionRules::default() };
    assert_eq!(told(named, OnPermission::Deny), allow);
    let denied = PermissionRules {
        deny: of(&["Write(.claude/*)"]),
        allow: of(&["Write"]),
        ..PermissionRules::default()
    };
    assert!(
        matches!(told(denied, OnPermission::Allow), HookAnswer::Deny { reason } if reason.contains("rule"))
    );
    // No rule speaks of it: that is no yes to what the CLI itself guards.
    let general = || PermissionRules::default();
    assert!(
        matches!(told(general(), OnPermission::Deny), HookAnswer::Deny { reason } if reason.contains("nobody"))
    );
    assert_eq!(told(general(), OnPermission::Allow), allow);
    let (mut story, turn) = one_agent(general(), OnPermission::Fail);
    assert!(matches!(story.turn_asks("p", &turn, may_write("x")).answer(), HookAnswer::Deny { .. }));
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Blocked, EndReason::Permission));
}

#[test]
fn a_person_is_asked_once_about_one_call() {
    use crate::hook::permission::PermissionRules;
    let rules = PermissionRules { ask: vec!["Write".into()], ..PermissionRules::default() };
    let (mut story, turn) = one_agent(rules, OnPermission::Ask);
    story.turn_asks("t", &turn, writes());
    assert_eq!(story.answers(Some("t"), "yes").answer(), HookAnswer::Allow);
    assert_eq!(story.turn_asks("p", &turn, may_write(".claude/x")).answer(), HookAnswer::Allow);
    // It was allowed once, and nothing else was.
    for path in [".claude/x", ".claude/y"] {
        story.turn_asks(path, &turn, may_write(path));
        assert_eq!(story.state.bookkeeping.asks.len(), 1, "{path}");
        let no = PersonReply::Reject { reason: "no".into() };
        story.tell(Event::PersonAnswered { inbox: InboxId::new("i"), hook: None, reply: no, origin: None });
        assert_eq!(story.answer(), HookAnswer::Deny { reason: "no".into() });
    }
    story.turn_asks("left", &turn, writes());
    story.answers(Some("left"), "yes");
    story.tell(Event::SessionEnded {
        effect: turn,
        end: session_end(SessionVerdict::Failed { cause: Default::default(), what: "x".into() }),
    });
    story.cleaned("x");
    assert!(story.state.bookkeeping.permitted.is_empty());
}

/// A run that waits for a person at its first node.
fn gated() -> Story {
    let mut spec = drawn(Builder::new("w").start(ask("Ship it?").id("gate").choices(["yes", "no"])));
    spec.policy = Policy { on_permission: OnPermission::Ask, on_question: OnQuestion::Wait };
    Story::of(spec)
}

#[test]
fn a_no_keeps_its_reason_and_an_older_log_without_an_origin_ends_as_it_did() {
    let origin =
        crate::event::AnswerOrigin { user: "anna".into(), way: "windlass approve".into(), pid: 7, tty: None };
    for (origin, detail) in [(Some(origin), Some("the answer is no: not today")), (None, None)] {
        let mut story = gated();
        let reply = PersonReply::Reject { reason: "not today".into() };
        story.tell(Event::PersonAnswered { inbox: InboxId::new("i"), hook: None, reply, origin });
        let outcome = story.state.bookkeeping.nodes[&NodeId::new("gate")].outcome.clone().unwrap();
        assert_eq!(outcome.detail.as_deref(), detail);
        assert_eq!(story.state.bookkeeping.outputs[&NodeId::new("gate")].text, "no");
    }
}

#[test]
fn an_answer_is_found_in_the_log_with_its_request() {
    let mut story = gated();
    story.answers(Some("ask/gate"), "perhaps");
    story.answers(Some("ask/gate"), "Yes");
    let found = crate::engine::explain::answers(&story.records);
    let texts: Vec<&str> = found.iter().map(|given| given.ask.questions[0].text.as_str()).collect();
    assert_eq!(texts, ["Ship it?"], "a text that is no choice is no answer");
    assert_eq!(found[0].by, crate::engine::explain::AnsweredBy::Person(None));
}
