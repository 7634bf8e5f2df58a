//! The demo: a whole loop with nothing installed, and nothing left behind.

use std::fs;

use windlass_testkit::env::{story, text};

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
    assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "{}", story(&output));
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
