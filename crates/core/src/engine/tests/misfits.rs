//! A run whose state does not fit its workflow ends by name: it never waits for what cannot come.

use super::*;
use crate::graph::builder::{prompt, shell};
use crate::run::{BranchState, IfState, RoundsState};

fn rounds() -> Activity {
    Activity::Loop(RoundsState { round: 1, feedback: String::new(), lane: Lane::default(), max: None })
}

fn shell_ended(effect: EffectId) -> Event {
    let end = ShellEnd::exited(true, "exit code 0", "");
    Event::ShellEnded { effect, end }
}

fn internal(state: &RunState) -> String {
    let Some(Outcome {
        status: FinalStatus::Failed,
        reason: EndReason::InternalError,
        detail: Some(detail),
        ..
    }) = state.outcome()
    else {
        panic!("{:?}", state.lifecycle)
    };
    detail.clone()
}

#[test]
fn a_node_with_the_state_of_another_kind_ends_the_run() {
    let spec = drawn(Builder::new("w").start(shell("x").id("a")).then(shell("y").id("b")));
    let (mut state, step) = start(RunId::new("r"), spec, NOW);
    state.root.now.as_mut().unwrap().activity = rounds();

    let told = apply(&mut state, NOW, &shell_ended(step.effects[0].id.clone()));
    let [Planned { id, effect: Effect::CleanUp { .. } }] = told.effects.as_slice() else {
        panic!("{told:?}")
    };
    apply(&mut state, NOW, &Event::CleanedUp { effect: id.clone() });

    let why = internal(&state);
    assert!(why.contains("`a` is a `shell` node, but its state is that of a loop"), "{why}");
}

#[test]
fn a_block_with_the_state_of_another_kind_ends_the_run_and_its_branches() {
    let both = Builder::new("w").start(shell("x").id("first")).parallel(|lanes| {
        let lanes = lanes.branch("one", |one| one.then(shell("1").id("a")));
        lanes.branch("two", |two| two.if_("true", |yes| yes.then(shell("2").id("b")), |no| no))
    });
    let (mut state, step) = start(RunId::new("r"), drawn(both), NOW);
    let step = apply(&mut state, NOW, &shell_ended(step.effects[0].id.clone()));
    let Activity::Parallel(branches) = &mut state.root.now.as_mut().unwrap().activity else {
        panic!("no branches")
    };
    let BranchState::Open(two) = &mut branches.slots[1] else { panic!("not open") };
    let Activity::If(IfState { .. }) =
        std::mem::replace(&mut two.now.as_mut().unwrap().activity, Activity::Shell)
    else {
        panic!("no way taken")
    };

    let to_b = step.effects.iter().find(|planned| planned.id.node.as_str() == "b").unwrap();
    let mut open = apply(&mut state, NOW, &shell_ended(to_b.id.clone())).effects;
    while let Some(planned) = open.pop() {
        open.extend(apply(&mut state, NOW, &Event::CleanedUp { effect: planned.id }).effects);
    }
    assert!(internal(&state).contains("is a `if` node, but its state is that of a command line"));
}

#[test]
fn a_fact_that_no_node_of_its_kind_can_be_told_ends_the_run() {
    let spec = drawn(Builder::new("w").start(shell("x").id("a")).then(prompt("y").id("b")));
    let (mut state, step) = start(RunId::new("r"), spec, NOW);
    let results = vec![result(true)];
    let told = apply(&mut state, NOW, &Event::ChecksFinished { effect: step.effects[0].id.clone(), results });
    apply(&mut state, NOW, &Event::CleanedUp { effect: told.effects[0].id.clone() });
    assert!(
        internal(&state).contains("`a` is a `shell` node, which cannot handle the event checks_finished")
    );
}
