//! Rehearsals: the order of steps, stub results, all ways, and expectations.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::engine::tests::drawn;
use crate::graph::builder::{
    Builder, LoopRounds, Steps, ask, check_all, each_of, prompt, pull_request, review, shell, task_loop,
    wait_for, workflow,
};
use crate::graph::workflow::Join;
use crate::run::FinalStatus;

#[test]
fn what_branches_do_stands_below_the_node_that_does_it() {
    let both = Builder::new("w").start(shell("x").id("first")).parallel(|lanes| {
        let lanes = lanes.branch("one", |one| one.then(shell("echo 1").id("a")));
        lanes.branch("two", |two| two.then(shell("echo 2").id("b")))
    });
    let acts = rehearse(&drawn(both.id("both")), &RehearsalOptions::default()).acts;
    let acts: Vec<(&str, &str)> = acts.iter().skip(2).map(|act| (act.node.as_str(), act.what)).collect();
    assert_eq!(acts, [("both", "begins"), ("a", "begins"), ("a", "runs"), ("b", "begins"), ("b", "runs")]);
}

fn schema() -> serde_json::Value {
    json!({"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}})
}

/// A gate, a loop of work and review, and a last node that only good work reaches.
fn fix() -> Spec {
    let workflow = Builder::new("fix")
        .start(shell("make gate").id("gate").continue_on_failure())
        .then(prompt("plan").id("plan").when("outputs.gate.failed"))
        .loop_(LoopRounds::until("outputs.review.value.ok").max(3), |body| {
            body.then(prompt("work").id("work")).then(prompt("review").id("review").schema(schema()))
        })
        .id("cycles")
        .if_(
            "outputs.review.value.ok",
            |then| then.then(shell("ship").id("ship")),
            |otherwise| otherwise.then(shell("drop").id("drop")),
        )
        .id("decide");
    drawn(workflow)
}

fn told(stubs: &[(&str, Vec<Stub>)]) -> RehearsalOptions {
    let stubs = stubs.iter().map(|(node, results)| ((*node).to_owned(), results.clone())).collect();
    RehearsalOptions {
        stubs,
        loops: RehearsedLoops::AsWritten,
        ways: WaysWalked::Taken,
        ..RehearsalOptions::default()
    }
}

fn verdict(ok: bool) -> Stub {
    Stub { value: Some(json!({ "ok": ok })), ..Stub::default() }
}

fn starts(rehearsal: &Rehearsal) -> Vec<&str> {
    rehearsal.acts.iter().filter(|act| act.what == "begins").map(|act| act.path.as_str()).collect()
}

#[test]
fn each_start_of_a_node_takes_the_next_stub_and_the_engine_decides() {
    let gate = Stub { exit_code: Some(1), stdout: Some("red".into()), ..Stub::default() };
    let options = told(&[("gate", vec![gate]), ("review", vec![verdict(false), verdict(true)])]);
    let rehearsal = rehearse(&fix(), &options);
    let expected = ["gate", "plan", "cycles", "work@1", "review@1", "work@2", "review@2", "decide", "ship"];
    assert_eq!(starts(&rehearsal), expected);
    assert_eq!((rehearsal.outcome.status, rehearsal.turns), (FinalStatus::Completed, 5));
    let ends: Vec<&str> =
        rehearsal.acts.iter().filter(|act| act.what == "ends").map(|act| act.text.as_str()).collect();
    assert_eq!(ends, ["failed: the command of `gate` failed: exit code 1"]);
}

#[test]
fn the_last_stub_repeats_and_a_loop_runs_out_of_iterations() {
    let rehearsal = rehearse(&fix(), &told(&[("review", vec![verdict(false)])]));
    assert_eq!(starts(&rehearsal).iter().filter(|path| path.starts_with("review")).count(), 3);
    assert_eq!(rehearsal.outcome.status, FinalStatus::Exhausted);
}

#[test]
fn a_failing_agent_fails_its_run_and_a_retry_takes_the_next_stub() {
    let failed = Stub { status: Some(StubStatus::Failed), ..Stub::default() };
    let again = |times| {
        let work = prompt("work").id("work").retry(times, std::time::Duration::from_secs(1));
        let spec = drawn(Builder::new("w").start(work).then(shell("x").id("after")));
        let options = told(&[("work", vec![failed.clone(), Stub::default()])]);
        rehearse(&spec, &options)
    };
    assert_eq!(again(0).outcome.status, FinalStatus::Failed);
    let retried = again(1);
    assert_eq!(starts(&retried), ["work", "work~2", "after"]);
    assert_eq!(retried.outcome.status, FinalStatus::Completed);
}

#[test]
fn an_answer_an_event_and_tasks_come_from_stubs() {
    let workflow = Builder::new("w")
        .start(ask("Go?").id("go").choices(["yes", "no"]))
        .then(wait_for("deployed", None).id("event"))
        .then(task_loop().id("each").each(|each| each.then(prompt("{{ task.name }}").id("do"))))
        .then(shell("echo {{ outputs.go.text }} {{ outputs.event.text }}").id("last"));
    let options = told(&[
        ("go", vec![Stub { answer: Some("no".into()), ..Stub::default() }]),
        ("event", vec![Stub { text: Some("v2".into()), ..Stub::default() }]),
        (
            "each",
            vec![Stub { tasks: Some(vec![json!({"name": "one"}), json!({"id": 2})]), ..Stub::default() }],
        ),
    ]);
    let rehearsal = rehearse(&drawn(workflow), &options);
    let said: Vec<&str> = rehearsal
        .acts
        .iter()
        .filter(|act| matches!(act.what, "runs" | "told"))
        .map(|act| act.text.lines().next().unwrap())
        .collect();
    assert_eq!(said, ["one", "a task from the file", "echo no v2"]);
    assert_eq!(rehearsal.outcome.status, FinalStatus::Completed);
}

#[test]
fn checks_fail_by_a_stub_even_if_the_project_has_none() {
    let spec = drawn(Builder::new("w").start(check_all().id("gate")).then(shell("x").id("after")));
    let rehearsal = rehearse(&spec, &told(&[("gate", vec![Stub::failing()])]));
    assert_eq!(rehearsal.outcome.status, FinalStatus::Failed);
    assert_eq!(starts(&rehearsal), ["gate"]);
}

#[test]
fn all_ways_come_to_every_node_and_decide_every_condition_twice() {
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    let rehearsal = rehearse(&fix(), &options);
    assert_eq!(rehearsal.missed, []);
    let because: Vec<&str> = rehearsal.ways.iter().map(|way| way.because.as_str()).collect();
    assert_eq!(because, ["if `gate` fails", "if the condition of `decide` is true"]);
    let walked = |way: &RehearsedWay| -> Vec<String> {
        way.acts.iter().filter(|act| act.what == "begins").map(|act| act.path.clone()).collect()
    };
    assert_eq!(rehearsal.ways.iter().map(walked).collect::<Vec<_>>(), [vec!["plan"], vec!["ship"]]);
    assert!(rehearsal.ways.iter().all(|way| way.outcome.status == FinalStatus::Completed));
}

#[test]
fn the_walks_grow_with_the_nodes_and_not_with_the_ways() {
    let mut workflow = Builder::new("w").start(shell("x").id("first"));
    for at in 0..40 {
        workflow = workflow
            .if_(
                "1 == 1",
                |then| then.then(shell("a").id(format!("a{at}"))),
                |otherwise| otherwise.then(shell("b").id(format!("b{at}"))),
            )
            .id(format!("if{at}"));
    }
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    let rehearsal = rehearse(&drawn(workflow), &options);
    assert_eq!((rehearsal.missed.len(), rehearsal.ways.len()), (0, 40));
}

#[test]
fn a_node_of_a_called_workflow_is_reached_and_named_with_its_caller() {
    let child = Builder::new("child").start(shell("x").id("a")).if_(
        "1 == 2",
        |then| then.then(shell("y").id("b")),
        |otherwise| otherwise.then(shell("z").id("c")),
    );
    let main =
        Builder::new("w").start(workflow("child").id("call").when("1 == 2")).then(shell("x").id("end"));
    let mut spec = drawn(main);
    spec.others.insert("child".into(), Spec { workflow: "child".into(), ..drawn(child.id("if")) });
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    let rehearsal = rehearse(&spec, &options);
    assert_eq!(rehearsal.missed, []);
    let mut paths: Vec<&str> =
        rehearsal.ways.iter().flat_map(|way| &way.acts).map(|act| act.path.as_str()).collect();
    paths.dedup();
    assert_eq!(paths, ["call", "call/a", "call/if", "call/c", "call/b"]);
    let stub = Stub { stdout: Some("red".into()), exit_code: Some(2), ..Stub::default() };
    let mut options = told(&[("call/a", vec![stub])]);
    assert_eq!(check_stubs(&spec, &options.stubs), []);
    spec.body[0].when = None;
    assert_eq!(rehearse(&spec, &options).outcome.status, FinalStatus::Failed);
    options.stubs = told(&[("call", vec![Stub { text: Some("done".into()), ..Stub::default() }])]).stubs;
    let rehearsal = rehearse(&spec, &options);
    assert_eq!(starts(&rehearsal), ["call", "end"], "a stub of the call replaces its run");
}

#[test]
fn a_node_that_cannot_be_reached_says_why() {
    let spec = drawn(
        Builder::new("w").start(shell("{{ outputs.x.text | int }}").id("x")).then(shell("y").id("after")),
    );
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    assert_eq!(rehearse(&spec, &options).missed, [], "a walk continues after a mistake");
    let endless = drawn(
        Builder::new("w")
            .start(task_loop().id("each").max(1).each(|each| each.then(shell("true").id("do"))))
            .then(shell("y").id("after")),
    );
    let left = Claim::Failed { ids: vec!["1".parse().unwrap()] };
    let options = RehearsalOptions { left, ..options };
    let rehearsal = rehearse(&endless, &options);
    assert_eq!(rehearsal.missed, [], "{rehearsal:?}");
}

#[test]
fn kinds_that_runs_do_not_support_are_walked_with_stubs() {
    let workflow = Builder::new("w")
        .start(review(Some("reviewer"), 2).id("review"))
        .then(pull_request("Fix {{ input }}", Some("{{ outputs.review.value.verdict }}")).id("pr"));
    let rehearsal = rehearse(&drawn(workflow), &RehearsalOptions::default());
    let acts: Vec<(&str, &str, &str)> =
        rehearsal.acts.iter().map(|act| (act.node.as_str(), act.what, act.text.as_str())).collect();
    assert_eq!(
        acts,
        [
            ("review", "begins", "review"),
            ("review", "stub", "runs cannot do this yet"),
            ("pr", "begins", "pull_request"),
            ("pr", "stub", "body: approve, title: Fix do it"),
        ]
    );
    assert_eq!(rehearsal.outcome.status, FinalStatus::Completed);
}

#[test]
fn mistakes_in_stubs_are_found_before_anything_is_walked() {
    let problems = |name: &str, stub: Stub| -> Vec<(String, Option<String>)> {
        let stubs = told(&[(name, vec![stub])]).stubs;
        let found = check_stubs(&fix(), &stubs).into_iter();
        found.map(|problem| (problem.text, problem.hint)).collect()
    };
    let text = |text: &str| Stub { text: Some(text.into()), ..Stub::default() };
    let found = |text: &str, hint: Option<&str>| vec![(text.to_owned(), hint.map(str::to_owned))];
    assert_eq!(problems("review", verdict(true)), []);
    assert_eq!(
        problems("reviev", verdict(true)),
        found("workflow `test` has no node `reviev`", Some("did you mean `review`?"))
    );
    assert_eq!(
        problems("cycles", text("x")),
        found(
            "`cycles` is a node of kind `loop`, which has no result of its own",
            Some("give results to the nodes inside it")
        )
    );
    assert_eq!(
        problems("gate", text("x")),
        found(
            "`gate` is a node of kind `shell`, which cannot have `text`",
            Some("it can have: exit_code, stdout, value, status")
        )
    );
    assert_eq!(
        problems("work", verdict(true)),
        found("`work` gives no value", Some("give its `text`, or add a `schema` to the node"))
    );
    assert_eq!(
        problems("gate", verdict(true)),
        found("`gate` gives no value", Some("give its `stdout`, or add a `schema` to the node"))
    );
    let odd = Stub { value: Some(json!({"ok": "yes"})), ..Stub::default() };
    let misfits = problems("review", odd);
    let [(text, None)] = misfits.as_slice() else { panic!("{misfits:?}") };
    assert!(text.starts_with("the value of `review` does not fit its schema: $.ok: "), "{text}");
    let both = Stub { exit_code: Some(0), status: Some(StubStatus::Failed), ..Stub::default() };
    assert_eq!(
        problems("gate", both),
        found("`gate` has the exit code 0, and so cannot be failed", Some("leave out one of the two"))
    );
}

#[test]
fn examples_of_stubs_fit() {
    let spec = fix();
    let stubs: Stubs =
        stub_targets(&spec).iter().map(|target| (target.path.clone(), vec![target.example()])).collect();
    assert_eq!(stubs.keys().collect::<Vec<_>>(), ["drop", "gate", "plan", "review", "ship", "work"]);
    assert_eq!(check_stubs(&spec, &stubs), []);
}

#[test]
fn expectations_say_what_differs() {
    let rehearsal = rehearse(&fix(), &told(&[("review", vec![verdict(true)])]));
    let met = Expectation {
        status: Some(FinalStatus::Completed),
        reason: Some("all_done".into()),
        ran: vec!["work".into(), "work@1".into(), "ship".into()],
        not_ran: vec!["work@2".into(), "plan".into()],
        turns: Some(2),
    };
    assert_eq!(met.unmet(&rehearsal), Vec::<String>::new());
    assert_eq!(met.check(&fix()), []);
    let unmet = Expectation {
        status: Some(FinalStatus::Failed),
        reason: Some("no such thing".into()),
        ran: vec!["plan".into(), "work@2".into()],
        not_ran: vec!["work".into()],
        turns: Some(3),
    };
    assert_eq!(
        unmet.unmet(&rehearsal),
        [
            "expected status failed, got completed: everything is done",
            "expected reason `no such thing`, got all_done: everything is done",
            "expected `plan` to run, but it did not: it was skipped, because `outputs.gate.failed` is false",
            "expected `work@2` to run, but it did not",
            "expected `work` not to run, but it did as `work@1`",
            "expected 3 turns, got 2",
        ]
    );
}

#[test]
fn expectations_that_contradict_each_other_or_name_nothing_are_mistakes() {
    let odd = Expectation {
        ran: vec!["work@2".into(), "shipp".into()],
        not_ran: vec!["work".into()],
        ..Expectation::default()
    };
    let problems: Vec<(ExpectationField, Option<usize>, String, Option<String>)> = odd
        .check(&fix())
        .into_iter()
        .map(|problem| (problem.field, problem.item, problem.text, problem.hint))
        .collect();
    assert_eq!(
        problems,
        [
            (
                ExpectationField::Ran,
                Some(1),
                "workflow `test` has no node `shipp`".into(),
                Some("did you mean `ship`?".into())
            ),
            (
                ExpectationField::NotRan,
                Some(0),
                "`work` cannot be in `not_ran`: `work@2` is in `ran`".into(),
                None
            ),
        ]
    );
}

#[test]
fn an_iteration_or_attempt_that_no_node_has_is_a_mistake() {
    let inner = |round: Steps| round.then(shell("c").id("c").retry(2, Duration::ZERO));
    let workflow = Builder::new("w")
        .start(shell("a").id("a"))
        .then(shell("b").id("b").retry(1, Duration::ZERO))
        .loop_(LoopRounds::until("outputs.c.failed").max(3), inner)
        .id("cycles")
        .then(
            each_of("item", vec![json!(1), json!(2)])
                .id("again")
                .retry(1, Duration::ZERO)
                .each(|b| b.then(shell("d").id("d"))),
        )
        .then(each_of("item", vec![json!(1), json!(2)]).id("both").each(|b| b.then(shell("e").id("e"))))
        .then(task_loop().id("tasks").each(|task| task.then(shell("f").id("f"))));
    let spec = drawn(workflow);
    let said = |name: &str| {
        let expect = Expectation { not_ran: vec![name.to_owned()], ..Expectation::default() };
        let problems = expect.check(&spec).into_iter();
        problems
            .map(|problem| format!("{} ({})", problem.text, problem.hint.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    for name in ["a", "b~2", "cycles", "c@3", "c@3~3", "d~2", "d~2@1", "again~2", "e@2", "f@900", "c", "b"] {
        assert_eq!(said(name), Vec::<String>::new(), "{name}");
    }
    for (name, expected) in [
        ("a@2", "`a@2` never runs: `a` is in no loop (write `a`)"),
        ("a~2", "`a~2` never runs: `a` has no `retry` (write `a`)"),
        ("b~1", "`b~1` never runs: the first attempt of `b` has no number (write `b`)"),
        ("b~3", "`b~3` never runs: `b` has at most 2 attempts ()"),
        ("cycles@1", "`cycles@1` never runs: `cycles` is in no loop (write `cycles`)"),
        ("c@4", "`c@4` never runs: `cycles` has at most 3 iterations ()"),
        ("c@0", "`c@0` never runs: the first iteration is 1 ()"),
        ("c@1@1", "`c@1@1` never runs: `c` is in only 1 loop (write `c`)"),
        (
            "c~2",
            "`c~2` never runs: the iteration of `cycles` is missing (write the iteration of `cycles` first: `c@1~2`)",
        ),
        (
            "d@2",
            "`d@2` never runs: the attempt of `again` is missing (write the attempt of `again` first: `d~1@2`)",
        ),
        ("e@3", "`e@3` never runs: `both` has at most 2 iterations ()"),
        (
            "e@two",
            "`e@two` is not the name of an execution (write `work@2` for iteration 2, and `work~2` for the second attempt)",
        ),
    ] {
        assert_eq!(said(name), [expected], "{name}");
    }
}

#[test]
fn all_ways_walk_past_a_block_that_fails_and_may() {
    let workflow = Builder::new("w")
        .start(shell("x").id("first"))
        .then(
            each_of("item", vec![json!(1), json!(2)])
                .join(Join::Some)
                .continue_on_failure()
                .id("both")
                .each(|item| item.then(shell("a {{ item }}").id("a"))),
        )
        .then(shell("mend").when("outputs.both.failed").id("mend"));
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    let rehearsal = rehearse(&drawn(workflow), &options);
    assert_eq!(rehearsal.missed, []);
    let because: Vec<&str> = rehearsal.ways.iter().map(|way| way.because.as_str()).collect();
    assert_eq!(because[0], "if `both` fails");
    let starts = rehearsal.ways[0].acts.iter().filter(|act| act.what == "begins");
    assert_eq!(starts.map(|act| act.path.as_str()).collect::<Vec<_>>(), ["mend"]);
}

#[test]
fn a_reason_that_every_end_has_is_a_mistake() {
    let expects = |reason: &str| Expectation { reason: Some(reason.into()), ..Expectation::default() };
    assert_eq!(expects("agent_failed").check(&fix()), []);
    let problems = expects(" ").check(&fix());
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].text, "`reason` is empty, so every end has it");
}

#[test]
fn finally_is_not_blamed_for_a_node_that_the_run_does_not_reach() {
    let mut spec = drawn(
        Builder::new("w")
            .start(prompt("x").id("a"))
            .then(prompt("y").id("b"))
            .then(shell("z").id("late"))
            .finally(|last| last.then(shell("{{ 1 // 0 }}").id("bye"))),
    );
    spec.budget.turns = Some(1);
    let options = RehearsalOptions { ways: WaysWalked::All, ..RehearsalOptions::default() };
    let rehearsal = rehearse(&spec, &options);
    let missed: Vec<(&str, &str)> =
        rehearsal.missed.iter().map(|missed| (missed.node.as_str(), missed.why.as_str())).collect();
    assert_eq!(missed, [("late", "`b` ends before it: exhausted: the budget of 1 turn is spent")]);
}
