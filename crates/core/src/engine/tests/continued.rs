//! Runs that stopped and continue: interrupted, exhausted, blocked and failed ones.

use serde_json::json;

use super::*;
use crate::effect::ShellPlan;
use crate::engine::would_end;
use crate::event::WorktreeEnd;
use crate::graph::builder::{Steps, clear_context, prompt, shell, task_loop};
use crate::run::{BudgetRaise, Continuation, Raise};

/// A run of one loop of turns, whose first turn has begun.
fn looping(mode: LoopMode, max: u32) -> Story {
    let mut spec = spec_of(vec![prompt("do it").id("loop").into()]);
    spec.sessions.insert(NodeId::new("loop"), session_settings(Some(rules(mode, max))));
    let mut story = Story::of(spec);
    story.prepared("loop");
    story
}

fn more(iterations: u32) -> Continuation {
    Continuation { iterations: Some(Raise::Add(iterations)), ..Continuation::default() }
}

impl Story {
    pub(super) fn interrupt(&mut self) -> &mut Story {
        self.tell(Event::InterruptAsked { inbox: None })
    }

    pub(super) fn goes_on_with(&mut self, more: Continuation) -> &mut Story {
        let inbox = InboxId::new(format!("again{}", self.records.len()));
        self.tell(Event::Continued { inbox, by: "ada".into(), more: Box::new(more) })
    }

    pub(super) fn goes_on_after_end(&mut self) -> &mut Story {
        self.goes_on_with(Continuation::default())
    }

    fn whole_turn(&mut self, complete: bool) -> &mut Story {
        self.session_ends(SessionVerdict::Completed).seen(complete)
    }
}

#[test]
fn an_interrupted_turn_is_repeated_in_its_session() {
    let mut story = looping(LoopMode::Fresh, 5);
    let first = story.plan();
    story.interrupt();
    assert_eq!(story.does(), ["loop.1.1.cleanup"], "the agent is stopped and everything disarmed");
    story.session_ends(SessionVerdict::Interrupted { what: "stopped".into() }).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Interrupted, EndReason::User));
    let again = story.goes_on_after_end().plan();
    assert!(again.resume && again.session == first.session, "{again:?}");
    assert!(again.prompt.contains("interrupted"), "{}", again.prompt);
    assert_eq!(story.state.turns(), 0, "the turn was not counted");
    assert_eq!(story.whole_turn(true).cleaned("loop").ended(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!((story.state.turns(), story.state.spent.turns), (1, 1));
}

#[test]
fn an_agent_that_never_spoke_starts_again_in_a_new_session() {
    let mut story = looping(LoopMode::Fresh, 5);
    let first = story.plan();
    story.interrupt();
    let effect = story.open(Verb::Session);
    let end = SessionEnd { spoke: false, ..session_end(SessionVerdict::Interrupted { what: "x".into() }) };
    story.tell(Event::SessionEnded { effect, end }).cleaned("loop");
    let again = story.goes_on_after_end().plan();
    assert!(!again.resume && again.session != first.session, "{again:?}");
}

#[test]
fn a_second_interrupt_ends_the_agents_at_once_and_a_cancel_ends_the_run_for_good() {
    let mut story = looping(LoopMode::Fresh, 5);
    story.interrupt().interrupt();
    assert_eq!(story.does(), ["run.1.1.kill"]);
    story.cancel();
    assert_eq!(story.does(), ["run.1.1.kill"]);
    story.session_ends(SessionVerdict::Interrupted { what: "stopped".into() }).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
    assert_eq!(story.goes_on_after_end().ended(), (FinalStatus::Cancelled, EndReason::User));
}

#[test]
fn a_run_that_could_continue_can_still_be_cancelled_and_no_other_run_that_is_over() {
    let mut story = looping(LoopMode::Fresh, 1);
    story.interrupt();
    story.session_ends(SessionVerdict::Interrupted { what: "stopped".into() }).cleaned("loop");
    assert_eq!(story.cancel().ended(), (FinalStatus::Cancelled, EndReason::User));
    let mut exhausted = looping(LoopMode::Fresh, 1);
    exhausted.whole_turn(false).cleaned("loop");
    assert_eq!(exhausted.cancel().ended(), (FinalStatus::Cancelled, EndReason::User));
    assert_eq!(exhausted.goes_on_after_end().ended(), (FinalStatus::Cancelled, EndReason::User));
    let mut completed = looping(LoopMode::Fresh, 1);
    completed.whole_turn(true).cleaned("loop");
    assert_eq!(completed.cancel().ended(), (FinalStatus::Completed, EndReason::Marker));
}

#[test]
fn an_exhausted_loop_goes_on_with_more_iterations_and_the_failures_of_its_last_checks() {
    let mut story = looping(LoopMode::Fresh, 2);
    story.state.spec.checks = vec![test_check()];
    let mut spec = story.state.spec.clone();
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    story.prepared("loop");
    story.whole_turn(false).checks("loop", false).whole_turn(false).checks("loop", false).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    let outcome = would_end(&story.state, story.at, &Continuation::default()).expect("it would end again");
    assert_eq!(outcome.reason, EndReason::MaxIterations);
    let given = Continuation { message: Some("use the v2 API".into()), ..more(1) };
    assert_eq!(would_end(&story.state, story.at, &given), None);
    let third = story.goes_on_with(given).plan();
    assert!(third.prompt.contains("boom") && third.prompt.contains("use the v2 API"), "{}", third.prompt);
    let told = story.step.news.first().cloned();
    let with = vec!["1 more iteration".to_owned(), "message: use the v2 API".to_owned()];
    assert_eq!(told, Some(News::Continued { by: "ada".into(), with }));
    story.whole_turn(false).checks("loop", false).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    assert_eq!(story.detail(), "used all 3 iterations, checks still failing: test");
}

#[test]
fn a_total_below_what_was_used_gives_nothing() {
    let mut story = looping(LoopMode::Fresh, 2);
    story.whole_turn(false).whole_turn(false).cleaned("loop");
    let total = |n| Continuation { iterations: Some(Raise::Total(n)), ..Continuation::default() };
    assert!(would_end(&story.state, story.at, &total(2)).is_some());
    assert_eq!(would_end(&story.state, story.at, &total(3)), None);
}

#[test]
fn an_in_session_loop_goes_on_in_its_session() {
    let mut story = looping(LoopMode::InSession, 1);
    let first = story.plan();
    story.stops("h1").seen(false).session_ends(SessionVerdict::Completed).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));
    let again = story.goes_on_with(more(1)).plan();
    assert!(again.resume && again.session == first.session, "{again:?}");
}

