//! Must show 6, the second half: a question reaches a person and the answer the model.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::{Model, Turn, plugin, require_claude, say, tool};

use crate::stage::{INPUT, Stage, assert_nobody_left};

fn workflow() -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"] = json!({"enabled": false});
    workflow
}

fn ask() -> Turn {
    let option = |label: &str| json!({"label": label, "description": format!("Use {label}")});
    let options = json!([option("Postgres"), option("SQLite")]);
    let question = json!({"question": "Which database?", "header": "Database", "options": options, "multiSelect": false});
    tool("AskUserQuestion", json!({"questions": [question]}))
}

#[test]
fn a_question_is_answered_from_another_terminal_and_reaches_the_model() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&workflow());
    let model = Model::script([ask(), say("so be it")]).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder, "--on-question", "wait"]));
    let waiting = started.wait_for("run.waiting");
    assert_eq!(waiting["data"]["question"], "Which database?");
    assert_eq!(model.requests().len(), 1);

    let answer = stage.windlass(&["answer", waiting["run"].as_str().unwrap(), "Neither, use DuckDB"]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();
    ended.assert_ended(0, "completed", "turn_done", 1);
    let told = model.requests()[1].last_user_text();
    assert!(told.contains("Neither, use DuckDB"), "{told}");
    assert_eq!(model.sessions().len(), 1);
}

#[test]
fn a_question_that_nobody_may_answer_blocks_the_run_at_once() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&workflow());
    let model = Model::script([ask()]).default(say("I decide by myself, then")).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder, "--on-question", "fail"]));
    let asked = started.wait_for("hook.decision");
    assert_eq!(asked["data"]["asked"], "question");
    let begun = std::time::Instant::now();
    let ended = started.end();

    ended.assert_ended(8, "blocked", "question", 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(ended.of("run.finished")[0]["detail"], "the agent asks: Which database?");
    assert_nobody_left(&stage);
}
