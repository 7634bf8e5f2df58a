//! A person leaves a run in the background, and the process that they watched, or the one that takes over, dies at
//! every point. The run is never lost and never has two owners: its agent works on, and no turn is done twice.
//! A killed `windlass attach` changes nothing.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;
use windlass_testkit::{eventually, require_program};

use crate::kill_sweep::run_of;
use crate::place::{LIMIT, Place, done, say};

/// The number of crash points after which a sweep stops. Far more than there are.
const MOST: u64 = 100;

fn adds(line: &str) -> Value {
    json!({"append": {"path": "work.txt", "content": format!("{line}\n")}})
}

/// Two turns, the first of which waits in its middle.
fn place() -> Place {
    let sign = json!({"write": {"path": "sign", "content": "x"}});
    let first = json!({"steps": [say("here"), sign, {"wait_for": "go"}, adds("1"), say("More.")]});
    Place::playing(json!([first, {"steps": [adds("2"), done(), say("Done.")]}]))
}

/// `windlass` at a terminal, with keys from a pipe.
fn at_terminal(place: &Place, script: &Path, arguments: &str) -> Command {
    let windlass = place.windlass(&[]);
    let mut shell = place.sealed.command(script);
    let line = format!("stty cols 100 rows 40; exec {} {arguments}", env!("CARGO_BIN_EXE_windlass"));
    shell.args(["-qefc", &line, "/dev/null"]).stdin(Stdio::piped());
    shell.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

fn status(place: &Place) -> String {
    place.ps()[0]["data"]["status"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the run is over, or until nobody runs it any more. Returns whether it is over.
fn is_over(place: &Place) -> bool {
    let is_quiet = |process: &windlass_testkit::procs::Proc| process.command.contains("--quiet");
    eventually(LIMIT, || {
        let has_background = place.sealed.processes().iter().any(is_quiet);
        match status(place).as_str() {
            "completed" => Some(true),
            "crashed" if !has_background => Some(false),
            "running" | "crashed" => None,
            other => panic!("the run is {other}"),
        }
    })
}

/// Whom the sweep kills, and what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The process at the terminal.
    Watched,
    /// The same, while another person resumes the run at once.
    WatchedAndResumed,
    /// The process that takes over.
    Background,
}

/// Leaves a run, with a death in it. Returns whether somebody died.
fn play(script: &Path, victim: Victim, point: u64) -> bool {
    let place = place();
    let mut command = at_terminal(&place, script, "loop work");
    let word = if victim == Victim::Background { "background" } else { "windlass" };
    command.env("WINDLASS_CRASH_AT", format!("{word}:{point}"));
    let mut going = place.spawn(command);
    let sign = place.repo().join("sign");
    let out = going.output_file().to_owned();
    let shows_keys = || fs::read_to_string(&out).is_ok_and(|text| text.contains("d background"));
    if going.wait_for_end_or(|| sign.exists() && shows_keys()) {
        going.types(b"d");
    }
    let ran = going.end();
    let has_left = ran.code == 0;
    assert!(!has_left || ran.stdout.contains("stays in the background"), "{victim:?} {point}: {ran}");
    fs::write(place.repo().join("go"), "").unwrap();
    let Some(run) = run_of(&place) else { return true };
    if victim == Victim::WatchedAndResumed {
        let other = place.go(&["resume", &run, "--json"]);
        let is_refused = ["another process", "already over"].iter().any(|why| other.stderr.contains(why));
        assert!(other.code == 0 || is_refused, "{victim:?} {point}: {ran}\n--- resumed\n{other}");
    }
    let was_lost = !is_over(&place);
    if was_lost {
        let again = place.go(&["resume", &run, "--json"]);
        assert_eq!(again.code, 0, "{victim:?} {point}: {ran}\n--- again\n{again}");
    }
    assert_eq!(status(&place), "completed", "{victim:?} {point}: {ran}");
    assert_eq!(place.file("work.txt"), "1\n2\n", "{victim:?} {point}: {ran}");
    let turns: Vec<Value> = place.requests().iter().map(|request| request["iteration"].clone()).collect();
    assert_eq!(turns, [1, 2], "{victim:?} {point}: the agent is adopted and no turn repeated");
    assert_eq!(place.ps().len(), 1);
    let replayed = place.go(&["replay", &run]);
    assert!(replayed.stdout.contains("every decision is the same"), "{victim:?} {point}: {replayed}");
    place.assert_nothing_is_left();
    if victim == Victim::Background { was_lost } else { !has_left }
}

fn sweep(script: &Path, victim: Victim) {
    let reached = (1..MOST).find(|point| !play(script, victim, *point)).expect("it comes to its end") - 1;
    println!("sweep: leaving a run, {victim:?}: {reached} points");
    assert!(reached > 5, "{reached} points");
}

#[test]
fn windlass_may_die_at_any_point_while_a_person_leaves_a_run() {
    sweep(&require_program!("script"), Victim::Watched);
}

#[test]
fn windlass_may_die_while_a_person_leaves_a_run_and_another_resumes_it() {
    sweep(&require_program!("script"), Victim::WatchedAndResumed);
}

#[test]
fn the_process_that_takes_over_may_die_at_any_point() {
    sweep(&require_program!("script"), Victim::Background);
}

#[test]
fn a_killed_attach_changes_nothing() {
    let gate = |number: usize| json!({"wait_for": format!("go{number}")});
    let gates = 6;
    let mut steps = vec![say("here")];
    for number in 0..gates {
        steps.extend([gate(number), adds(&number.to_string()), say(&format!("said {number}"))]);
    }
    steps.push(done());
    let place = Place::playing(json!([{ "steps": steps }]));
    let started = place.go(&["loop", "work", "--detach"]);
    assert_eq!(started.code, 0, "{started}");
    for number in 0..gates {
        let attached = place.start(&["attach", "--json"]);
        // At once, then when it has shown the run, then after each step of the agent.
        until(LIMIT, || attached.output().lines().count() >= number.min(1));
        if number > 1 {
            fs::write(place.repo().join(format!("go{}", number - 1)), "").unwrap();
            until(LIMIT, || attached.output().contains(&format!("said {}", number - 1)));
        }
        attached.signal(Signal::KILL);
        assert!(attached.end().code < 0);
        assert_eq!(status(&place), "running", "killed as number {number}");
        if number == 0 {
            fs::write(place.repo().join("go0"), "").unwrap();
        }
    }
    fs::write(place.repo().join(format!("go{}", gates - 1)), "").unwrap();
    until(LIMIT, || status(&place) == "completed");
    let lines: String = (0..gates).map(|number| format!("{number}\n")).collect();
    assert_eq!(place.file("work.txt"), lines);
    assert_eq!(place.requests().len(), 1);
    place.assert_nothing_is_left();
}

#[test]
fn a_run_that_is_left_twice_is_one_run_with_one_agent() {
    let script = require_program!("script");
    let place = place();
    for arguments in ["loop work", "attach"] {
        let mut going = place.spawn(at_terminal(&place, &script, arguments));
        let out = going.output_file().to_owned();
        let shows_keys = || fs::read_to_string(&out).is_ok_and(|text| text.contains("d background"));
        assert!(going.wait_for_end_or(|| place.repo().join("sign").exists() && shows_keys()));
        going.types(b"d");
        let ran = going.end();
        assert!(ran.code == 0 && ran.stdout.contains("stays in the background"), "{arguments}: {ran}");
        // `attach` takes a run with a live process.
        until(LIMIT, || status(&place) == "running");
    }
    fs::write(place.repo().join("go"), "").unwrap();
    until(LIMIT, || status(&place) == "completed");
    assert_eq!((place.file("work.txt").as_str(), place.requests().len()), ("1\n2\n", 2));
    let run = run_of(&place).unwrap();
    let replayed = place.go(&["replay", &run]);
    assert!(replayed.stdout.contains("every decision is the same"), "{replayed}");
    place.assert_nothing_is_left();
}