#[test]
fn a_blocked_agent_is_told_and_its_old_marker_does_not_count_in_the_next_turn() {
    let mut story = looping(LoopMode::Fresh, 9);
    let turn_blocked = |story: &mut Story| {
        story.session_ends(SessionVerdict::Completed);
        let effect = story.open(Verb::Inspect);
        let tracker = TrackerInspection::Read { complete: false, blocked: Some("no key".into()) };
        let fingerprint = story.records.len().to_string();
        let sight = Inspection { tracker, promised: false, signalled: false, fingerprint };
        story.tell(Event::Inspected { effect, sight });
    };
    turn_blocked(&mut story);
    story.cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Blocked, EndReason::BlockedMarker));
    let next = story.goes_on_after_end().plan();
    assert!(
        next.prompt.contains("no key") && next.prompt.contains("A person has continued"),
        "{}",
        next.prompt
    );
    turn_blocked(&mut story);
    assert!(!story.state.is_done() && story.wanted() == ["loop.3.1.session"], "{:?}", story.wanted());
    turn_blocked(&mut story);
    assert_eq!(story.cleaned("loop").ended(), (FinalStatus::Blocked, EndReason::BlockedMarker));
}

#[test]
fn a_spent_budget_needs_more_of_what_is_spent() {
    let mut story = looping(LoopMode::Fresh, 9);
    let spec = Spec { budget: Budget { turns: Some(1), ..Budget::default() }, ..story.state.spec.clone() };
    story = Story::of(spec);
    story.prepared("loop").whole_turn(false).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    let budget = |budget| Continuation { budget, ..Continuation::default() };
    let tokens = BudgetRaise { tokens: Some(Raise::Add(9)), ..BudgetRaise::default() };
    assert!(would_end(&story.state, story.at, &budget(tokens)).is_some());
    let turns = BudgetRaise { turns: Some(Raise::Add(2)), ..BudgetRaise::default() };
    story.goes_on_with(budget(turns)).whole_turn(false).whole_turn(false).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.state.spent.turns, 3);
}

#[test]
fn the_time_stands_still_while_a_run_is_over() {
    let mut story = looping(LoopMode::Fresh, 9);
    let budget = Budget { time_ms: Some(60_000), ..Budget::default() };
    story = Story::of(Spec { budget, ..story.state.spec.clone() });
    story.prepared("loop").later(10_000).interrupt();
    story.session_ends(SessionVerdict::Interrupted { what: "stopped".into() }).cleaned("loop");
    story.later(3_600_000).goes_on_after_end();
    assert_eq!(story.state.deadline(), Some(story.at.plus_ms(50_000)));
    story.later(50_000).tell(Event::RunTimedOut);
    story.session_ends(SessionVerdict::TimedOut).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Timeout));
    let outcome = would_end(&story.state, story.at, &Continuation::default());
    assert_eq!(outcome.map(|outcome| outcome.reason), Some(EndReason::Timeout));
}

