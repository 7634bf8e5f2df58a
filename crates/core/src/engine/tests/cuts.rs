//! Ends before the end: time, cancel.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::graph::builder::{
    LoopRounds, ask, check_all, clear_context, prompt, shell, wait, wait_for, workflow,
};
use crate::graph::workflow::Join;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_node_that_takes_too_long_is_put_away_and_fails() {
    let workflow = Builder::new("w").start(shell("x").id("x").timeout(SECOND)).then(shell("y").id("y"));
    let mut story = Story::drawn(workflow);
    assert_eq!(story.wanted(), ["x.1.1.timeout", "x.1.1.shell"]);
    let deadline = story.state.bookkeeping.open.iter().find_map(|planned| match &planned.effect {
        Effect::RunShell(plan) => plan.deadline,
        _ => None,
    });
    assert_eq!(deadline, Some(Moment(NOW.0 + 1_000)));
    story.wait_over("x", Verb::Timeout);
    assert_eq!(story.wanted(), ["x.1.1.cleanup"]);
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::Timeout));
}

#[test]
fn an_agent_that_takes_too_long_is_put_away_and_what_it_spent_counts() {
    let workflow = Builder::new("w").start(prompt("x").id("x").timeout(SECOND)).then(shell("y").id("y"));
    let mut story = Story::drawn(workflow);
    story.prepared("x");
    assert_eq!(story.plan().deadline, Some(Moment(NOW.0 + 1_000)));
    story.wait_over("x", Verb::Timeout);
    assert_eq!(story.wanted(), ["x.1.1.session", "x.1.1.cleanup"]);
    story.session_ends(SessionVerdict::Interrupted { what: "ended".into() });
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::Timeout));
    assert_eq!(story.state.spent.usage.output_tokens, 10);
}

#[test]
fn an_agent_that_is_done_and_only_has_to_stop_is_done() {
    let in_session =
        crate::graph::workflow::TurnLoop { mode: Some(LoopMode::InSession), ..Default::default() };
    let node = prompt("x").turns(in_session).id("a").timeout(SECOND);
    let mut story = Story::drawn(Builder::new("w").start(node).then(shell("y").id("b")));
    story.prepared("a").stops("h").seen(true).wait_over("a", Verb::Timeout).cleaned("a");
    assert_eq!(story.became("a"), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!(story.wanted(), ["b.1.1.shell"]);
}

#[test]
fn a_block_that_takes_too_long_is_put_away_with_all_in_it() {
    let mut spec = drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |x| x.then(shell("x").id("x")).then(shell("x2").id("x2")));
        let lanes = lanes.branch("y", |y| y.then(wait(SECOND).id("y")));
        lanes.branch("z", |z| z.then(prompt("z").id("z"))).limit(2)
    }));
    spec.body[1].settings.timeout_ms = Some(5_000);
    let mut story = Story::of(spec);
    story.wait_over("parallel", Verb::Timeout);
    assert_eq!(story.wanted(), ["x.1.1.cleanup"]);
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::Timeout));
    assert!(!story.state.bookkeeping.nodes.contains_key(&NodeId::new("z")), "it never began");
}

#[test]
fn what_is_in_a_block_must_be_over_when_the_block_must() {
    let mut spec = drawn(Builder::new("w").start(clear_context()).loop_(LoopRounds::times(1), |round| {
        round.then(prompt("x").id("x").timeout(Duration::from_secs(60)))
    }));
    spec.body[1].settings.timeout_ms = Some(5_000);
    let mut story = Story::of(spec);
    assert_eq!(story.prepared("x@1").plan().deadline, Some(Moment(NOW.0 + 5_000)));
}

