//! Errors of the service end a turn with their kind.

use std::time::Duration;

use serde_json::Value;
use windlass_testkit::{Model, fail, require_agent, say, unauthorized, usage_limit};

use crate::stage::{Ended, Stage, one_turn};

fn run(stage: &Stage, model: &Model) -> Ended {
    stage.run(model, &["--plugin", &stage.plugin(&one_turn())])
}

fn api_errors(ended: &Ended) -> Vec<&Value> {
    let events = ended.of("session.event").into_iter();
    events.filter(|event| event["kind"] == "api_error").map(|event| &event["trouble"]).collect()
}

#[test]
fn a_refused_key_fails_the_run() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([]).default(unauthorized()).start();
    let ended = run(&stage, &model);
    assert_eq!(api_errors(&ended), ["login"], "{}", ended.story());
    assert_eq!(ended.of("run.finished")[0]["status"], "failed", "{}", ended.story());
}

#[test]
fn a_refused_request_fails_the_run() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([]).default(fail(400, "invalid_request_error")).start();
    let ended = run(&stage, &model);
    assert_eq!(api_errors(&ended), ["lasting"], "{}", ended.story());
}

#[test]
fn a_passing_error_is_repeated_by_the_cli_itself() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([fail(503, "overloaded_error"), say("done")]).start();
    let ended = run(&stage, &model);
    ended.assert_ended(0, "completed", "turn_done", 1);
    let retries = ended.of("session.event").into_iter().filter(|event| event["kind"] == "retry");
    let told: Vec<_> = retries.map(|event| (event["status"].clone(), event["error"].clone())).collect();
    assert_eq!(told, [(503.into(), "api_error".into())], "{}", ended.story());
}

#[test]
fn without_a_login_the_run_says_how_to_get_one() {
    let stage = Stage::new(require_agent!("copilot"));
    let model = Model::script([]).start();
    let flags = ["--plugin", &stage.plugin(&one_turn())];
    let mut command = stage.command(&model, crate::stage::INPUT, &flags);
    for name in ["COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_OFFLINE", "COPILOT_MODEL"]
    {
        command.env_remove(name);
    }
    // Nobody is behind the proxy, so nothing leaves the machine.
    command.env("HTTPS_PROXY", "http://127.0.0.1:9").env("HTTP_PROXY", "http://127.0.0.1:9");
    let ended = stage.start(command).end();
    let finished = &ended.of("run.finished")[0];
    assert!(finished["detail"].as_str().unwrap().contains("copilot login"), "{}", ended.story());
}

#[test]
fn a_spent_plan_is_waited_for() {
    let stage = Stage::new(require_agent!("copilot"));
    stage.sealed.write("config/windlass/config.toml", "rate_limit_wait = \"1s\"\n");
    let model = Model::script([usage_limit(Duration::from_secs(5400)), say("done")]).start();
    let ended = run(&stage, &model);
    ended.assert_ended(0, "completed", "turn_done", 1);
    assert_eq!(api_errors(&ended), ["rate_limit"], "{}", ended.story());
    assert_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
}
