//! Tests for the output of commands: its format, its destination, and failures to write it.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::json;
use windlass_testkit::env::{story, text, untimed};
use windlass_testkit::require_program;
use windlass_testkit::wait::{soon, until};

use crate::stage::{Stage, assert_exit, done, lines};

const LOOP: &[&str] = &["loop", "do it", "--driver", "sim"];

fn evil() -> Stage {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2Jhello\r\u{9b}31m\u{202e}";
    Stage::playing(json!([
        { "say": evil },
        { "bash": format!("echo '{evil}'") },
        { "tool": { "name": evil, "input": { "x": evil } } },
        done(),
        { "say": evil },
    ]))
}

#[test]
fn without_a_terminal_nothing_ever_prints_an_escape() {
    let stage = evil();
    let mut outputs = vec![stage.run(&[
        "loop",
        "in\u{1b}[1mput",
        "--driver",
        "sim",
        "--check",
        "printf '\\033[1m'; false",
        "--max-iterations",
        "1",
    ])];
    let run = stage.newest("exhausted");
    for args in [
        &["ps"][..],
        &["show", &run],
        &["logs", &run, "--show-thinking"],
        &["logs", &run, "--json"],
        &["config", "show"],
        &["doctor"],
    ] {
        outputs.push(stage.run(args));
    }
    for output in &outputs {
        for shown in [text(&output.stdout), text(&output.stderr)] {
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{}", story(output));
        }
    }
    assert!(text(&outputs[0].stdout).contains("^[]0;owned^G^[[2Jhello"), "{}", story(&outputs[0]));
}

#[test]
fn on_a_terminal_there_is_a_progress_line_and_no_color_means_none() {
    let script = require_program!("script");
    let stage = Stage::playing(json!([{ "say": "hello" }, done()]));
    let inner = format!("{} loop x --driver sim", windlass_testkit::windlass_bin().display());
    let on_terminal = |no_color: &str| {
        let mut command = stage.place.command(&script);
        command.args(["-qec", &inner, "/dev/null"]).stdin(Stdio::null()).env("NO_COLOR", no_color);
        command.env("WINDLASS_SIM_SCRIPT", stage.place.root().join("script.json"));
        let output = command.output().unwrap();
        assert_exit(&output, 0);
        text(&output.stdout)
    };
    let coloured = on_terminal("");
    assert!(coloured.contains("\r\u{1b}[K") && coloured.contains("\u{1b}[32m"), "{coloured:?}");
    let plain = on_terminal("1");
    assert!(plain.contains("\r\u{1b}[K"), "{plain:?}");
    assert!(!plain.replace("\u{1b}[K", "").contains('\u{1b}'), "{plain:?}");
}

#[test]
fn a_run_is_told_in_json_line_by_line() {
    let stage = Stage::playing(json!([{ "say": "hello" }, done()]));
    let output = stage.run(&["loop", "do it", "--driver", "sim", "--json", "--check", "ok=true"]);
    assert_exit(&output, 0);
    let lines = lines(&output);
    for line in &lines {
        assert_eq!(line["v"], 1);
        assert_eq!(line["run"], lines[0]["run"]);
        let stamp = line["ts"].as_str().unwrap();
        assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{stamp}");
    }
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"run.started"), Some(&"run.finished")));
    for kind in ["session.started", "session.event", "hook.decision", "iteration.finished"] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(lines[0]["data"]["input"], "do it");
    let finished = &lines.last().unwrap()["data"];
    assert_eq!(
        (&finished["status"], &finished["reason"], &finished["exit_code"]),
        (&json!("completed"), &json!("marker"), &json!(0))
    );
}

