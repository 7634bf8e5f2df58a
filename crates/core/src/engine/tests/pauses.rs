//! Pauses of a run: what is under way is finished, and nothing begins.

use std::time::Duration;

use super::*;
use crate::graph::builder::{LoopRounds, ask, clear_context, prompt, shell, wait, wait_for};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the news of the last step about nodes and rounds.
fn told(story: &Story) -> Vec<String> {
    let name = |news: &News| match news {
        News::NodeStarted { node, .. } => Some(format!("{node} begins")),
        News::NodeHeld { node } => Some(format!("{node} is held")),
        News::NodeSkipped { node, .. } => Some(format!("{node} is left out")),
        News::NodeFinished { node, .. } => Some(format!("{node} is over")),
        News::Round { node, round, .. } => Some(format!("round {round} of {node}")),
        News::WaitOver => Some("the wait is over".to_owned()),
        _ => None,
    };
    story.step.news.iter().filter_map(name).collect()
}

#[test]
fn what_is_under_way_goes_on_and_nothing_new_begins() {
    let workflow =
        Builder::new("w").start(shell("x").id("a")).then(prompt("y").id("b")).then(shell("z").id("c"));
    let mut story = Story::drawn(workflow);
    story.pause();
    assert_eq!(story.state.progress(), Progress::Running, "a command line still runs");
    story.shell("a", true, "");
    assert_eq!((story.does(), story.wanted()), (vec![], vec![]), "not even what it needs is made");
    assert_eq!(told(&story), ["a is over", "b is held"]);
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::Paused));
    story.pause();
    assert!(story.step.news.is_empty(), "it is paused already");
    assert_eq!(story.go_on().does(), ["b.1.1.hold"]);
    assert_eq!(story.state.progress(), Progress::Running);
    story.go_on();
    assert!(story.does().is_empty(), "it goes on already");
    story.wait_over("b", Verb::Defer);
    assert_eq!((told(&story), story.does()), (vec!["b begins".to_owned()], vec!["b.1.1.prepare".to_owned()]));
    story.pause().prepared("b");
    assert!(story.wanted().is_empty(), "no turn begins");
    assert_eq!(story.go_on().does(), ["b.1.1.session"]);
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("b");
    assert_eq!(story.shell("c", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn no_default_is_taken_and_no_round_begins_while_a_wait_ends() {
    let mut story =
        Story::drawn(Builder::new("w").start(clear_context()).loop_(LoopRounds::times(2), |body| {
            let question = ask("delete it?").choices(["yes", "no"]).default("yes").id("q");
            body.then(wait(SECOND).id("w")).then(question)
        }));
    story.pause().wait_over("w@1", Verb::Wait);
    assert_eq!(told(&story), ["w@1 is over", "q@1 is held"]);
    assert_eq!(story.state.bookkeeping.outputs.get(&NodeId::new("q")), None);
    story.go_on().wait_over("q@1", Verb::Defer);
    assert_eq!(told(&story), ["q@1 begins", "q@1 is over", "round 2 of loop", "w@2 begins"]);

    let mut story = Story::drawn(
        Builder::new("w")
            .start(clear_context())
            .loop_(LoopRounds::times(2), |body| body.then(shell("x").id("x")))
            .then(shell("y").id("y")),
    );
    story.pause().shell("x@1", true, "");
    assert_eq!(told(&story), ["x@1 is over", "loop is held"]);
    assert_eq!(story.state.progress(), Progress::Waiting(Waiting::Paused));
    story.go_on().pause().wait_over("loop", Verb::Defer);
    assert_eq!(told(&story), ["loop is held"], "it is paused again");
    story.go_on().wait_over("loop", Verb::Defer);
    assert_eq!(told(&story), ["round 2 of loop", "x@2 begins"]);
    story.pause().shell("x@2", true, "");
    assert_eq!(told(&story), ["x@2 is over", "loop is over", "y is held"]);
    story.go_on().wait_over("y", Verb::Defer);
    assert_eq!(story.shell("y", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn time_and_conditions_of_a_node_count_from_where_it_begins() {
    let workflow = Builder::new("w")
        .start(wait_for("go", None).id("go"))
        .then(shell("x").id("x").timeout(SECOND))
        .then(shell("y").id("y").when("outputs.x.text == 'z'"))
        .then(shell("z").id("z"));
    let mut story = Story::drawn(workflow);
    story.pause().told("go", "");
    assert_eq!(told(&story), ["go is over", "x is held"], "and the run does not go on");
    assert!(story.wanted().is_empty(), "its time does not run");
    story.go_on().later(5_000).wait_over("x", Verb::Defer);
    assert_eq!(story.wanted(), ["x.1.1.timeout", "x.1.1.shell"]);
    let active = story.state.root.now.as_ref().expect("a node");
    assert_eq!((active.began, active.deadline), (story.at, Some(story.at.plus_ms(1_000))));
    story.pause().shell("x", true, "").go_on().wait_over("y", Verb::Defer);
    assert_eq!(told(&story), ["y is left out", "z begins"]);
}

#[test]
fn a_node_that_is_tried_again_is_held_and_told_what_went_wrong() {
    let workflow = Builder::new("w").start(prompt("x {{ feedback }}").id("x").retry(1, SECOND));
    let mut story = Story::drawn(workflow.then(shell("y")));
    story.breaks("x").pause().wait_over("x", Verb::Retry);
    assert_eq!((told(&story), story.wanted()), (vec!["x~2 is held".to_owned()], vec![]));
    story.go_on().wait_over("x~2", Verb::Defer).prepared("x~2");
    assert!(story.plan().prompt.contains("broken"), "{}", story.plan().prompt);
}

#[test]
fn a_paused_run_can_be_cancelled_and_what_it_held_back_never_begins() {
    let mut story = Story::drawn(Builder::new("w").start(clear_context()).parallel(|lanes| {
        let lanes = lanes.branch("shell", |b| b.then(wait_for("go", None)).then(shell("x").id("shell")));
        let lanes = lanes.branch("agent", |b| b.then(prompt("x").id("agent")));
        lanes.branch("loop", |b| b.loop_(LoopRounds::times(2), |body| body.then(shell("x").id("x"))))
    }));
    story.pause().told("go", "").prepared("agent").shell("x@1", true, "");
    assert!(story.wanted().is_empty());
    story.cancel().go_on();
    assert_eq!(story.does(), Vec::<String>::new(), "it is over, whoever lets it go on");
    story.cleaned("agent");
    assert_eq!(story.ended(), (FinalStatus::Cancelled, EndReason::User));
    assert!(!story.state.bookkeeping.nodes.contains_key(&NodeId::new("shell")), "it has not begun");
}

#[test]
fn after_a_crash_a_paused_run_still_begins_nothing() {
    let mut story = Story::drawn(Builder::new("w").start(shell("x").id("a")).then(shell("y").id("b")));
    story.pause().shell("a", true, "");
    let folded = fold(RunId::new("r"), &story.records).expect("a run");
    assert_eq!(folded, story.state);
    assert!(folded.to_perform().is_empty());
}

#[test]
fn the_time_of_a_run_stands_still_while_it_is_paused() {
    let budget = Budget { time_ms: Some(6_000), ..Budget::default() };
    let mut story = Story::drawn(Builder::new("w").start(wait_for("e", None).id("a")).budget(budget));
    let due = story.state.deadline().expect("a deadline");
    story.later(1_000).pause().later(60_000).tell(Event::RunTimedOut);
    assert!(!story.state.is_done() && story.state.deadline().is_none(), "nobody's time is up in a pause");
    story.go_on();
    assert_eq!(story.state.deadline(), Some(due.plus_ms(60_000)));
    story.tell(Event::RunTimedOut);
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Timeout));
}
