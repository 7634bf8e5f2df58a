//! Tests for commands without RUN: which run of the folder they take, and how they say so.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::env::{story, text};

use crate::stage::{Stage, assert_exit, done};

/// Starts a run in the background and returns its id.
fn detached(stage: &Stage, flags: &[&str]) -> String {
    let output = stage.run(&[&["loop", "x", "--driver", "sim", "--detach"], flags].concat());
    assert_exit(&output, 0);
    text(&output.stdout).trim().to_owned()
}

fn hanging() -> Stage {
    Stage::playing(json!([{ "say": "hello" }, { "hang": true }]))
}

fn asking() -> Stage {
    Stage::playing(json!([{ "ask": { "question": "Which port?", "options": ["80", "8080"] } }, done()]))
}

/// Waits until the run has an open question.
fn asked(stage: &Stage, run: &str) {
    windlass_testkit::wait::eventually(windlass_testkit::wait::soon(), || {
        let shown = stage.json(&["show", run, "--json"]).pop()?;
        shown["data"]["asks"].as_array().filter(|asks| !asks.is_empty()).map(|_| ())
    });
}

#[test]
fn show_and_logs_take_the_newest_run_of_the_folder_and_name_it() {
    let stage = Stage::playing(json!([{ "say": "hello" }, done()]));
    assert_exit(&stage.run(&["loop", "first", "--driver", "sim"]), 0);
    assert_exit(&stage.run(&["loop", "second", "--driver", "sim"]), 0);
    let newest = stage.newest("completed");
    let said = format!("run {newest} (loop, completed): the newest of this folder\n");
    for args in [&["show"][..], &["logs"], &["replay"], &["show", "--graph"], &["show", "--explain", "loop"]]
    {
        let output = stage.run(args);
        assert_exit(&output, 0);
        assert_eq!(text(&output.stderr), said, "{args:?}");
    }
    assert!(text(&stage.run(&["show"]).stdout).contains("second"));
    let shown: Vec<Value> = stage.json(&["show", "--json"]);
    assert_eq!(shown[0]["run"], newest.as_str());
    let fork = stage.run(&["fork", "--at", "loop"]);
    assert_exit(&fork, 0);
    assert!(text(&fork.stderr).starts_with(&said), "{}", story(&fork));

    let below = stage.place.repo().join("below");
    fs::create_dir(&below).unwrap();
    let output = stage.command(&["show"]).current_dir(below).output().unwrap();
    assert!(
        text(&output.stdout).starts_with("run "),
        "a folder below has the runs above: {}",
        story(&output)
    );
    let output = stage.command(&["show"]).current_dir(stage.place.home()).output().unwrap();
    assert_exit(&output, 2);
    let error = text(&output.stderr);
    assert!(error.starts_with("error: this folder has no runs\n  hint: name a run; "), "{error}");
    assert!(error.contains(&format!("{newest} in ")), "{error}");
}

