//! Limits that end nothing or end too early, and values that a run may lack at its end.

use std::time::Duration;

use super::*;
use crate::graph::builder::{LoopRounds, Steps, shell, wait, workflow};
use crate::graph::workflow::{Budget, InputKind, InputRange, NodeNumber, SessionOptions, WorkflowInput};

fn nothing() -> Vec<String> {
    Vec::new()
}

fn turns(turns: u32) -> Budget {
    Budget { turns: Some(turns), ..Budget::default() }
}

#[test]
fn a_budget_that_nothing_in_the_loop_spends_does_not_end_it() {
    let polls = |b: Steps| b.then(shell("make").id("make")).then(wait(Duration::from_secs(60)).id("pause"));
    let forever = |body: fn(Steps) -> Steps| work().loop_(LoopRounds::forever(), body).id("l");
    let silent = [
        "error: nothing ends this loop: no session in it spends the budget → l.loop.forever (give it a budget of time: `budget: { time: 8h }`)",
    ];
    assert_eq!(said(forever(polls).budget(turns(9))), silent);
    let tokens = Budget { tokens: Some(9), cost_usd: Some(1.0), ..Budget::default() };
    assert_eq!(said(forever(polls).budget(tokens)), silent);
    let time = Budget { time_ms: Some(3_600_000), ..turns(9) };
    assert_eq!(said(forever(polls).budget(time)), nothing());
    let timed = SessionOptions { timeout_ms: Some(3_600_000), ..SessionOptions::default() };
    assert_eq!(said(forever(polls).budget(turns(9)).settings(timed)), nothing());
    let deep = |b: Steps| b.if_("input", |b| b.then(prompt("x").id("x")), |b| b);
    assert_eq!(said(forever(deep).budget(turns(9))), nothing());
    let calls = |b: Steps| b.then(workflow("other").id("other"));
    let registry = registry();
    let mut known = known(&registry);
    known.workflows.insert("other".to_owned(), None);
    assert_eq!(said_by(forever(calls).budget(turns(9)), &known), nothing());
    let open = work().loop_(LoopRounds::until("outputs.make.failed"), polls).id("l").budget(turns(9));
    assert_eq!(
        said(open),
        ["warning: this loop has no limit: it runs until its condition is true → l.loop.max (set `max: 10`)"]
    );
}

#[test]
fn waits_end_before_the_timeout_around_them() {
    let hours = |hours: u64| wait(Duration::from_secs(3_600 * hours)).id("pause");
    let finally = |hours_waited: u64| said(work().finally(|b| b.then(hours(hours_waited))));
    assert_eq!(
        finally(2),
        [
            "error: the `timeout` allows 10m, but the waits take at least 2h → finally.finally (set a longer one: `finally: { timeout: 1h, do: [ … ] }`)"
        ]
    );
    assert_eq!(said(work().finally(|b| b.then(wait(Duration::from_secs(60)).id("pause")))), nothing());
    let skipped = said(work().finally(|b| b.then(hours(2).when("input"))));
    assert_eq!(skipped, nothing());
    let timed = SessionOptions { timeout_ms: Some(3_600_000), ..SessionOptions::default() };
    assert_eq!(
        said(work().then(hours(2)).settings(timed)),
        ["error: the `timeout` allows 1h, but the waits take at least 2h → settings.timeout"]
    );
    let text = "error: the `timeout` allows 1m, but the waits take at least 2h → pause.timeout (set a longer `timeout`, or wait less)";
    let minute = Duration::from_secs(60);
    assert_eq!(said(work().then(hours(2).timeout(minute))), [text]);
    // The run goes on after such a timeout.
    let passed_over = hours(2).timeout(minute).continue_on_failure();
    let timed = SessionOptions { timeout_ms: Some(3_600_000), ..SessionOptions::default() };
    assert_eq!(said(work().then(passed_over).settings(timed)), nothing());
}

#[test]
fn an_input_that_gives_a_number_has_a_value() {
    let looping = |change: fn(WorkflowInput) -> WorkflowInput| {
        let range = InputRange { minimum: Some(1.0), maximum: Some(9.0) };
        let input = change(WorkflowInput { range, ..WorkflowInput::new("n", InputKind::Integer) });
        let rounds = LoopRounds::times(9);
        let builder = work().input(input).loop_(rounds, |b| b.then(prompt("x").id("x"))).id("l");
        said(builder.computed(NodeNumber::Max, "inputs.n", 9))
    };
    assert_eq!(
        looping(|input| input),
        [
            "warning: `inputs.n` may have no value, and then this node fails → l.loop.max (give the input a `default`, or `required: true`)"
        ]
    );
    assert_eq!(looping(|input| WorkflowInput { required: true, ..input }), nothing());
    assert_eq!(looping(|input| WorkflowInput { default: Some(3.into()), ..input }), nothing());
}

#[test]
fn a_run_that_gives_a_value_has_it() {
    let gives = |gives: &str| {
        let builder = work().then(prompt("x").when("input").id("b")).gives(gives);
        said(builder.finally(|b| b.then(shell("ls").id("ls"))))
    };
    assert_eq!(
        gives("outputs.b.text"),
        [
            "warning: the run may skip `b`, which then has no output → gives (test it first: `outputs.b is defined`)"
        ]
    );
    assert_eq!(gives("outputs.work.text"), nothing());
    assert_eq!(gives("outputs.b.text if outputs.b is defined else outputs.work.text"), nothing());
    assert_eq!(gives("outputs.b.text | default('')"), nothing());
    let either = |gives: &str| {
        said(
            work()
                .if_("input", |b| b.then(prompt("x").id("a")), |b| b.then(prompt("y").id("b")))
                .gives(gives),
        )
    };
    assert_eq!(either("outputs.a.text").len(), 1);
    assert_eq!(either("outputs.a.text if outputs.a is defined else outputs.b.text"), nothing());
}

#[test]
fn the_status_of_a_run_is_one_of_its_statuses() {
    let tells = |condition: &str| said(work().finally(|b| b.then(shell("ls").when(condition).id("tell"))));
    assert_eq!(tells("run.status == 'failed' or run.status in ['completed', 'cancelled']"), nothing());
    assert_eq!(
        tells("run.status == 'success'"),
        [
            "error: `run.status` is never `success` → tell.when (it is one of `completed`, `blocked`, `exhausted`, `failed`, `cancelled`)"
        ]
    );
    assert_eq!(
        tells("run.status == 'interrupted'").len(),
        1,
        "an interrupted run does not come to `finally`"
    );
    assert_eq!(
        tells("run.status != 'complete'"),
        ["error: `run.status` is never `complete` → tell.when (did you mean `completed`?)"]
    );
}