#[test]
fn a_block_that_ran_out_of_time_can_be_tried_again() {
    let mut spec = drawn(
        Builder::new("w")
            .start(clear_context())
            .loop_(LoopRounds::times(1), |round| round.then(shell("x").id("x"))),
    );
    spec.body[1].settings.timeout_ms = Some(5_000);
    spec.body[1].retry.times = 1;
    let mut story = Story::of(spec);
    story.wait_over("loop", Verb::Timeout).cleaned("x~1@1").wait_over("loop", Verb::Retry);
    assert_eq!(story.wanted(), ["loop~2.1.1.timeout", "x~2@1.1.1.shell"]);
    assert_eq!(story.shell("x~2@1", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_late_outcome_of_a_node_that_was_put_away_changes_nothing() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("x").timeout(SECOND)));
    let effect = story.open(Verb::Shell);
    story.wait_over("x", Verb::Timeout);
    let before = story.state.clone();
    let end = ShellEnd::exited(true, "", "");
    story.tell(Event::ShellEnded { effect, end });
    assert_eq!(story.state, before);
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::Timeout));
}

#[test]
fn the_time_of_the_whole_run_ends_all_of_it() {
    let workflow = Builder::new("w").start(prompt("x").id("a")).then(shell("y").id("b"));
    let mut story = Story::drawn(workflow);
    story.prepared("a").tell(Event::RunTimedOut).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Timeout));
}

#[test]
fn an_agent_that_only_has_to_stop_does_not_keep_the_rest_of_a_run_from_ending_in_time() {
    let in_session =
        crate::graph::workflow::TurnLoop { mode: Some(LoopMode::InSession), ..Default::default() };
    let both =
        Builder::new("w").start(prompt("x").turns(in_session.clone()).id("a")).then(shell("y").id("b"));
    let mut story = Story::drawn(both);
    story.prepared("a").stops("h").seen(true).tell(Event::RunTimedOut).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Timeout));
    let mut alone = Story::drawn(Builder::new("w").start(prompt("x").turns(in_session).id("a")));
    alone.prepared("a").stops("h").seen(true).tell(Event::RunTimedOut);
    alone.session_ends(SessionVerdict::Completed).cleaned("a");
    assert_eq!(alone.ended(), (FinalStatus::Completed, EndReason::Marker), "it is done");
}

/// Everything that can be under way, at once.
fn everything() -> Story {
    let mut spec = drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("shell", |b| b.then(shell("x").id("shell")).then(shell("x").id("never")));
        let lanes = lanes.branch("agent", |b| b.then(prompt("x").id("agent")));
        let lanes = lanes.branch("check", |b| b.then(check_all().id("check")));
        let lanes = lanes.branch("ask", |b| b.then(ask("ok?").id("ask")));
        let lanes = lanes.branch("time", |b| b.then(wait(SECOND).id("time")));
        let lanes = lanes.branch("event", |b| b.then(wait_for("e", None).id("event")));
        let lanes = lanes.branch("retry", |b| b.then(shell("x").id("retry").retry(1, SECOND)));
        let lanes = lanes.branch("run", |b| b.then(workflow("other").id("run")));
        lanes.branch("loop", |b| {
            b.loop_(LoopRounds::times(2), |round| {
                round.if_("true", |yes| yes.then(prompt("x").id("deep")), |no| no)
            })
        })
    }));
    spec.checks = vec![test_check()];
    spec.policy.on_question = OnQuestion::Wait;
    spec.others.insert("other".to_owned(), spec_of(vec![prompt("x").id("p").into()]));
    let mut story = Story::of(spec);
    story.shell("retry", false, "").prepared("agent").prepared("deep@1");
    story
}