#[test]
fn diff_and_undo_take_the_newest_run_of_the_folder_and_name_it() {
    let turn = |steps: Value| json!({ "steps": steps });
    let wrote = |name: &str| json!({ "write": { "path": name, "content": "x" } });
    let two = json!([turn(json!([wrote("one"), { "say": "more" }])), turn(json!([wrote("two"), done()]))]);
    let stage = Stage::scripted(json!({ "turns": two }));
    assert_exit(&stage.run(&["loop", "first", "--driver", "sim"]), 0);
    stage.place.write("script.json", json!({ "turns": [turn(json!([wrote("three"), done()]))] }).to_string());
    let first = stage.newest("completed");
    assert_exit(&stage.run(&["loop", "second", "--driver", "sim"]), 0);
    let newest = stage.newest("completed");
    let said = format!("run {newest} (loop, completed): the newest of this folder\n");
    for args in [&["diff"][..], &["diff", "1"], &["diff", "..end"], &["diff", "loop:1", "--stat"]] {
        let output = stage.run(args);
        assert_exit(&output, 0);
        assert_eq!(text(&output.stderr), said, "{args:?}");
        assert!(text(&output.stdout).contains("three") && !text(&output.stdout).contains("two"), "{args:?}");
    }
    // A word that is no turn names a run, and so does the first of two words.
    let of_first = text(&stage.run(&["diff", &first, "2", "--stat"]).stdout);
    assert!(of_first.contains("two") && !of_first.contains("one"), "{of_first}");
    assert!(text(&stage.run(&["diff", &first]).stdout).contains("one"));
    let output = stage.run(&["diff", "nobody"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains("no run `nobody`"), "{}", story(&output));
    let output = stage.run(&["undo"]);
    assert_exit(&output, 0);
    assert_eq!(text(&output.stderr), said);
    let is_there = |name: &str| stage.place.repo().join(name).exists();
    assert_eq!(["one", "two", "three"].map(is_there), [true, true, false]);
    assert_exit(&stage.run(&["undo", "--to", "undo-1"]), 0);
    assert!(is_there("three"));
}

#[test]
fn attach_takes_the_newest_run_with_a_process_and_says_how_to_go_on_with_one_without() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "wait_for": "go" }, done()]));
    let open = detached(&stage, &[]);
    stage.wait_until_said("hello");
    let child = stage.spawn(&["attach", "--json"]);
    fs::write(stage.place.repo().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 0);
    let said = format!("run {open} (loop, running): the newest of this folder that is not over\n");
    assert_eq!(text(&output.stderr), said);
    let output = stage.run(&["attach"]);
    assert_exit(&output, 2);
    let error = text(&output.stderr);
    assert!(error.starts_with("error: no run of this folder is in progress\n"), "{error}");
    stage.place.write("script.json", json!({ "turns": [{ "steps": [{ "say": "no" }] }] }).to_string());
    assert_exit(&stage.run(&["loop", "x", "--driver", "sim", "--max-iterations", "1"]), 9);
    let newest = stage.newest("exhausted");
    let error = text(&stage.run(&["attach"]).stderr);
    assert!(error.contains(&format!("`windlass resume {newest}` continues it")), "{error}");
}

#[test]
fn without_any_run_the_hint_says_how_to_start_one() {
    let stage = Stage::new();
    let verbs: [&[&str]; 8] = [
        &["show"],
        &["logs"],
        &["diff"],
        &["undo"],
        &["attach"],
        &["cancel"],
        &["pause"],
        &["send", "--event", "e"],
    ];
    for args in verbs {
        let output = stage.run(args);
        assert_exit(&output, 2);
        let error = text(&output.stderr);
        assert!(
            error.starts_with("error: this folder has no runs\n  hint: start one: "),
            "{args:?}: {error}"
        );
    }
    let output = stage.run(&["approve"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).starts_with("error: no run of this folder waits for an answer\n  hint: "));
}

#[test]
fn pause_and_cancel_take_the_newest_run_that_is_not_over() {
    let stage = hanging();
    let open = detached(&stage, &[]);
    stage.wait_until_said("hello");
    stage.place.write("script.json", json!({ "turns": [{ "steps": [done()] }] }).to_string());
    assert_exit(&stage.run(&["loop", "second", "--driver", "sim", "--beside"]), 0);
    let said = format!("run {open} (loop, running): the newest of this folder that is not over\n");
    let output = stage.run(&["pause"]);
    assert_exit(&output, 0);
    assert!(text(&output.stderr).starts_with(&said), "{}", story(&output));
    let output = stage.run(&["cancel"]);
    assert_exit(&output, 0);
    assert!(text(&output.stderr).ends_with(&format!("run {open}: cancelled\n")), "{}", story(&output));
    let output = stage.run(&["cancel"]);
    assert_exit(&output, 2);
    let error = text(&output.stderr);
    assert!(
        error.starts_with("error: no run of this folder is in progress\n  hint: the newest, "),
        "{error}"
    );
}

