//! Outputs that are certain because of the way a run took: it came past a block that fails in all other
//! cases, or another branch has no output.

use super::*;
use crate::graph::builder::{LoopRounds, NodeBuilder, Steps, criteria_loop, fail, kind::PromptMarker, shell};

fn nothing() -> Vec<String> {
    Vec::new()
}

fn skipped(id: &str) -> Vec<String> {
    vec![format!(
        "warning: the run may skip `{id}`, which then has no output → use.prompt (test it first: `outputs.{id} is defined`)"
    )]
}

fn a(steps: Steps) -> Steps {
    steps.then(prompt("x").id("a"))
}

fn b(steps: Steps) -> Steps {
    steps.then(prompt("x").id("b"))
}

fn c(steps: Steps) -> Steps {
    steps.then(prompt("x").id("c"))
}

fn fails(steps: Steps) -> Steps {
    steps.then(shell("true").id("clean-up")).then(fail("no").id("stop"))
}

fn uses(id: &str) -> NodeBuilder<PromptMarker> {
    prompt(format!("{{{{ outputs.{id}.text }}}}")).id("use")
}

#[test]
fn who_comes_past_a_catch_that_fails_comes_from_the_end_of_the_try() {
    assert_eq!(said(work().try_(a, fails).then(uses("a"))), nothing());
    assert_eq!(said(work().try_(a, b).then(uses("a"))), skipped("a"));
    let either = |b: Steps| b.if_("input", fails, |b| b.then(fail("also").id("other")));
    assert_eq!(said(work().try_(a, either).then(uses("a"))), nothing());
    let perhaps = |b: Steps| b.if_("input", fails, |b| b);
    assert_eq!(said(work().try_(a, perhaps).then(uses("a"))), skipped("a"));
    let inner = |b: Steps| b.try_(fails, |b| b.then(fail("again").id("again")));
    assert_eq!(said(work().try_(a, inner).then(uses("a"))), nothing());
}

#[test]
fn who_comes_past_an_if_comes_from_the_branch_that_does_not_fail() {
    assert_eq!(said(work().if_("input", a, fails).then(uses("a"))), nothing());
    assert_eq!(said(work().if_("input", fails, a).then(uses("a"))), nothing());
    let perhaps = |b: Steps| b.then(fail("no").id("stop").when("inputs"));
    assert_eq!(said(work().if_("input", a, perhaps).then(uses("a"))), skipped("a"));
    let survives = |b: Steps| b.then(fail("no").id("stop").continue_on_failure());
    assert_eq!(said(work().if_("input", a, survives).then(uses("a"))), skipped("a"));
}

#[test]
fn what_a_failure_rules_out_holds_for_what_follows() {
    let optional = || work().then(prompt("x").id("a").when("input"));
    let stop = || fail("no").id("stop").when("outputs.a is undefined");
    assert_eq!(said(optional().then(stop()).then(uses("a"))), nothing());
    assert_eq!(said(optional().if_("outputs.a is not defined", fails, |b| b).then(uses("a"))), nothing());
    assert_eq!(said(optional().if_("outputs.a is defined", b, fails).then(uses("a"))), nothing());
    assert_eq!(said(optional().then(stop().continue_on_failure()).then(uses("a"))), skipped("a"));
    // It holds where the node stands, and not behind a block that the run may skip.
    let guarded = |b: Steps| b.then(fail("no").id("stop").when("outputs.a is undefined"));
    assert_eq!(said(optional().if_("input", guarded, |b| b).then(uses("a"))), skipped("a"));
}

#[test]
fn a_run_that_goes_on_after_the_failure_of_a_block_comes_from_anywhere_in_it() {
    let rounds = |b: Steps| b.if_("input", a, fails);
    let outer = |continues: bool| {
        let node = criteria_loop("S").max(2).each(rounds).id("rounds");
        let node = if continues { node.continue_on_failure() } else { node };
        said(work().then(node).then(uses("a")))
    };
    assert_eq!(outer(true), skipped("a"));
    assert_eq!(outer(false), nothing());
}

#[test]
fn without_the_output_of_one_branch_there_is_that_of_the_other() {
    let chosen = |text: &str| said(work().if_("input", a, b).then(prompt(text).id("use")));
    for text in [
        "{{ outputs.a.text if outputs.a is defined else outputs.b.text }}",
        "{{ outputs.a if outputs.a.text is defined else outputs.b }}",
        "{{ outputs.b if outputs.a is undefined else outputs.a }}",
        "{% if outputs.a is defined %}{{ outputs.a }}{% else %}{{ outputs.b.text }}{% endif %}",
        "{% set first = outputs.a %}{{ outputs.b if outputs.a is not defined }}",
    ] {
        let found: Vec<String> = chosen(text).into_iter().filter(|line| line.contains("`b`")).collect();
        assert_eq!(found, nothing(), "{text}");
    }
    // The value of a node may be missing although the node ran.
    assert_eq!(chosen("{{ '' if outputs.a.value is defined else outputs.b.text }}"), skipped("b"));
    assert_eq!(chosen("{{ '' if outputs.a is defined or input else outputs.b.text }}"), nothing());
    assert_eq!(chosen("{{ '' if outputs.a is defined and input else outputs.b.text }}"), skipped("b"));
}

#[test]
fn the_condition_of_a_node_chooses_a_branch_too() {
    let both = || work().if_("input", a, b);
    assert_eq!(said(both().then(uses("b").when("outputs.a is undefined"))), nothing());
    assert_eq!(said(both().if_("outputs.a is defined", c, |b| b.then(uses("b")))), nothing());
    assert_eq!(said(both().if_("outputs.a is defined", |b| b.then(uses("b")), |b| b)), skipped("b"));
    // What runs after the condition changes its answer.
    let again = |steps: Steps| steps.if_("input", a, b).then(uses("b"));
    let round = |steps: Steps| steps.if_("outputs.a is undefined", again, c);
    assert_eq!(said(work().loop_(LoopRounds::times(2), round)), skipped("b"));
}

#[test]
fn each_branch_of_a_chain_is_certain_without_the_others() {
    let chain = |steps: Steps| steps.if_("input", b, c);
    let text =
        "{{ outputs.a if outputs.a is defined else (outputs.b if outputs.b is defined else outputs.c) }}";
    assert_eq!(said(work().if_("input", a, chain).then(prompt(text).id("use"))), nothing());
    let missing = "{{ outputs.a if outputs.a is defined else outputs.c }}";
    assert_eq!(said(work().if_("input", a, chain).then(prompt(missing).id("use"))), skipped("c"));
}

#[test]
fn neither_branch_is_certain_if_the_run_may_skip_the_if_or_a_part_of_it() {
    let text = "{{ outputs.a if outputs.a is defined else outputs.b }}";
    let uses = || prompt(text).id("use");
    let inside = |steps: Steps| steps.if_("input", a, b);
    assert_eq!(said(work().if_("inputs", inside, |b| b).then(uses())), skipped("b"));
    let optional = |steps: Steps| steps.then(prompt("x").id("a").when("inputs"));
    assert_eq!(said(work().if_("input", optional, b).then(uses())), skipped("b"));
}
