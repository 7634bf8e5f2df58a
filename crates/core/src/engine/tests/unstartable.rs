//! Checks that cannot start, and checks that fail with the same error again and again.

use super::*;
use crate::graph::builder::{Builder, check, shell};
use crate::run::Continuation;

fn cannot_start() -> CheckResult {
    CheckResult {
        how: "exit code 127".into(),
        output: "sh: 1: make: not found\n".into(),
        cannot_start: true,
        ..result(false)
    }
}

fn checked(mode: LoopMode, stuck_after: u32) -> Story {
    let rules = LoopRules { stuck_after, ..rules(mode, 9) };
    let mut spec = super::session::of_loop(rules);
    spec.checks = vec![test_check()];
    super::session::begin(spec)
}

fn finished(story: &mut Story, checked: CheckResult) -> &mut Story {
    let effect = story.open(Verb::Checks);
    story.tell(Event::ChecksFinished { effect, results: vec![checked] })
}

fn continued(story: &mut Story, checks: Vec<Check>) -> &mut Story {
    let more = Box::new(Continuation { checks, ..Continuation::default() });
    story.tell(Event::Continued { inbox: InboxId::new("c"), by: "me".into(), more })
}

#[test]
fn a_check_that_cannot_start_ends_the_run_at_once_and_a_new_command_judges_the_same_turn() {
    for mode in [LoopMode::Fresh, LoopMode::Resume] {
        let mut story = checked(mode, 0);
        story.turn(true);
        finished(&mut story, cannot_start());
        assert_eq!(story.ends(), (FinalStatus::Failed, EndReason::CheckCannotStart));
        let detail = story.detail();
        for words in
            ["check `test` (`make test`)", "exit code 127", "make: not found", "windlass resume r --check"]
        {
            assert!(detail.contains(words), "{detail}");
        }
        continued(&mut story, vec![Check { name: "other".into(), command: "true".into() }]);
        assert_eq!(story.state.spec.checks.len(), 1, "it replaces the check that could not start");
        story.seen(true);
        finished(&mut story, CheckResult { name: "other".into(), ..result(true) });
        assert_eq!(story.ends(), (FinalStatus::Completed, EndReason::Marker));
        assert_eq!(story.state.turns(), 1, "the turn was not repeated");
    }
}

#[test]
fn a_check_that_could_start_before_fails_like_any_other() {
    let mut story = checked(LoopMode::Fresh, 0);
    story.turn(false);
    finished(&mut story, result(false));
    story.turn(false);
    finished(&mut story, cannot_start());
    assert!(story.plan().prompt.contains("make: not found"));
}

#[test]
fn a_check_node_that_cannot_start_ends_the_run_whatever_follows_it() {
    let gate = check(["test"]).id("gate").continue_on_failure();
    let workflow = Builder::new("w").start(gate).then(shell("true").id("after"));
    let mut spec = drawn(workflow);
    spec.checks = vec![test_check()];
    let mut story = Story::of(spec);
    finished(&mut story, cannot_start());
    let effect = story.open(Verb::CleanUp);
    story.tell(Event::CleanedUp { effect });
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::CheckCannotStart));
    continued(&mut story, vec![Check { name: "test".into(), command: "true".into() }]);
    finished(&mut story, result(true));
    assert!(story.wanted().iter().any(|id| id.starts_with("after")), "{:?}", story.wanted());
}

#[test]
fn the_same_error_in_three_turns_of_a_check_that_never_passed_is_stuck() {
    let same = || CheckResult { error: Some("e".into()), ..result(false) };
    let mut story = checked(LoopMode::Fresh, 5);
    for _ in 0..2 {
        story.turn(false);
        finished(&mut story, same());
    }
    story.turn(false);
    finished(&mut story, same());
    assert_eq!(story.ends(), (FinalStatus::Blocked, EndReason::Stuck));
    assert!(story.detail().contains("check `test` never passed"), "{}", story.detail());
    continued(&mut story, vec![]);
    story.turn(false);
    finished(&mut story, same());
    assert_eq!(story.state.progress(), Progress::Running, "a continued run gets three more turns");
}

#[test]
fn the_same_error_is_no_end_if_the_check_passed_once_or_the_setting_is_0() {
    let same = || CheckResult { error: Some("e".into()), ..result(false) };
    for (stuck_after, first) in [(0, same()), (5, result(true))] {
        let mut story = checked(LoopMode::Fresh, stuck_after);
        story.turn(false);
        finished(&mut story, first);
        for _ in 0..4 {
            story.turn(false);
            finished(&mut story, same());
        }
        assert_eq!(story.state.progress(), Progress::Running);
    }
}
