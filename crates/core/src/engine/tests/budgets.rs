//! Tests for budgets: of the run, of a node, and of the tries of a node together.

use std::time::Duration;

use super::*;
use crate::graph::builder::{LoopRounds, clear_context, prompt, shell, turns};
use crate::graph::workflow::TurnLoop;

fn of_turns(turns: u32) -> Budget {
    Budget { turns: Some(turns), ..Budget::default() }
}

fn of_tokens(tokens: u64) -> Budget {
    Budget { tokens: Some(tokens), ..Budget::default() }
}

fn two() -> Builder {
    Builder::new("w").start(prompt("x").id("a")).then(prompt("y").id("b"))
}

#[test]
fn a_run_starts_no_more_turns_than_it_may() {
    let mut story = Story::drawn(two().budget(of_turns(1)));
    story.says("a", "hi").prepared("b");
    assert_eq!(story.does(), ["b.1.1.cleanup"]);
    assert_eq!(story.cleaned("b").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.state.spent.turns, 1);
    assert_eq!(story.detail(), "the budget of 1 turn is spent");
}

#[test]
fn a_run_starts_no_turn_once_its_tokens_or_its_money_are_spent() {
    let mut story = Story::drawn(two().budget(of_tokens(10)));
    story.says("a", "hi").prepared("b");
    assert_eq!(story.cleaned("b").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    for (most, words) in [
        (0.5, "the budget of $0.50 is spent: it cost $0.50"),
        (0.001, "the budget of $0.0010 is spent: it cost $0.0010"),
    ] {
        let mut story = Story::drawn(two().budget(Budget { cost_usd: Some(most), ..Budget::default() }));
        story.prepared("a");
        let effect = story.open(Verb::Session);
        let usage = Usage { cost_usd: Some(most), ..Usage::default() };
        let end = SessionEnd { usage, ..session_end(SessionVerdict::Completed) };
        story.tell(Event::SessionEnded { effect, end }).seen(false).cleaned("a").prepared("b").cleaned("b");
        assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
        assert_eq!(story.detail(), words);
    }
}

#[test]
fn a_turn_that_is_tried_again_is_no_other_turn() {
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").id("a")).budget(of_turns(1)));
    story.prepared("a").session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert!(story.plan().resume);
    story.session_ends(SessionVerdict::Completed).seen(false).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::TurnDone));
    assert_eq!(story.state.spent.turns, 1);
}

#[test]
fn a_turn_is_not_tried_again_once_the_tokens_are_spent() {
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").id("a")).budget(of_tokens(10)));
    story.prepared("a").session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn a_loop_of_turns_ends_where_its_node_may_spend_no_more() {
    let node = prompt("x").turns(turns(9)).id("a").budget(of_turns(2));
    let mut story = Story::drawn(Builder::new("w").start(node));
    story.prepared("a").session_ends(SessionVerdict::Completed).seen(false);
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.state.turns(), 2);
}

#[test]
fn a_loop_held_by_its_stop_hook_may_stop_where_it_may_spend_no_more() {
    let in_session = TurnLoop { mode: Some(LoopMode::InSession), ..turns(9) };
    let node = prompt("x").turns(in_session).id("a").budget(of_turns(2));
    let mut story = Story::drawn(Builder::new("w").start(node));
    story.prepared("a").stops("1").seen(false);
    assert!(matches!(story.answer(), HookAnswer::Block { .. }));
    story.stops("2").seen(false);
    assert_eq!(story.answer(), HookAnswer::Pass);
    story.session_ends(SessionVerdict::Completed).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.state.spent.turns, 2);
}

#[test]
fn the_turns_a_plugin_held_are_counted() {
    let plugin = TurnLoop { mode: Some(LoopMode::Plugin), ..turns(9) };
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").turns(plugin).id("a")));
    story.prepared("a").stops("1").stops("2").stops("3");
    story.session_ends(SessionVerdict::Completed).seen(true).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Completed, EndReason::Marker));
    assert_eq!((story.state.turns(), story.state.spent.turns), (3, 3));
}

