//! `finally` runs outside of the budget of its run.

use super::*;
use crate::graph::builder::{prompt, workflow};
use crate::graph::workflow::Budget;
use crate::run::{BudgetRaise, Continuation, Raise};

fn turns(most: u32) -> Budget {
    Budget { turns: Some(most), ..Budget::default() }
}

fn with_goodbye(most: u32, more: &[&str]) -> Story {
    let first = Builder::new("w").start(prompt("x").id("a"));
    let all = more.iter().fold(first, |all, id| all.then(prompt("x").id(*id)));
    let mut spec = drawn(all.finally(|last| last.then(prompt("bye").id("bye"))));
    spec.budget = turns(most);
    Story::of(spec)
}

#[test]
fn a_session_in_finally_runs_though_the_budget_is_spent() {
    let mut story = with_goodbye(1, &[]);
    story.says("a", "x").says("bye", "x");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.state.spent.turns, 2, "its turn counts in the sum");

    let mut story = with_goodbye(1, &["b"]);
    story.says("a", "x").prepared("b").cleaned("b").says("bye", "x");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.state.spent.turns, 2);
}

#[test]
fn a_continued_run_does_not_pay_for_its_finally() {
    let mut story = with_goodbye(1, &["b"]);
    story.says("a", "x").prepared("b").cleaned("b").says("bye", "x");
    let budget = BudgetRaise { turns: Some(Raise::Add(1)), ..BudgetRaise::default() };
    story.goes_on_with(Continuation { budget, ..Continuation::default() });
    story.says("b~2", "x").says("bye@2", "x");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::AllDone));
    assert_eq!(story.state.spent.turns, 4);
}

#[test]
fn the_budget_of_a_node_in_finally_applies_and_a_run_that_it_starts_gets_no_other() {
    let mut spec = drawn(
        Builder::new("w")
            .start(prompt("x").id("a"))
            .finally(|last| last.then(workflow("other").budget(turns(3)).id("sub"))),
    );
    spec.budget = turns(1);
    let mut other = spec_of(vec![prompt("x").id("p").into()]);
    other.workflow = "other".into();
    spec.others.insert("other".to_owned(), other);
    let mut story = Story::of(spec);
    story.says("a", "x");
    let started = story.state.bookkeeping.open.iter().find_map(|planned| match &planned.effect {
        Effect::StartRun { run, spec, .. } => Some((run.clone(), spec.budget)),
        _ => None,
    });
    let (run, budget) = started.expect("a run");
    assert_eq!(budget.turns, Some(3));
    let mut ledger = Ledger::default();
    ledger.note(&story.state);
    assert_eq!(ledger.left_to_call(&story.state.run, &run).and_then(|left| left.turns), Some(3));
}