#[test]
fn the_logs_tell_a_run_as_it_was_told_live() {
    let stage = Stage::scripted(json!({ "turns": [
        { "steps": [{ "say": "first" }, { "bash": "echo one" }] },
        { "steps": [{ "say": "second" }, done()] },
    ] }));
    let live = stage.run(LOOP);
    assert_exit(&live, 0);
    let run = stage.newest("completed");
    let timed = text(&stage.run(&["logs", &run]).stdout);
    let is_time = |line: &str| line.get(..9).is_some_and(|time| time.matches(':').count() == 2);
    let heads = timed.lines().filter(|line| line.contains("iteration "));
    assert!(heads.clone().count() == 2 && heads.clone().all(is_time), "each line has its time: {timed}");
    let (told, live) = (untimed(&timed), text(&live.stdout));
    // The end says how long it took and how to see more, which differs.
    let until_the_end = |text: &str| text.split("\n\ncompleted:").next().unwrap().to_owned();
    assert_eq!(until_the_end(&told), until_the_end(&live));
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let stage = Stage::playing(json!([{ "say": "hello" }, done(), { "say": "bye" }]));
    let mut child = stage.spawn(LOOP);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_exit(&output, 0);
    assert!(output.stderr.is_empty(), "{}", story(&output));
    stage.newest("completed");
}

#[test]
fn output_that_cannot_be_written_is_said_and_the_run_is_done() {
    let stage = Stage::playing(json!([done()]));
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let output = stage.command(LOOP).stdout(full()).stderr(Stdio::piped()).output().unwrap();
    assert_exit(&output, 7);
    assert!(text(&output.stderr).contains("hint: the run has ended"), "{}", story(&output));
    stage.newest("completed");
    for args in [&["ps"][..], &["--help"], &["doctor"]] {
        assert_exit(&stage.command(args).stdout(full()).output().unwrap(), 7);
    }
}

#[test]
fn the_last_message_is_written_to_a_file() {
    let stage = Stage::playing(json!([done(), { "say": "All is well.\n\nReally." }]));
    let file = stage.place.root().join("last.txt");
    let output =
        stage.run(&["loop", "x", "--driver", "sim", "--output-last-message", file.to_str().unwrap()]);
    assert_exit(&output, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "All is well.\n\nReally.");
}

#[test]
fn thoughts_are_shown_when_asked_for() {
    let stage = Stage::playing(json!([{ "think": "deep thought" }, done()]));
    assert!(!text(&stage.run(LOOP).stdout).contains("deep thought"));
    let run = stage.newest("completed");
    assert!(!text(&stage.run(&["logs", &run]).stdout).contains("deep thought"));
    assert!(text(&stage.run(&["logs", &run, "--show-thinking"]).stdout).contains("~ deep thought"));
    let output = stage.run(&["loop", "x", "--driver", "sim", "--show-thinking", "--json"]);
    assert!(lines(&output).iter().any(|line| line["data"]["kind"] == "thinking"), "{}", story(&output));
}

#[test]
fn a_dry_run_shows_the_plan_and_does_nothing() {
    let stage = Stage::new();
    let output = stage.run(&["loop", "a\nb", "--driver", "sim", "--dry-run", "--check", "lint=make lint"]);
    assert_exit(&output, 0);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("check       lint: make lint\n") && shown.contains("prompt\n  a\n  b\n"),
        "{shown}"
    );
    let planned = &stage.json(&["loop", "x", "--driver", "sim", "--dry-run", "--json"])[0];
    assert_eq!((&planned["type"], &planned["data"]["input"]), (&json!("run.planned"), &json!("x")));
    assert!(stage.json(&["ps", "--json"]).is_empty());
}

#[test]
fn the_input_arrives_byte_for_byte() {
    let stage = Stage::playing(json!([done()]));
    let odd = "--help {input} $ARGUMENTS {{x}} \"q\" 'q'\n\n  end \n";
    let started = lines(&stage.run_with_input(&["loop", "-", "--driver", "sim", "--json"], odd));
    assert_eq!(started[0]["data"]["input"], odd);
    for odd in ["-h is not help", "--version 2", "-- x", "-3"] {
        let planned = stage.json(&["loop", odd, "--driver", "sim", "--dry-run", "--json"]);
        assert_eq!(planned[0]["data"]["input"], odd);
    }
}

