//! Numbers that a run computes when a node starts.

use serde_json::json;

use super::*;
use crate::graph::builder::{LoopRounds, prompt, shell, task_loop, turns};
use crate::graph::workflow::NodeNumber;

const NO_DELAY: std::time::Duration = std::time::Duration::ZERO;

fn with_input(workflow: Builder, value: serde_json::Value) -> Story {
    let mut spec = drawn(workflow);
    spec.inputs.insert("n".into(), value);
    Story::of(spec)
}

fn rounds() -> Builder {
    Builder::new("w")
        .start(shell("a").id("a"))
        .loop_(LoopRounds::times(1), |round| round.then(shell("x").id("x")))
        .id("l")
        .computed(NodeNumber::Max, "inputs.n", 3)
}

#[test]
fn a_loop_runs_as_often_as_an_input_says() {
    let mut story = with_input(rounds(), json!(2));
    story.shell("a", true, "").shell("x@1", true, "").shell("x@2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn a_number_outside_its_bounds_fails_the_node_before_it_does_anything() {
    let rows = [
        (json!(4), "`loop.max` must be at most 3, and is 4 (`inputs.n`)"),
        (json!(0), "`loop.max` must be at least 1, and is 0 (`inputs.n`)"),
        (json!(1.5), "`loop.max` must be a whole number, and is 1.5 (`inputs.n`)"),
        (json!("2"), "`loop.max` must be a whole number, and is \"2\" (`inputs.n`)"),
        (json!(null), "`loop.max` must be a whole number, and is null (`inputs.n`)"),
    ];
    for (value, why) in rows {
        let mut story = with_input(rounds(), value);
        story.shell("a", true, "");
        assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::Template), "{why}");
        assert_eq!(story.detail(), why);
        assert!(
            story
                .records
                .iter()
                .flat_map(|record| &record.effects)
                .all(|planned| planned.id.node.as_str() == "a")
        );
    }
}

#[test]
fn retries_their_pause_and_the_time_of_a_node_are_computed() {
    let workflow = Builder::new("w").start(
        shell("x")
            .id("x")
            .retry(0, NO_DELAY)
            .computed(NodeNumber::Times, "inputs.n", 5)
            .computed(NodeNumber::Delay, "inputs.n", 60_000)
            .computed(NodeNumber::Timeout, "'1m'", 120_000),
    );
    let mut story = with_input(workflow, json!(1));
    let until = |story: &Story, verb: Verb| {
        let id = story.open_of("x", verb);
        let open = story.state.bookkeeping.open.iter().find(|planned| planned.id == id);
        match open.map(|planned| &planned.effect) {
            Some(Effect::WaitUntil { until }) => *until,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(until(&story, Verb::Timeout), NOW.plus_ms(60_000));
    story.shell("x", false, "");
    assert_eq!(until(&story, Verb::Retry), NOW.plus_ms(1_000));
    story.wait_over("x", Verb::Retry).shell("x~2", false, "");
    assert_eq!(story.ended(), (FinalStatus::Failed, EndReason::ShellFailed), "one retry");
}

#[test]
fn the_numbers_of_a_node_stay_the_same_until_it_ends() {
    let workflow = Builder::new("w")
        .start(shell("a").id("a"))
        .loop_(LoopRounds::times(1), |round| round.then(shell("x").id("x")).then(shell("a").id("again")))
        .id("l")
        .computed(NodeNumber::Max, "2 if outputs.again is not defined else 1", 3);
    let mut story = Story::drawn(workflow);
    story.shell("a", true, "").shell("x@1", true, "").shell("again@1", true, "");
    story.tell(Event::InterruptAsked { inbox: None });
    story.cleaned("x@2");
    assert_eq!(story.ended().0, FinalStatus::Interrupted);
    let more = Box::new(crate::run::Continuation::default());
    story.tell(Event::Continued { inbox: InboxId::new("i"), by: "me".into(), more });
    story.shell("x@2~2", true, "").shell("again@2", true, "");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn turns_branches_tasks_and_attempts_are_computed() {
    let looping = prompt("x").turns(turns(9)).id("p").computed(NodeNumber::Turns, "inputs.n", 9);
    let mut story = with_input(Builder::new("w").start(looping), json!(1));
    story.prepared("p").session_ends(SessionVerdict::Completed).seen(false).cleaned("p");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::MaxIterations));

    let lanes = Builder::new("w")
        .start(shell("a").id("a"))
        .parallel(|lanes| {
            lanes.branch("x", |b| b.then(shell("x").id("x"))).branch("y", |b| b.then(shell("y").id("y")))
        })
        .computed(NodeNumber::Limit, "inputs.n", 2);
    let mut story = with_input(lanes, json!(1));
    story.shell("a", true, "");
    assert_eq!(story.wanted(), ["x.1.1.shell"]);

    let tasks = task_loop()
        .id("t")
        .each(|task| task.then(shell("x").id("x")))
        .computed(NodeNumber::Jobs, "inputs.n", 4)
        .computed(NodeNumber::Attempts, "inputs.n + 1", 4)
        .computed(NodeNumber::Max, "inputs.n", 4);
    let mut story = with_input(Builder::new("w").start(tasks), json!(1));
    let effect = story.open(Verb::Claim);
    let Effect::ClaimTask { attempts, .. } = story.state.bookkeeping.open[0].effect.clone() else {
        panic!("a claim")
    };
    assert_eq!(attempts.allowed, 2);
    let claim = Claim::Task { id: "a".parse().unwrap(), task: json!({"id": "a", "name": "a"}) };
    story.tell(Event::TaskClaimed { effect, claim, odd: Vec::new() });
    assert!(
        !story.wanted().iter().any(|name| name.ends_with("claim")),
        "one at a time: {:?}",
        story.wanted()
    );
}