#[test]
fn the_tries_of_a_node_share_its_budget() {
    let node = prompt("x").id("a").retry(5, Duration::ZERO).budget(of_turns(2));
    let mut story = Story::drawn(Builder::new("w").start(node));
    story.breaks("a").wait_over("a", Verb::Retry).breaks("a~2").wait_over("a~2", Verb::Retry);
    story.prepared("a~3").cleaned("a~3");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget), "another try could not be paid");
    assert_eq!(story.state.spent.turns, 2);
    let seen = &story.state.bookkeeping.nodes[&NodeId::new("a")];
    assert_eq!(seen.spent, story.state.spent, "what each try spent is counted once");
}

#[test]
fn the_nodes_of_a_block_share_its_budget() {
    let mut spec = drawn(two().loop_(LoopRounds::times(2), |round| round.then(prompt("z").id("z"))));
    spec.body[2].budget = of_turns(1);
    let mut story = Story::of(spec);
    story.says("a", "").says("b", "").says("z@1", "").prepared("z@2").cleaned("z@2");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn a_node_that_has_spent_its_own_budget_can_be_lived_with() {
    let node = prompt("x").turns(turns(9)).id("a").budget(of_turns(1)).continue_on_failure();
    let mut story = Story::drawn(Builder::new("w").start(node).then(shell("y").id("b")));
    story.prepared("a").session_ends(SessionVerdict::Completed).seen(false).cleaned("a");
    assert_eq!(story.shell("b", true, "").ended(), (FinalStatus::Completed, EndReason::AllDone));
}

#[test]
fn the_budget_of_the_whole_run_cannot_be_lived_with() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .loop_(LoopRounds::until("false"), |round| round.then(prompt("x").id("a").continue_on_failure()))
        .budget(of_turns(1));
    let mut story = Story::drawn(workflow);
    story.says("a@1", "").prepared("a@2").cleaned("a@2");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget), "else it would go round for ever");
}

#[test]
fn parallel_branches_share_what_is_left() {
    let workflow = Builder::new("w")
        .start(clear_context())
        .parallel(|lanes| {
            let lanes = lanes.branch("x", |x| x.then(prompt("x").id("x")));
            lanes.branch("y", |y| y.then(prompt("y").id("y")))
        })
        .budget(of_turns(1));
    let mut story = Story::drawn(workflow);
    story.prepared("x").prepared("y");
    assert_eq!(story.does(), ["y.1.1.cleanup"]);
}

#[test]
fn a_hostile_count_of_tokens_spends_the_budget_and_breaks_nothing() {
    let mut story = Story::drawn(two().budget(of_tokens(u64::MAX)));
    let usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    let end = SessionEnd { usage, ..session_end(SessionVerdict::Completed) };
    story.prepared("a");
    let effect = story.open(Verb::Session);
    story.tell(Event::SessionEnded { effect, end: end.clone() }).seen(false).cleaned("a").prepared("b");
    assert_eq!(story.cleaned("b").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    let mut unbounded = Story::drawn(two());
    for node in ["a", "b"] {
        unbounded.prepared(node);
        let effect = unbounded.open(Verb::Session);
        unbounded.tell(Event::SessionEnded { effect, end: end.clone() }).seen(false).cleaned(node);
    }
    let counted = Usage { is_cost_partial: true, ..usage };
    assert_eq!(unbounded.state.spent.usage, counted, "as much as can be counted");
}

#[test]
fn a_loop_that_runs_forever_ends_with_its_budget() {
    let workflow = Builder::new("w")
        .budget(Budget { turns: Some(3), ..Budget::default() })
        .start(crate::graph::builder::clear_context())
        .loop_(crate::graph::builder::LoopRounds::forever(), |round| {
            round.then(crate::graph::builder::prompt("x").id("x"))
        });
    let mut story = Story::drawn(workflow);
    story.says("x@1", "a").says("x@2", "b").says("x@3", "c").prepared("x@4").cleaned("x@4");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
}
