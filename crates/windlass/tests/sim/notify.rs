//! A person is told by a command when a run needs one and when it has ended, and the run does not care how that
//! goes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::place::{LIMIT, Place, done, last_turn, say};

/// A place that notifies by this shell script, which runs in the folder of the run.
fn place(script: &str, turns: Value) -> Place {
    let place = Place::with_settings("[notify]\ncommand = [\"./tell.sh\", \"an argument\"]\n");
    let file = place.sealed.write("config/windlass/tell.sh", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    place.script(json!({"turns": turns}));
    place
}

/// Keeps each notification as a line.
const KEEP: &str = "cat >>$HOME/told";

fn told(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.sealed.home().join("told")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn events(place: &Place) -> Vec<Value> {
    told(place).iter().map(|told| told["event"].clone()).collect()
}

fn asking() -> Value {
    let question = "Which \u{1b}]9;evil\u{7}\ncolour?";
    json!([{"steps": [{"ask": {"question": question, "options": ["Red", "Blue"]}}, done(), say("All done.")]}])
}

#[test]
fn a_person_is_told_how_a_run_ended() {
    let keep =
        "cat >>$HOME/told; env >$HOME/env; echo \"$#:$1:$PWD\" >$HOME/args; echo noise; echo noise >&2";
    let place = place(keep, json!([last_turn()]));
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.env("GITHUB_TOKEN", "secret").env("WINDLASS_MAX_ITERATIONS", "3").env("DISPLAY", ":7");
    let ran = place.spawn(command).end();
    ran.assert_ended(0, "completed", "marker", 1);
    let all = told(&place);
    let [told] = all.as_slice() else { panic!("{all:?}: {ran}") };
    let time = told["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
    let expected = json!({
        "v": 1, "event": "finished", "run": ran.run(), "workflow": "loop", "status": "completed",
        "reason": "marker", "text": told["text"], "next": format!("windlass show {}", ran.run()),
        "folder": place.repo(), "time": time, "node": null, "tool": null,
    });
    assert_eq!(*told, expected);
    assert!(!ran.stderr.contains("noise") && !ran.stdout.contains("noise"), "{ran}");
    let env = fs::read_to_string(place.sealed.home().join("env")).unwrap();
    assert!(env.contains("DISPLAY=:7\n") && !env.contains("GITHUB_TOKEN"), "{env}");
    // The mark by which Windlass knows its own programs is no secret.
    let ours: Vec<&str> = env.lines().filter(|line| line.starts_with("WINDLASS_")).collect();
    assert!(ours.iter().all(|line| line.starts_with("WINDLASS_HOST=")), "{ours:?}");
    let args = fs::read_to_string(place.sealed.home().join("args")).unwrap();
    assert_eq!(args.trim(), format!("1:an argument:{}", place.repo().display()));
}

#[test]
fn a_person_is_told_what_is_asked_and_the_command_that_answers() {
    let place = place(KEEP, asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || told(&place).len() == 1);
    let asked = told(&place).remove(0);
    assert_eq!(
        (&asked["event"], &asked["status"], &asked["reason"]),
        (&json!("question"), &json!("waiting"), &Value::Null)
    );
    assert_eq!(asked["text"], "Which ]9;evil colour?");
    assert_eq!(asked["next"], format!("windlass answer {run} \"TEXT\""));
    assert_eq!(place.go(&["answer", &run, "Blue"]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(events(&place), ["question", "finished"]);
}

#[test]
fn a_person_is_told_of_a_permission_and_of_a_run_that_nobody_could_be_asked_about() {
    let place = place(KEEP, json!([{"steps": [{"bash": "touch made"}, done(), say("All done.")]}]));
    let settings = fs::read_to_string(place.sealed.config().join("windlass/config.toml")).unwrap();
    place.sealed.write(
        "config/windlass/config.toml",
        format!("{settings}[permissions]\nask = [\"Bash(touch *)\"]\n"),
    );
    let mut going = place.start(&["loop", "work", "--json", "--on-permission", "ask"]);
    let run = going.run();
    until(LIMIT, || told(&place).len() == 1);
    let asked = told(&place).remove(0);
    assert_eq!(
        (&asked["event"], &asked["tool"]),
        (&json!("permission"), &json!(crate::place::called("Bash")))
    );
    assert_eq!(asked["next"], format!("windlass approve {run}"));
    assert_eq!(place.go(&["approve", &run]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 1);
    let ran = place.go(&["loop", "work", "--json", "--on-permission", "fail"]);
    assert_eq!(ran.code, 8, "{ran}");
    assert_eq!(events(&place), ["permission", "finished", "blocked"]);
    assert_eq!(told(&place)[2]["reason"], "permission");
}

#[test]
fn a_crash_repeats_no_notification() {
    let place = place(KEEP, asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || told(&place).len() == 1);
    going.signal(Signal::KILL);
    going.end();
    let mut going = place.start(&["resume", &run, "--json"]);
    going.wait_for("run.resumed");
    assert_eq!(place.go(&["answer", &run, "Red"]).code, 0);
    going.end().assert_ended(0, "completed", "marker", 1);
    assert_eq!(events(&place), ["question", "finished"]);
}

#[test]
fn a_command_that_hangs_does_not_hold_the_run_up() {
    let place = place("touch $HOME/begun; exec sleep 600", asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || place.sealed.home().join("begun").exists());
    let begun = Instant::now();
    assert_eq!(place.go(&["answer", &run, "Red"]).code, 0);
    let finished = going.wait_for("run.finished");
    assert_eq!(finished["status"], "completed");
    // The command would be ended after ten seconds.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn a_command_that_fails_is_one_warning() {
    let place = place("cat >>$HOME/told; echo 'no bus' >&2; exit 3", asking());
    let mut going = place.start(&["loop", "work", "--json", "--on-question", "wait"]);
    let run = going.run();
    until(LIMIT, || going.errors().contains("nobody was notified"));
    assert_eq!(place.go(&["answer", &run, "Red"]).code, 0);
    let ran = going.end();
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(events(&place), ["question", "finished"]);
    assert_eq!(ran.stderr.matches("nobody was notified").count(), 1, "{ran}");
    assert!(ran.stderr.contains("ended with exit code 3: no bus"), "{ran}");
    // The only failure may be that at the end.
    let ran = place.go(&["loop", "work", "--json", "--on-question", "empty"]);
    assert_eq!((ran.code, ran.stderr.matches("nobody was notified").count()), (0, 1), "{ran}");
}

#[test]
fn a_program_that_is_missing_is_a_warning_before_the_run() {
    let place = Place::with_settings("[notify]\ncommand = [\"no-such-program\"]\n");
    place.script(json!({"turns": [last_turn()]}));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(
        ran.stderr.matches("`no-such-program` of `notify.command` is not installed").count(),
        1,
        "{ran}"
    );
}

#[test]
fn a_run_in_the_background_notifies_too() {
    let place = place(KEEP, asking());
    let ran = place.go(&["loop", "work", "--detach", "--on-question", "wait"]);
    let run = ran.stdout.trim().to_owned();
    until(LIMIT, || told(&place).len() == 1);
    assert_eq!(place.go(&["answer", &run, "Red"]).code, 0);
    until(LIMIT, || told(&place).len() == 2);
    assert_eq!(events(&place), ["question", "finished"]);
    assert_eq!(told(&place)[1]["run"], run.as_str());
}

#[test]
fn of_runs_within_a_run_the_questions_are_told_and_only_the_end_of_the_outermost() {
    let place = place(KEEP, json!([last_turn()]));
    let inner = "name: inner\nnodes:\n  - { id: ship, ask: 'Ship it?', choices: ['yes', 'no'] }\n";
    place.sealed.write("repo/.windlass/workflows/inner.yaml", inner);
    place.sealed.write(
        "repo/.windlass/workflows/outer.yaml",
        "name: outer\nnodes:\n  - { id: call, workflow: inner }\n",
    );
    let mut going = place.start(&["run", "x", "--workflow", "outer", "--json", "--on-question", "wait"]);
    let outer = going.run();
    until(LIMIT, || told(&place).len() == 1);
    let asked = told(&place).remove(0);
    let run = asked["run"].as_str().unwrap();
    assert_eq!(
        (&asked["event"], &asked["workflow"], &asked["node"]),
        (&json!("question"), &json!("inner"), &json!("ship"))
    );
    assert_ne!(run, outer);
    assert_eq!(place.go(&["answer", run, "yes"]).code, 0);
    let ran = going.end();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(events(&place), ["question", "finished"]);
    assert_eq!(told(&place)[1]["run"], outer.as_str());
}

#[test]
fn a_repository_notifies_by_a_program_of_its_own_only_if_it_is_trusted() {
    let place = Place::playing(json!([last_turn()]));
    let file = place.sealed.write("repo/.windlass/tell.sh", format!("#!/bin/sh\n{KEEP}\n"));
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    place.sealed.write("repo/.windlass/config.toml", "[notify]\ncommand = [\"./tell.sh\"]\n");
    place.go(&["loop", "work", "--json"]).assert_refused(5, &["`notify.command` needs your trust"]);
    assert_eq!(events(&place), [""; 0]);
    place.go(&["loop", "work", "--json", "--trust"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(events(&place), ["finished"]);
}
