//! Errors of the model's service, and how the run ends by them.

use std::time::Duration;

use serde_json::json;
use windlass_testkit::{Model, rate_limit, require_agent, say, server_error, unauthorized, usage_limit};

use crate::stage::Stage;

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
    let model = Model::script([usage_limit(Duration::from_secs(3600))]).default(say("early")).start();
    let ended = stage.run_once(&model, "work", &["--timeout", "1m"]);
    let limit = ended.events("rate_limit");
    assert_eq!(limit.len(), 1, "{}", ended.story());
    let resets_at = limit[0]["resets_at"].as_i64().unwrap();
    assert_eq!((limit[0]["rejected"].as_bool(), model.requests().len()), (Some(true), 1));
    assert!(resets_at > 0, "{}", ended.story());
    stage.assert_nobody_left();
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
