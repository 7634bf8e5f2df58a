//! Errors of the model's service: a limit waits for its end, a login problem ends the run.

use std::time::Duration;

use rustix::process::Signal;
use windlass_testkit::{Model, cut, require_agent, say, server_error, shell, unauthorized, usage_limit};

use crate::stage::Stage;

#[test]
fn a_usage_limit_waits_until_it_ends() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([usage_limit(Duration::from_secs(90 * 60)), say("later")]).start();
    let started = stage.start(stage.of_nodes(&model, "  - prompt: go\n", &[]));
    let waiting = started.wait_for("run.waiting")["data"].clone();
    assert_eq!(waiting["on"], "rate_limit");
    let until: jiff::Timestamp = waiting["until"].as_str().unwrap().parse().unwrap();
    let minutes = until.duration_since(jiff::Timestamp::now()).as_mins();
    // Codex says the time to the minute.
    assert!((87..=91).contains(&minutes), "{waiting}");
    started.signal(Signal::INT);
    started.end().assert_ended(130, "interrupted", "user");
    stage.assert_nobody_left();
}

#[test]
fn a_refused_key_ends_the_run_with_what_the_service_said() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([unauthorized()]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(4, "failed", "agent_failed");
    let detail = ended.of("run.finished")[0]["detail"].to_string();
    assert!(detail.contains("401 Unauthorized"), "{detail}");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn an_error_of_the_service_costs_a_retry() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
    let model = Model::script([server_error(), say("done")]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(ended.of("run.retrying").len() + ended.of("run.waiting").len(), 1, "{}", ended.story());
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_missing_key_ends_the_run_and_names_the_variable() {
    let stage = Stage::new(require_agent!("codex"));
    let model = Model::script([]).start();
    let mut command = stage.of_nodes(&model, "  - prompt: go\n", &[]);
    command.env_remove("SCRIPTED_KEY");
    let ended = stage.start(command).end();

    ended.assert_ended(4, "failed", "agent_failed");
    let detail = ended.of("run.finished")[0]["detail"].to_string();
    assert!(detail.contains("Missing environment variable: `SCRIPTED_KEY`"), "{detail}");
}

#[test]
fn the_tokens_of_a_turn_that_failed_are_counted_with_the_next_one() {
    let stage = Stage::new(require_agent!("codex"));
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
    let model =
        Model::script([shell("echo 1 > one").tokens(100, 10), cut(4), say("done").tokens(200, 20)]).start();
    let ended = stage.run(&model, "  - prompt: go\n", &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let usage = &ended.of("run.finished")[0]["usage"];
    assert_eq!([&usage["input_tokens"], &usage["output_tokens"]], [300, 30], "{}", ended.story());
    assert_eq!(model.sessions().len(), 1);
}
