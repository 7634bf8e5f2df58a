//! Signals: Ctrl-C once and twice, SIGTERM, and a terminal that is closed.

use std::fs;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_testkit::env::{story, text};

use crate::stage::{Stage, assert_exit, done};

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn assert_clean(stage: &Stage, run: &str, output: &Output) {
    assert_exit(output, 130);
    assert!(stage.place.processes().is_empty(), "{}", story(output));
    let shown = &stage.json(&["show", run, "--json"])[0]["data"];
    assert_eq!(shown["outcome"]["status"], "interrupted");
    let tracker = fs::read_to_string(shown["tracker"].as_str().unwrap()).unwrap();
    assert!(tracker.contains("active: false"), "{tracker}");
}

#[test]
fn one_interrupt_stops_the_run_cleanly() {
    for signal in [Signal::INT, Signal::TERM] {
        let stage = Stage::playing(json!([{ "say": "hello" }, { "hang": true }]));
        let child = stage.spawn(&["loop", "x", "--driver", "sim"]);
        let run = stage.wait_until_said("hello");
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_clean(&stage, &run, &output);
        assert!(text(&output.stdout).contains("interrupted: by the user"), "{}", story(&output));
    }
}

#[test]
fn a_second_interrupt_ends_at_once_what_does_not_want_to_end() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "hang": { "ignore_sigterm": true } }]));
    stage.place.write("config/windlass/config.toml", "grace = \"60s\"\n");
    let child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    send(&child, Signal::INT);
    stage.wait_until_said("interrupting");
    let begun = Instant::now();
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{}", story(&output));
    assert_clean(&stage, &run, &output);
}

#[test]
fn a_closed_terminal_loses_nothing() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, done()]));
    let child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    send(&child, Signal::HUP);
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 130);
    assert!(text(&output.stderr).contains(&format!("windlass resume {run}")), "{}", story(&output));
    assert!(!stage.place.processes().is_empty(), "the agent was ended");
    fs::write(stage.place.repo().join("go"), "").unwrap();
    assert_exit(&stage.run(&["resume", &run]), 0);
    assert_eq!(stage.json(&["show", &run, "--json"])[0]["data"]["sessions"].as_array().unwrap().len(), 1);
}
