//! Tests for acting on a run from another terminal: showing, answering, cancelling, resuming.

use std::fs;

use serde_json::json;
use windlass_testkit::env::{story, text};

use crate::stage::{Stage, assert_exit, done, lines};

fn asking() -> Stage {
    Stage::playing(json!([
        { "ask": { "question": "Which port?", "options": ["80", "8080"] } },
        done(),
    ]))
}

#[test]
fn a_question_is_shown_answered_from_elsewhere_and_reaches_the_agent() {
    let stage = asking();
    let child = stage.spawn(&["loop", "x", "--driver", "sim", "--on-question", "wait"]);
    let run = stage.newest("waiting");
    let shown = text(&stage.run(&["show", &run]).stdout);
    assert!(
        shown.contains("the agent asks: Which port?") && shown.contains(&format!("windlass answer {run}")),
        "{shown}"
    );
    assert_exit(&stage.run(&["approve", &run]), 2);
    // An agent that answers itself in its own shell is refused.
    let by_agent = stage.command(&["answer", &run, "80"]).env("WINDLASS_RUN", &run).output().unwrap();
    assert_exit(&by_agent, 5);
    assert_exit(&stage.run(&["answer", &run, "80", "--question", "Which host?"]), 2);
    assert_exit(&stage.run(&["answer", &run, "8080", "--question", "Which port?"]), 0);
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 0);
    let folder = stage.json(&["show", &run, "--json"])[0]["data"]["sessions"][0]["transcript"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(fs::read_to_string(folder).unwrap().contains("8080"), "{}", story(&output));
}

#[test]
fn whoever_answers_second_is_told_so() {
    let stage = asking();
    let child = stage.spawn(&["loop", "x", "--driver", "sim", "--on-question", "wait"]);
    let run = stage.newest("waiting");
    assert_exit(&stage.run(&["answer", &run, " "]), 2);
    assert_exit(&stage.run(&["answer", &run, "80"]), 0);
    assert_exit(&stage.run(&["answer", &run, "8080"]), 2);
    assert_exit(&child.wait_with_output().unwrap(), 0);
}

#[test]
fn without_anybody_to_ask_the_run_is_blocked_at_once() {
    let output = asking().run(&["loop", "x", "--driver", "sim", "--on-question", "fail", "--json"]);
    assert_exit(&output, 8);
    let finished = lines(&output).pop().unwrap();
    assert_eq!((&finished["data"]["status"], &finished["data"]["exit_code"]), (&json!("blocked"), &json!(8)));
}

#[test]
fn a_run_in_the_background_is_followed_to_its_end() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, { "say": "bye" }, done()]));
    let output = stage.run(&["loop", "x", "--driver", "sim", "--detach"]);
    assert_exit(&output, 0);
    let run = text(&output.stdout).trim().to_owned();
    let follower = stage.spawn(&["logs", "-f", &run]);
    stage.wait_until_said("hello");
    fs::write(stage.place.repo().join("go"), "").unwrap();
    let output = follower.wait_with_output().unwrap();
    assert_exit(&output, 0);
    let told = text(&output.stdout);
    assert!(
        told.contains("  hello\n") && told.contains("  bye\n") && told.contains("\ncompleted: "),
        "{told}"
    );
}

#[test]
fn a_run_is_cancelled_from_elsewhere() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "hang": true }]));
    let child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    assert_exit(&stage.run(&["cancel", &run]), 0);
    assert_exit(&child.wait_with_output().unwrap(), 130);
    assert_eq!(stage.newest("cancelled"), run);
    assert!(stage.place.processes().is_empty());
}

#[test]
fn a_crashed_run_is_listed_resumed_without_its_name_and_completes() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, done()]));
    let mut child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(text(&stage.run(&["ps"]).stdout).contains("crashed (resumable)"));
    fs::write(stage.place.repo().join("go"), "").unwrap();
    let output = stage.run(&["resume", "--json"]);
    assert_exit(&output, 0);
    let lines = lines(&output);
    assert_eq!(lines[0]["run"], run.as_str());
    assert!(lines.iter().any(|line| line["type"] == "run.resumed"), "{}", story(&output));
    assert_eq!(lines.last().unwrap()["data"]["iterations"], 1);
}

#[test]
fn a_crashed_run_that_is_cancelled_leaves_no_process() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "hang": true }]));
    let mut child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!stage.place.processes().is_empty());
    let output = stage.run(&["cancel", &run]);
    assert_exit(&output, 0);
    assert!(stage.place.processes().is_empty(), "{}", story(&output));
    assert_eq!(stage.newest("cancelled"), run);
}

#[test]
fn how_a_run_ends_is_its_exit_code() {
    let stage = Stage::playing(json!([{ "say": "not yet" }]));
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim", "--max-iterations", "2"]), 9);
    let stage = Stage::playing(json!([{ "hang": true }]));
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim", "--timeout", "300ms"]), 6);
    let stage = Stage::playing(json!([{ "api_error": { "status": 401, "message": "no" } }]));
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim"]), 4);
}
