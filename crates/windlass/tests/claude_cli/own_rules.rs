//! Claude Code guards its own folder `.claude/` by rules of its own, and asks the permission prompt
//! before it writes there. The run's rules decide that, or a person does.

use std::fs;

use serde_json::{Value, json};
use windlass_testkit::{Model, Turn, plugin, require_claude, say, tool};

use crate::stage::{Ended, INPUT, Stage, Started, bash, path};

fn workflow() -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"] = json!({"enabled": false});
    workflow
}

fn write(stage: &Stage, name: &str) -> Turn {
    let file = stage.sealed.repo().join(name);
    tool("Write", json!({"file_path": path(&file), "content": "x\n"}))
}

/// The agent writes into the folder by Write and by Bash, under these rules.
fn both_ways(stage: &Stage, rules: &str, flags: &[&str]) -> Ended {
    stage.sealed.write("config/windlass/config.toml", rules);
    let folder = stage.plugin(&workflow());
    let model = Model::script([
        write(stage, ".claude/commands/a.md"),
        bash("mkdir -p .claude/commands && echo x > .claude/commands/b.md"),
        say("done"),
    ])
    .start();
    let all: Vec<&str> = ["--plugin", &folder].into_iter().chain(flags.iter().copied()).collect();
    let ended = stage.run(&model, &all);
    ended.assert_ended(0, "completed", "turn_done", 1);
    ended
}

fn there(stage: &Stage) -> [bool; 2] {
    ["a", "b"].map(|name| stage.sealed.repo().join(format!(".claude/commands/{name}.md")).exists())
}

#[test]
fn a_rule_that_allows_a_write_there_is_enough() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let ended = both_ways(&stage, "[permissions]\nallow = [\"Write\", \"Bash\"]\n", &[]);
    assert_eq!(there(&stage), [true, true], "{}", ended.story());
    assert!(ended.decisions("permission").iter().all(|said| *said == "allow"), "{}", ended.story());
    assert!(!ended.decisions("permission").is_empty(), "the CLI asks: {}", ended.story());
}

#[test]
fn a_rule_that_denies_it_holds() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let rules = "[permissions]\nallow = [\"Write\", \"Bash\"]\ndeny = [\"Write(*/.claude/*)\", \"Bash(*.claude*)\"]\n";
    let ended = both_ways(&stage, rules, &["--on-permission", "allow"]);
    assert_eq!(there(&stage), [false, false], "{}", ended.story());
    assert_eq!(ended.decisions("tool"), ["deny", "deny"]);
}

#[test]
fn without_a_rule_the_policy_answers_and_the_log_has_it() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let ended = both_ways(&stage, "", &["--on-permission", "deny"]);
    assert_eq!(there(&stage), [false, false], "{}", ended.story());
    assert_eq!(ended.decisions("tool"), ["allow", "allow"]);
    assert_eq!(ended.decisions("permission"), ["deny", "deny"], "{}", ended.story());
    let ended = both_ways(&stage, "", &["--on-permission", "allow"]);
    assert_eq!(there(&stage), [true, true], "{}", ended.story());
}

/// A run in which the agent writes into the folder once, and a person is asked.
fn asking(stage: &Stage) -> (Model, Started) {
    let folder = stage.plugin(&workflow());
    let model = Model::script([write(stage, ".claude/commands/a.md"), say("done")]).start();
    let flags = ["--plugin", &folder, "--on-permission", "ask"];
    let started = stage.start(stage.command(&model, INPUT, &flags));
    (model, started)
}

#[test]
fn a_person_is_asked_once_and_the_answer_holds() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    stage.sealed.write("config/windlass/config.toml", "[permissions]\nask = [\"Write\"]\n");
    let (_model, started) = asking(&stage);
    let waiting = started.wait_for("run.waiting");
    let answer = stage.windlass(&["approve", waiting["run"].as_str().unwrap()]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert!(fs::exists(stage.sealed.repo().join(".claude/commands/a.md")).unwrap(), "{}", ended.story());
    assert_eq!(ended.of("run.waiting").len(), 1, "{}", ended.story());
}

#[test]
fn a_person_who_says_no_to_what_the_cli_asks_is_heard() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let (_model, started) = asking(&stage);
    let waiting = started.wait_for("run.waiting");
    assert_eq!(waiting["data"]["tool"], "Write");
    let answer = stage.windlass(&["approve", waiting["run"].as_str().unwrap(), "--deny", "no"]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(there(&stage), [false, false], "{}", ended.story());
}

#[test]
fn what_the_cli_asks_is_asked_again_after_a_crash() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let (model, started) = asking(&stage);
    let run = started.wait_for("run.waiting")["run"].as_str().unwrap().to_owned();
    started.kill9();
    let resumed = stage.resume(&model);
    assert_eq!(resumed.wait_for("run.waiting")["data"]["tool"], "Write");
    let answer = stage.windlass(&["approve", &run]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = resumed.end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert!(fs::exists(stage.sealed.repo().join(".claude/commands/a.md")).unwrap(), "{}", ended.story());
    assert_eq!(model.requests().len(), 2, "the turn is adopted, not repeated");
}
