//! The demo: a whole loop with nothing installed, and nothing left behind.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::env::{story, text};
use windlass_testkit::procs;
use windlass_testkit::wait::{soon, until};

use crate::stage::{Stage, assert_exit};

#[test]
fn two_iterations_a_failing_check_completion_and_nothing_left() {
    let stage = Stage::new();
    let temp = stage.place.root().join("tmp");
    fs::create_dir(&temp).unwrap();
    let output = stage.command(&["demo", "--fast"]).env("TMPDIR", &temp).output().unwrap();
    assert_exit(&output, 0);
    let shown = text(&output.stdout);
    let parts = [
        "loop on sim",
        "iteration 1 of",
        "✗ test",
        "FAIL: expected",
        "iteration 2 of",
        "✓ test",
        "completed: ",
        "2 iterations",
        "greet.sh | ",
    ];
    let mut rest = shown.as_str();
    for part in parts {
        let place = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in its place: {shown}"));
        rest = &rest[place..];
    }
    assert!(!shown.contains("windlass undo"), "nothing is left to undo: {shown}");
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "{}", story(&output));
    let told = text(&output.stderr);
    assert!(told.contains("you paid nothing") && told.contains("Try next"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() <= 80), "{told}");
    assert!(!stage.place.state().join("windlass").exists());
    assert!(stage.place.processes().is_empty());
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let stage = Stage::new();
    let temp = stage.place.root().join("tmp");
    fs::create_dir(&temp).unwrap();
    let output = stage.command(&["demo", "--fast", "--keep"]).env("TMPDIR", &temp).output().unwrap();
    assert_exit(&output, 0);
    let kept = fs::read_dir(&temp).unwrap().next().unwrap().unwrap().path();
    assert!(text(&output.stderr).contains(&kept.display().to_string()), "{}", story(&output));
    assert!(kept.join("repository/greet.sh").exists());
    let listed = stage.command(&["ps"]).env("XDG_STATE_HOME", kept.join("state")).output().unwrap();
    assert!(text(&listed.stdout).contains("completed (marker)"), "{}", story(&listed));
}

/// A killed process has no command any more when it still holds its locks for a moment.
fn no_host_lock_is_held(folder: &Path) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().all(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return no_host_lock_is_held(&path);
        }
        if entry.file_name() != "host.lock" {
            return true;
        }
        let Ok(file) = fs::File::open(&path) else { return true };
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

#[test]
fn what_a_killed_demo_left_is_removed_by_the_next() {
    let stage = Stage::new();
    let temp = stage.place.root().join("tmp");
    fs::create_dir_all(temp.join("windlass-demo-of-somebody")).unwrap();
    let mut killed = stage.command(&["demo"]).env("TMPDIR", &temp).stdout(Stdio::null()).spawn().unwrap();
    let here = || procs::all().into_iter().filter(|process| process.command.contains(temp.to_str().unwrap()));
    until(soon(), || here().next().is_some());
    killed.kill().unwrap();
    killed.wait().unwrap();
    // A process that was just being started has no command yet, so look again until nothing is left.
    until(soon(), || {
        for process in here() {
            // Gone already is as good as killed.
            let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
        }
        here().next().is_none() && stage.place.processes().is_empty() && no_host_lock_is_held(&temp)
    });
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 2);
    assert_exit(&stage.command(&["demo", "--fast"]).env("TMPDIR", &temp).output().unwrap(), 0);
    let left: Vec<_> = fs::read_dir(&temp).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["windlass-demo-of-somebody"]);
}