#[test]
fn other_verbs_speak_json_too() {
    let stage = Stage::playing(json!([done()]));
    assert_exit(&stage.run(LOOP), 0);
    let run = stage.newest("completed");
    for args in [
        &["ps", "--json"][..],
        &["show", &run, "--json"],
        &["workflow", "list", "--json"],
        &["workflow", "check", "--json"],
        &["config", "show", "--json"],
        &["doctor", "--json"],
    ] {
        let lines = stage.json(args);
        assert!(
            !lines.is_empty() && lines.iter().all(|line| line["v"] == 1 && line["type"].is_string()),
            "{args:?}"
        );
    }
    assert!(stage.json(&["plugin", "list", "--json"]).is_empty());
}

#[test]
fn a_reader_that_stalls_does_not_hold_up_the_agent() {
    let stage = Stage::playing(json!([
        { "say": "x".repeat(300_000) },
        { "bash": "touch went-on" },
        done(),
    ]));
    let child = stage.spawn(&[LOOP, &["--json"]].concat());
    // Nobody reads its pipe, which holds far less than what was said.
    until(soon(), || stage.place.repo().join("went-on").exists());
    stage.newest("completed");
    assert_exit(&child.wait_with_output().unwrap(), 0);
}

#[test]
fn a_line_of_five_megabytes_is_shown_in_a_moment() {
    let stage = Stage::playing(json!([{ "say": "x".repeat(5_000_000) }, done()]));
    let output = stage.run(LOOP);
    assert_exit(&output, 0);
    assert!(text(&output.stdout).contains("more lines"), "{}", story(&output));
}

#[test]
fn a_check_that_prints_for_ever_is_ended_and_said_so() {
    let stage = Stage::playing(json!([done()]));
    let args = ["loop", "x", "--driver", "sim", "--check", "flood=yes flood", "--max-iterations", "1"];
    let output = stage.run(&args);
    assert_exit(&output, 9);
    let shown = text(&output.stdout);
    assert!(shown.contains("flood: printed more than 64 MB and was ended\n"), "{shown}");
    let run = stage.newest("exhausted");
    let folder = stage.place.state().join("windlass/runs").join(run);
    let sizes = sizes_of(&folder);
    assert!(sizes.iter().all(|size| *size <= 64 << 20), "{sizes:?}");
    assert!(sizes.contains(&(64 << 20)), "{sizes:?}");
}

/// The sizes of all files below a folder.
fn sizes_of(folder: &std::path::Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sizes_of(&path) } else { vec![path.metadata().unwrap().len()] })
        .collect()
}

#[test]
fn what_was_uncommitted_before_is_not_said_to_be_changed() {
    let edit = |name: &str| json!({ "write": { "path": name, "content": "by the agent\n" } });
    let stage = Stage::playing(json!([edit("new"), edit("touched"), edit("mine"), done()]));
    let repo = stage.place.repo();
    for name in ["README.md", "mine", "left", "li[s]ted"] {
        fs::write(repo.join(name), "mine\n").unwrap();
    }
    stage.place.git(["add", "li[s]ted"]);
    let output = stage.run(LOOP);
    assert_exit(&output, 0);
    let shown = text(&output.stdout);
    let (_, changes) = shown.split_once("files changed since the run started").unwrap();
    for name in ["new", "touched", "mine"] {
        let lines = changes.lines().filter(|line| line.trim_start().starts_with(&format!("{name} ")));
        assert_eq!(lines.count(), 1, "{name} is listed once: {shown}");
    }
    // Of a file that was uncommitted before, only what the run changed counts.
    assert!(changes.contains("mine    | 2 +-") && changes.contains("3 files changed"), "{shown}");
    assert!(["README", "left", "li[s]ted"].iter().all(|name| !changes.contains(name)), "{shown}");
}
