//! A cancelled or killed run leaves no process, and a crashed one continues the conversation.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use windlass_testkit::{Gate, Model, hang, recipe, require_agent, say, shell};

use crate::stage::{MINUTE, Stage};

#[test]
fn a_cancelled_run_leaves_no_process() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([shell("sleep 600 & echo $!; setsid sleep 600 & sleep 0.1"), hang()]).start();
    let started = stage.start(stage.of_nodes(&model, "  - prompt: go\n", &[]));
    model.wait_for_requests(2, MINUTE);
    started.signal(Signal::INT);
    let ended = started.end();

    ended.assert_ended(130, "interrupted", "user");
    stage.assert_nobody_left();
    let mut kept = files_below(stage.sealed.root());
    // The program itself has the key of the tests' recipes.
    kept.retain(|file| !file.starts_with(stage.sealed.state().join("windlass/bin")));
    assert!(kept.len() > 10, "the run left files: {kept:?}");
    let has_key = |file: &PathBuf| {
        fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(recipe::KEY))
    };
    let with_key: Vec<&PathBuf> = kept.iter().filter(|file| has_key(file)).collect();
    assert!(with_key.is_empty(), "the key of the environment is in {with_key:?}");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_folder = |path: &PathBuf| path.is_dir() && !path.is_symlink();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(is_folder);
    files.into_iter().chain(folders.iter().flat_map(|folder| files_below(folder))).collect()
}

#[test]
fn a_crashed_run_goes_on_in_the_same_conversation() {
    let stage = Stage::new(require_agent!("codex"));
    let gate = Gate::closed();
    let model = Model::script([shell("echo 1 > one"), say("over").behind(&gate), say("again")]).start();
    let started = stage.start(stage.of_nodes(&model, "  - prompt: go\n", &[]));
    gate.wait_reached(MINUTE);
    started.signal(Signal::KILL);
    assert!(stage.cli().pid > 0, "the agent outlives Windlass");
    drop(started.end());
    gate.open();
    let mut command = stage.sealed.windlass_with_agent("codex", &model);
    command.args(["resume", "--json"]);
    let ended = stage.start(command).end();

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(model.sessions().len(), 1, "{}", ended.story());
    stage.assert_nobody_left();
}

#[test]
fn an_agent_that_somebody_kills_goes_on_in_the_same_conversation() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
    let gate = Gate::closed();
    let model =
        Model::script([shell("echo 1 > one"), say("never heard").behind(&gate), say("again")]).start();
    let started = stage.start(stage.of_nodes(&model, "  - prompt: go\n", &[]));
    gate.wait_reached(MINUTE);
    stage.sealed.kill9(stage.cli().pid);
    gate.open();
    let ended = started.end();

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(model.sessions().len(), 1, "{}", ended.story());
    stage.assert_nobody_left();
}