#[test]
fn cancelling_in_the_middle_of_everything_waits_until_all_of_it_is_put_away() {
    let mut story = everything();
    story.cancel();
    let mut cleanups = story.does();
    cleanups.sort();
    let all = ["agent", "check", "deep@1", "run", "shell"].map(|node| format!("{node}.1.1.cleanup"));
    assert_eq!(cleanups, all);
    assert!(story.state.bookkeeping.asks.is_empty());
    for node in ["agent", "check", "deep@1", "run"] {
        story.cleaned(node);
        assert!(!story.state.is_done());
    }
    assert_eq!(story.cleaned("shell").ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn who_cancels_twice_does_not_want_to_wait() {
    let mut story = everything();
    story.cancel().cancel();
    assert_eq!(story.step.effects[0].effect, Effect::KillChildren);
    assert!(!story.state.is_done());
}

#[test]
fn what_another_run_spends_while_it_is_being_ended_still_counts() {
    let mut story = everything();
    story.cancel();
    let effect = story.open(Verb::Run);
    let spent = Spent { turns: 4, ..Spent::default() };
    let end = RunEnd {
        outcome: Outcome::new(FinalStatus::Cancelled, EndReason::User),
        spent,
        text: String::new(),
        value: None,
    };
    let before = story.state.spent.turns;
    story.tell(Event::RunEnded { effect, end: Box::new(end) });
    assert_eq!(story.state.spent.turns, before + 3, "its first turn was counted when it began");
    assert_eq!(story.state.bookkeeping.nodes[&NodeId::new("run")].outcome, None, "it is put away first");
}

#[test]
fn a_node_that_waited_to_be_tried_again_is_counted_once_when_the_run_is_cancelled() {
    let mut story =
        Story::drawn(Builder::new("w").start(prompt("x").id("x").retry(1, SECOND)).then(shell("y")));
    story.breaks("x").cancel();
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
    assert_eq!(story.state.bookkeeping.nodes[&NodeId::new("x")].spent.turns, 1);
    let ends = story.records.iter().flat_map(|record| &record.news);
    assert_eq!(ends.filter(|news| matches!(news, News::NodeFinished { .. })).count(), 1);
}

#[test]
fn a_run_that_the_outer_one_ends_says_so_and_is_asked_twice_like_once() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("x")).then(shell("y").id("y")));
    let ended = || Event::ParentEnded {
        inbox: None,
        why: "the time given to `s` is spent".into(),
        interrupted: false,
        failed: false,
    };
    story.tell(ended()).tell(ended());
    assert!(story.does().is_empty(), "it has its grace");
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Cancelled, EndReason::OuterRun));
    assert_eq!(story.detail(), "the time given to `s` is spent");
}

#[test]
fn a_branch_that_is_not_needed_any_more_is_not_tried_again() {
    let workflow = Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("x", |b| b.then(shell("x").id("x").retry(3, SECOND)));
        lanes.branch("y", |b| b.then(shell("y").id("y"))).join(Join::Any)
    });
    let mut story = Story::drawn(workflow);
    story.shell("y", true, "").cleaned("x");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn hooks_of_an_agent_that_is_being_put_away_are_answered() {
    let mut spec = drawn(Builder::new("w").start(prompt("x").id("a")).then(shell("y").id("b")));
    spec.policy.on_question = OnQuestion::Wait;
    let mut story = Story::of(spec);
    story.prepared("a");
    story.asks("q", HookKind::Question { questions: vec![Question::open("which?")] }).cancel();
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    story.asks("t", HookKind::Tool(ToolCall::named("Read", json!({}))));
    assert!(matches!(story.answer(), HookAnswer::Deny { .. }));
    assert_eq!(story.stops("s").answer(), HookAnswer::Pass);
}

#[test]
fn a_run_whose_outer_node_failed_has_failed_too_and_can_continue() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("x")).then(shell("y").id("y")));
    let (inbox, why) = (None, "the run ran out of time".to_owned());
    story.tell(Event::ParentEnded { inbox, why, interrupted: false, failed: true });
    assert_eq!(story.cleaned("x").ended(), (FinalStatus::Failed, EndReason::OuterRun));
    let more = Box::new(crate::run::Continuation::default());
    story.tell(Event::Continued { inbox: InboxId::new("i"), by: "me".into(), more });
    assert!(!story.state.is_done());
}
