//! Two runs in one folder, on the `sim` driver: the second is refused if both would write.

use std::fs;

use crate::place::{LIMIT, Place, done, say};
use rustix::process::Signal;
use serde_json::json;
use windlass_testkit::wait::until;

/// A place whose agent waits for the file `go`.
fn place() -> Place {
    Place::playing(json!([{"steps": [{"bash": "touch begun"}, {"wait_for": "go"}, done(), say("Done.")]}]))
}

/// Waits until the agent of the first run works. Later agents wait for nothing.
fn first_works(place: &Place) {
    place.file_exists("begun");
    place.script(json!({"turns": [{"steps": [done(), say("Done.")]}]}));
}

#[test]
fn a_second_run_that_would_write_is_refused_and_says_what_to_do() {
    let place = place();
    let mut going = place.start(&["loop", "one", "--json"]);
    let run = going.run();
    first_works(&place);
    let refused = place.go(&["loop", "two"]);
    refused.assert_refused(2, &[&format!("run {run} works in"), "both runs would write there"]);
    for word in [&format!("windlass attach {run}"), "--worktree", "--beside"] {
        assert!(refused.stderr.contains(word), "{word}: {refused}");
    }
    place.go(&["loop", "two", "--detach"]).assert_refused(2, &["both runs would write"]);
    // Also in a folder inside it.
    fs::create_dir(place.repo().join("sub")).unwrap();
    let mut command = place.windlass(&["loop", "two"]);
    command.current_dir(place.repo().join("sub"));
    place.spawn(command).end().assert_refused(2, &["both runs would write"]);
    assert_eq!(place.ps().len(), 1, "nothing of them is recorded");
    assert_eq!(place.go(&["loop", "two", "--beside"]).code, 0);
    assert_eq!(place.go(&["loop", "three", "--worktree"]).code, 0);
    fs::write(place.repo().join("go"), "").unwrap();
    assert_eq!(going.end().code, 0);
    assert_eq!(place.go(&["loop", "four"]).code, 0, "the folder is free again");
}

#[test]
fn a_run_that_only_reads_may_run_beside() {
    let place = place();
    let agent = "---\nname: looker\ndescription: Looks.\ntools: Read, Grep\n---\nLook.\n";
    place.sealed.write("repo/.claude/agents/looker.md", agent);
    let mut going = place.start(&["loop", "one", "--json"]);
    going.run();
    first_works(&place);
    let beside = place.go(&["run", "--agent", "looker", "look"]);
    assert!(!beside.stderr.contains("would write"), "{beside}");
    fs::write(place.repo().join("go"), "").unwrap();
    going.end();
}

#[test]
fn the_agent_of_a_crashed_run_counts_too() {
    let place = place();
    let mut going = place.start(&["loop", "one", "--json"]);
    let run = going.run();
    first_works(&place);
    going.signal(Signal::KILL);
    going.end();
    place.go(&["loop", "two"]).assert_refused(2, &[&run, &format!("windlass resume {run}")]);
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    assert_eq!(place.go(&["loop", "two"]).code, 0);
}

#[test]
fn of_runs_that_start_at_once_only_one_does() {
    let place = Place::playing(
        json!([{"steps": [{"bash": "touch begun"}, {"wait_for": "go"}, done(), say("Done.")]}]),
    );
    let all: Vec<_> = (0..4).map(|_| place.start(&["loop", "x", "--detach"])).collect();
    let codes: Vec<i32> = all.into_iter().map(|going| going.end().code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(place.ps().len(), 1);
    fs::write(place.repo().join("go"), "").unwrap();
    until(LIMIT, || place.ps()[0]["data"]["status"] == "completed");
}

#[test]
fn a_run_that_continues_beside_another_is_refused_too() {
    let place = place();
    let mut first = place.start(&["loop", "one", "--json"]);
    let run = first.run();
    place.file_exists("begun");
    first.signal(Signal::INT);
    assert_eq!(first.end().code, 130);
    fs::remove_file(place.repo().join("begun")).unwrap();
    let second = place.start(&["loop", "two", "--json"]);
    first_works(&place);
    for args in [&["resume", &run][..], &["resume", &run, "--detach"]] {
        place.go(args).assert_refused(2, &["both runs would write there", "--beside works here anyway"]);
    }
    assert_eq!(place.go(&["resume", &run, "--beside"]).code, 0);
    fs::write(place.repo().join("go"), "").unwrap();
    assert_eq!(second.end().code, 0);
}

#[test]
fn uncommitted_files_are_told_at_the_start_in_one_line() {
    let place = Place::playing(json!([{"steps": [done(), say("Done.")]}]));
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        fs::write(place.repo().join(name), "x").unwrap();
    }
    let ran = place.go(&["loop", "x"]);
    let line = "the folder has 4 uncommitted files: a.txt, b.txt, c.txt, ...";
    assert_eq!(ran.stderr.matches(line).count(), 1, "{ran}");
    assert!(ran.stderr.lines().all(|line| line.len() <= 80), "{ran}");
}