#[test]
fn a_failed_node_starts_again_and_what_is_done_is_not_repeated() {
    let workflow = Builder::new("w")
        .start(shell("one").id("a"))
        .then(shell("two {{ feedback }}").id("b"))
        .then(shell("three").id("c"));
    let mut story = Story::drawn(workflow);
    story.shell("a", true, "").shell("b", false, "bad");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    story.goes_on_with(Continuation { message: Some("mended".into()), ..Continuation::default() });
    assert_eq!(story.wanted(), ["b~2.1.2.shell"]);
    assert!(story.command("b~2").ends_with("mended"), "{}", story.command("b~2"));
    story.shell("b~2", true, "").shell("c", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn an_error_of_the_workflow_itself_would_end_the_run_again() {
    let mut story = Story::drawn(Builder::new("w").start(shell("echo {{ outputs.x.y.z }}").id("a")));
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
    let outcome = would_end(&story.state, story.at, &Continuation::default()).expect("it would end again");
    assert_eq!(outcome.reason, EndReason::Template);
    story.goes_on_after_end();
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template));
}

#[test]
fn a_check_that_is_added_applies_from_then_on() {
    let mut story = looping(LoopMode::Fresh, 1);
    story.whole_turn(false).cleaned("loop");
    story.goes_on_with(Continuation { checks: vec![test_check()], ..more(1) });
    story.whole_turn(true);
    assert_eq!(story.wanted(), ["loop.2.1.checks"]);
    story.checks("loop", true).cleaned("loop");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::Marker));
}

#[test]
fn only_the_branches_that_failed_go_on() {
    let branch = |id: &'static str| move |steps: Steps| steps.then(shell("x").id(id));
    let workflow = Builder::new("w")
        .start(clear_context())
        .parallel(|all| all.branch("one", branch("a")).branch("two", branch("b")));
    let mut story = Story::drawn(workflow);
    story.shell("a", true, "").shell("b", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed));
    story.goes_on_after_end();
    assert_eq!(story.wanted(), ["b~2.1.2.shell"]);
    assert_eq!(story.shell("b~2", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn an_interrupted_task_keeps_its_worktree_and_goes_on_in_it() {
    let workflow =
        Builder::new("w").start(task_loop().jobs(2).each(|task| task.then(shell("do").id("do"))).id("t"));
    let mut story = Story::drawn(workflow);
    let effect = story.open(Verb::Claim);
    let claim = Claim::Task { id: "1".parse().expect("an id"), task: json!({"id": "1"}) };
    story.tell(Event::TaskClaimed { effect, claim, odd: Vec::new() });
    let effect = story.open_of("t@1", Verb::Worktree);
    let end = WorktreeEnd::Made {
        workspace: "/trees/1".into(),
        branch: "task/1".into(),
        target: None,
        commit: None,
    };
    story.tell(Event::WorktreeMade { effect, end });
    let effect = story.open(Verb::Claim);
    story.interrupt().cleaned("do@1");
    assert!(!story.state.is_done(), "a claim is under way");
    story.tell(Event::TaskClaimed { effect, claim: Claim::Working, odd: Vec::new() });
    assert_eq!(story.ended(), (FinalStatus::Interrupted, EndReason::User));
    story.goes_on_after_end();
    assert_eq!(story.wanted(), ["do@1~2.1.2.shell", "t.3.1.claim"]);
    let again = story.state.bookkeeping.open.iter().find(|planned| planned.id.verb == Verb::Shell);
    let Some(Effect::RunShell(ShellPlan { workspace, .. })) = again.map(|planned| &planned.effect) else {
        panic!()
    };
    assert_eq!(workspace, "/trees/1");
}

#[test]
fn a_child_run_goes_on_with_its_parent() {
    let mut spec = drawn(Builder::new("w").start(crate::graph::builder::workflow("other").id("s")));
    spec.others.insert("other".into(), drawn(Builder::new("other").start(shell("x").id("x"))));
    let mut story = Story::of(spec);
    let first = story.open(Verb::Run);
    let outcome = Outcome::new(FinalStatus::Failed, EndReason::ShellFailed);
    let end = RunEnd { outcome, spent: Spent::default(), text: String::new(), value: None };
    story.tell(Event::RunEnded { effect: first.clone(), end: Box::new(end.clone()) });
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ChildFailed));
    story.goes_on_after_end();
    let again = story.open(Verb::Run);
    assert_ne!(again, first);
    let run = |story: &Story| match &story.step.effects.first().expect("an effect").effect {
        Effect::StartRun { run, more, .. } => (run.clone(), more.is_some()),
        other => panic!("{other:?}"),
    };
    let (_, is_continued) = run(&story);
    assert!(is_continued);
    // A child run that someone cancelled is over for good, so another one starts.
    let outcome = Outcome::new(FinalStatus::Cancelled, EndReason::User);
    story.tell(Event::RunEnded { effect: again, end: Box::new(RunEnd { outcome, ..end }) });
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::ChildFailed));
}
