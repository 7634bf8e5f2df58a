//! Logs of every version from 3 on, recorded by the release that wrote that version, and resumed by this one.
//!
//! A log lies in `vN/SCENE.jsonl` ([`fixture`]); what happens in a scene is in [`scene`]. A log, once
//! recorded, is never edited. Whoever raises `RECORD_VERSION` first records the present version with the
//! binary as it is, which writes `vN/` beside this file:
//!
//! ```text
//! cargo build && cargo test -p windlass-runtime --test records -- --ignored record
//! ```

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test stops where it stands")]

mod diverged;
mod fixture;
mod scene;

use std::fs;
use std::path::PathBuf;

use fixture::Fixture;
use scene::{SCENES, Scene, Stage};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records")
}

/// Every recorded log of a scene, the oldest version first.
fn recorded(scene: &Scene) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        folders.map(|folder| folder.join(format!("{}.jsonl", scene.name))).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

fn resume(name: &str) {
    let scene = SCENES.iter().find(|scene| scene.name == name).unwrap();
    let files = recorded(scene);
    assert!(!files.is_empty(), "no log of `{name}` is recorded");
    for file in files {
        let stage = Stage::new();
        let fixture = Fixture::read(&file);
        fixture.restore(&stage);
        stage.resume(scene, fixture.first_run(), &file.display().to_string());
    }
}

#[test]
fn a_recorded_loop_that_was_killed_in_a_turn_is_resumed() {
    resume("turn");
}

#[test]
fn a_recorded_run_that_waits_for_the_answer_to_an_agent_is_resumed() {
    resume("question");
}

#[test]
fn a_recorded_run_that_waits_for_a_permission_is_resumed() {
    resume("permission");
}

#[test]
fn a_recorded_run_that_a_person_answered_is_resumed() {
    resume("answered");
}

#[test]
fn a_recorded_run_that_waits_at_an_ask_node_is_resumed() {
    resume("ask");
}

#[test]
fn recorded_tasks_in_worktrees_are_resumed() {
    resume("tasks");
}

#[test]
fn a_recorded_task_that_could_not_be_brought_back_is_resumed() {
    resume("conflict");
}

#[test]
fn a_recorded_workflow_with_every_leaf_and_a_run_in_it_is_resumed() {
    resume("nodes");
}

#[test]
#[ignore = "writes the logs of the present version; see the top of this file"]
fn record() {
    for scene in SCENES {
        let stage = Stage::new();
        stage.play_and_kill(scene);
        let fixture = Fixture::record(&stage);
        let version = folder().join(format!("v{}", fixture.version()));
        fs::create_dir_all(&version).unwrap();
        fixture.write(&version.join(format!("{}.jsonl", scene.name)));
    }
}
