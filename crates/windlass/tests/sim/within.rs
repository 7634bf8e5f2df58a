//! Runs within runs as people see them: who is told, how the outer one stands, what it says at its end.

use crate::place::{LIMIT, Place, Ran};
use serde_json::Value;
use windlass_testkit::wait::until;

/// A place with documents; every agent says that it is fine.
fn place(documents: &[&str]) -> Place {
    Place::with_documents(documents)
}

fn kinds(ran: &Ran) -> Vec<String> {
    let mut kinds: Vec<String> =
        ran.lines.iter().map(|line| format!("{} {}", line["run"], line["type"])).collect();
    kinds.sort();
    kinds
}

fn outer(place: &Place, run: &str) -> Value {
    place.ps().into_iter().find(|line| line["run"] == run).expect("the run is listed")["data"].clone()
}

#[test]
fn every_run_below_is_told_as_it_begins_however_deep() {
    let one = "name: l1\nnodes:\n  - { id: a, workflow: l2 }\n";
    let two = "name: l2\nnodes:\n  - { id: a2, workflow: l3 }\n";
    let three = "name: l3\nnodes:\n  - { id: a3, prompt: work }\n";
    let place = place(&[one, two, three]);
    let ran = place.go(&["run", "--workflow", "l1", "--json"]);
    assert_eq!(ran.lines.iter().filter(|line| line["type"] == "run.child").count(), 2, "{ran}");
    let again = place.go(&["logs", ran.run(), "--json"]);
    assert_eq!(kinds(&again), kinds(&ran));
    let told = place.go(&["run", "--workflow", "l1"]).stdout;
    assert!(told.contains("of `l3`: windlass logs"), "{told}");
    assert!(told.lines().any(|line| line.contains("[a]") && line.contains("[a2]")), "{told}");
}

#[test]
fn a_run_waits_when_only_a_run_within_it_asks_and_the_list_says_what_it_spent() {
    let inner = "name: inner\nnodes:\n  - { id: work, prompt: work }\n  - { id: kq, ask: Which? }\n";
    let document = "name: outer\nnodes:\n  - { id: sub, workflow: inner }\n";
    let place = place(&[inner, document]);
    let mut going = place.start(&["run", "--workflow", "outer", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    until(LIMIT, || outer(&place, &run)["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0));
    assert_eq!(outer(&place, &run)["status"], "waiting");
    let shown = place.go(&["show", &run, "--json"]);
    assert_eq!(shown.lines[0]["data"]["status"], "waiting");
    assert_eq!(place.go(&["pause", &run]).code, 0);
    assert_eq!(outer(&place, &run)["status"], "waiting", "nothing works below");
    assert_eq!(place.go(&["resume", &run]).code, 0);
    let lost = ["asks for text", "windlass answer", "\"not that\""];
    place.go(&["approve", &run, "--deny", "not that"]).assert_refused(2, &lost);
    assert_eq!(place.go(&["answer", &run, "not that"]).code, 0);
    assert_eq!(going.end().code, 0);
}

#[test]
fn why_a_run_within_it_was_cancelled_is_said_in_words() {
    let inner = "name: inner\nnodes:\n  - { id: kq, ask: Which? }\n";
    let document = "name: outer\nnodes:\n  - { id: sub, workflow: inner }\n";
    let place = place(&[inner, document]);
    let mut going = place.start(&["run", "--workflow", "outer", "--json", "--on-question", "wait"]);
    let child = going.wait_for("run.child")["child"].as_str().unwrap().to_owned();
    going.wait_for("run.waiting");
    assert_eq!(place.go(&["cancel", &child]).code, 0);
    let ran = going.end();
    let words = format!("run {child} was cancelled: by the user");
    assert!(ran.stdout.contains(&words), "{ran}");
}

#[test]
fn an_event_for_a_run_that_has_not_begun_is_refused_with_where_it_belongs() {
    let inner = "name: inner\nnodes:\n  - { id: w, wait: { event: z } }\n";
    let document = "name: outer\nnodes:\n  - { id: first, ask: Ready? }\n  - { id: sub, workflow: inner }\n";
    let place = place(&[inner, document]);
    let mut going = place.start(&["run", "--workflow", "outer", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    let early = place.go(&["send", &run, "--event", "z"]);
    early.assert_refused(2, &["no node of run", "a run of `inner` will", "once that run has started"]);
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
    until(LIMIT, || place.go(&["send", &run, "--event", "z"]).code == 0);
    assert_eq!(going.end().code, 0);
}

#[test]
fn a_fork_in_a_repository_does_not_say_that_there_is_none() {
    let inner = "name: inner\nnodes:\n  - { id: work, prompt: work }\n";
    let document = "name: outer\nnodes:\n  - { id: k1, workflow: inner }\n  - { id: k2, workflow: inner }\n";
    let place = place(&[inner, document]);
    let ran = place.go(&["run", "--workflow", "outer", "--json"]);
    let forked = place.go(&["fork", ran.run(), "--at", "k2"]);
    assert_eq!(forked.code, 0, "{forked}");
    assert!(!forked.stdout.contains("not a git repository"), "{forked}");
}