#[test]
fn an_answer_alone_goes_to_the_run_that_waits() {
    let stage = asking();
    let run = detached(&stage, &["--on-question", "wait"]);
    asked(&stage, &run);
    // The run's id, or a part of it, is no answer.
    for typed in [&run, &run[..6]] {
        let output = stage.run(&["answer", typed]);
        assert_exit(&output, 2);
        let expected = format!("error: the answer is missing\n  hint: windlass answer {run} \"TEXT\"\n");
        assert_eq!(text(&output.stderr), expected);
    }
    let output = stage.run(&["answer", "port", "8080"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains("put an answer of several words in quotes"), "{}", story(&output));
    assert_exit(&stage.run(&["answer"]), 2);
    let output = stage.run(&["answer", "8080"]);
    assert_exit(&output, 0);
    let said = format!("run {run} (loop, waiting): it waits for you\nanswered run {run}: ");
    assert!(text(&output.stderr).starts_with(&said), "{}", story(&output));
    stage.newest("completed");
    let output = stage.run(&["answer", &run, "80"]);
    assert_exit(&output, 2);
    let error = text(&output.stderr);
    assert!(error.contains(&format!("run {run} is already over")), "{error}");
}

#[test]
fn if_several_runs_wait_each_is_listed_with_its_command() {
    let stage = asking();
    let runs: Vec<String> =
        (0..2).map(|_| detached(&stage, &["--on-question", "wait", "--beside"])).collect();
    for run in &runs {
        asked(&stage, run);
    }
    let output = stage.run(&["answer", "8080"]);
    assert_exit(&output, 2);
    let error = text(&output.stderr);
    assert!(error.starts_with("error: 2 runs of this folder wait for you: choose one\n"), "{error}");
    for run in &runs {
        assert!(error.contains(&format!("      windlass answer {run} \"TEXT\" --to ")), "{error}");
    }
    assert_exit(&stage.run(&["cancel", &runs[0]]), 0);
    assert_exit(&stage.run(&["answer", "-1", "--question", "Which port?"]), 0);
}

#[test]
fn a_permission_is_granted_to_the_run_that_asks_for_one() {
    let stage = Stage::playing(json!([{ "bash": "touch made" }, done()]));
    stage.place.write("config/windlass/config.toml", "[permissions]\nask = [\"Bash(touch *)\"]\n");
    let run = detached(&stage, &["--on-permission", "ask"]);
    asked(&stage, &run);
    let output = stage.run(&["answer", "yes"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains(&format!("hint: windlass approve {run}")), "{}", story(&output));
    assert_exit(&stage.run(&["approve"]), 0);
    stage.newest("completed");
    assert!(stage.place.repo().join("made").exists());
}

#[test]
fn an_event_goes_to_the_newest_run_that_is_not_over() {
    let stage = Stage::new();
    let document = r#"
name: gate
nodes:
  - { id: w, wait: { event: go } }
  - { id: s, shell: "echo '{{ outputs.w }}' > got" }
"#;
    stage.place.write("repo/.windlass/workflows/gate.yaml", document);
    let start = ["run", "--workflow", "gate", "--detach"];
    for text_sent in [None, Some("looks good")] {
        assert_exit(&stage.run(&start), 0);
        let words: Vec<&str> = ["send", "--event", "go"].into_iter().chain(text_sent).collect();
        let output = stage.run(&words);
        assert_exit(&output, 0);
        assert!(
            text(&output.stderr).contains("the newest of this folder that is not over"),
            "{}",
            story(&output)
        );
        stage.newest("completed");
    }
    assert_eq!(fs::read_to_string(stage.place.repo().join("got")).unwrap(), "looks good\n");
    // A word without blanks names a run.
    let output = stage.run(&["send", "fine", "--event", "go"]);
    assert_exit(&output, 2);
    assert!(text(&output.stderr).contains("no run `fine`"), "{}", story(&output));
}

#[test]
fn cancel_takes_the_interrupted_run_if_no_run_is_in_progress() {
    let stage = Stage::playing(json!([{ "say": "hello" }, { "hang": true }]));
    let child = stage.spawn(&["loop", "x", "--driver", "sim"]);
    let run = stage.wait_until_said("hello");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_exit(&child.wait_with_output().unwrap(), 130);
    let output = stage.run(&["cancel"]);
    assert_exit(&output, 0);
    assert!(text(&output.stderr).contains("the newest interrupted one of this folder"), "{}", story(&output));
    assert_eq!(stage.newest("cancelled"), run);
    assert_exit(&stage.run(&["cancel"]), 2);
}

#[test]
fn a_detached_run_waits_for_its_answers_without_being_told_to() {
    let stage = asking();
    let run = detached(&stage, &[]);
    asked(&stage, &run);
    assert_exit(&stage.run(&["answer", "2"]), 0);
    stage.newest("completed");
    let document = r#"
name: gate
nodes:
  - { id: ok, ask: "Ship it?", choices: [yes, no], default: no }
  - { id: said, shell: "echo {{ outputs.ok }} > said" }
"#;
    stage.place.write("repo/.windlass/workflows/gate.yaml", document);
    assert_exit(&stage.run(&["run", "--workflow", "gate", "--detach"]), 0);
    stage.newest("waiting");
    assert_exit(&stage.run(&["answer", "1"]), 0);
    stage.newest("completed");
    assert_eq!(fs::read_to_string(stage.place.repo().join("said")).unwrap(), "yes\n");
}
