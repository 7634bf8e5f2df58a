//! Errors of the model's service, and how the run ends by them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::json;
use windlass_testkit::procs::Proc;
use windlass_testkit::{Model, rate_limit, require_agent, say, server_error, tool, unauthorized, wait};

use crate::stage::{LONG, Stage};

#[test]
fn a_short_limit_and_an_error_of_the_service_cost_nothing_but_time() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([rate_limit(Duration::from_secs(1)), server_error(), say("at last")]).start();
    let ended = stage.run_once(&model, "work", &[]);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(ended.events("retry").len(), 2, "{}", ended.story());
}

#[test]
fn a_long_limit_is_waited_for_by_the_run_and_not_by_opencode() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([rate_limit(Duration::from_secs(3600))]).default(say("early")).start();
    let before = now();
    let started = stage.start(stage.once(&model, "work", &[]));
    let until = started.wait_for("run.waiting")["until"].clone();
    let is_host = |p: &Proc| p.command.contains("/windlass host ");
    wait::until(LONG, || !stage.alive().iter().any(is_host));
    started.signal(Signal::INT);
    let ended = started.end();
    assert_eq!(model.requests().len(), 1);
    let resets_at = ended.events("rate_limit")[0]["resets_at"].as_i64().unwrap();
    assert!((before + 3_600_000..now() + 3_600_000).contains(&resets_at), "{}", ended.story());
    assert!(!until.is_null(), "{}", ended.story());
    stage.assert_nobody_left();
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
fn a_refused_key_and_an_unknown_model_end_the_run_at_once() {
    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([unauthorized()]).start();
    let ended = stage.run_once(&model, "work", &[]);
    ended.assert_ended(4, "failed", "agent_failed", 0);
    assert_eq!(model.requests().len(), 1);
    let failure = &ended.events("result")[0]["failure"];
    assert_eq!(failure["cause"], json!({"api": "login"}), "{}", ended.story());

    let stage = Stage::new(require_agent!("opencode"));
    let model = Model::script([]).start();
    let ended = stage.run_once(&model, "work", &["--model", "scripted/nope"]);
    let detail = ended.finished()["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("Model not found: scripted/nope"), "{}", ended.story());
}

#[test]
fn a_long_limit_of_a_subagent_is_one_of_the_session() {
    let stage = Stage::new(require_agent!("opencode"));
    let task = json!({"description": "d", "prompt": "SUBTASK", "subagent_type": "general"});
    let model = Model::script([tool("task", task)])
        .subagents([rate_limit(Duration::from_secs(3600))])
        .default(say("early"))
        .start();
    let started = stage.start(stage.once(&model, "work", &[]));
    started.wait_for("run.waiting");
    started.signal(Signal::INT);
    let ended = started.end();
    assert_eq!(ended.events("rate_limit").len(), 1, "{}", ended.story());
    stage.assert_nobody_left();
}
