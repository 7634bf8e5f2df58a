//! Errors of the model's service: the run waits for what passes, and ends by what does not.

use std::time::Duration;

use rustix::process::Signal;
use windlass_testkit::{
    Model, cut, fail, rate_limit, require_agent, say, server_error, shell, unauthorized, usage_limit,
};

use crate::stage::Stage;

const NODES: &str = "  - prompt: go\n";

#[test]
fn a_limit_is_waited_for_by_the_run_and_not_by_the_cli() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([rate_limit(Duration::from_secs(90 * 60)), say("later")]).start();
    let started = stage.start(stage.of_nodes(&model, NODES, &[]));
    let waiting = started.wait_for("run.waiting")["data"].clone();
    assert_eq!(waiting["on"], "rate_limit");
    let until: jiff::Timestamp = waiting["until"].as_str().unwrap().parse().unwrap();
    let minutes = until.duration_since(jiff::Timestamp::now()).as_mins();
    assert!((88..=90).contains(&minutes), "{waiting}");
    started.signal(Signal::INT);
    started.end().assert_ended(130, "interrupted", "user");
    assert_eq!(model.requests().len(), 1);
    stage.assert_nobody_left();
}

#[test]
fn a_limit_for_the_day_has_no_end_that_the_cli_knows() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([usage_limit(Duration::from_secs(3600)), say("later")]).start();
    let started = stage.start(stage.of_nodes(&model, NODES, &[]));
    assert_eq!(started.wait_for("run.waiting")["data"]["on"], "rate_limit");
    started.signal(Signal::INT);
    started.end().assert_ended(130, "interrupted", "user");
}

#[test]
fn errors_of_the_service_and_of_the_network_cost_a_retry() {
    // The CLI repeats a refused request once by itself.
    for faults in [vec![server_error(), server_error()], vec![cut(1)]] {
        let stage = Stage::new(require_agent!("gemini"));
        stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
        let count = faults.len();
        let model = Model::script(faults.into_iter().chain([say("done")])).start();
        let ended = stage.run(&model, NODES, &[]);

        ended.assert_ended(0, "completed", "turn_done");
        assert_eq!(model.requests().len(), count + 1, "{}", ended.story());
        assert_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
    }
}

#[test]
fn a_stream_that_is_cut_off_after_a_tool_goes_on_in_the_same_conversation() {
    let stage = Stage::new(require_agent!("gemini"));
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
    let model = Model::script([shell("echo marked"), cut(1), say("done")]).start();
    let ended = stage.run(&model, NODES, &[]);

    ended.assert_ended(0, "completed", "turn_done");
    let resumed: Vec<_> =
        ended.of("session.started").iter().map(|started| started["resumed"].clone()).collect();
    assert_eq!(resumed, [false, true]);
    assert!(model.requests().last().unwrap().mentions("marked"), "{}", ended.story());
}

#[test]
fn a_refused_key_an_unknown_model_and_a_bad_request_end_the_run_at_once() {
    for (fault, reason, said) in [
        (unauthorized(), "agent_failed", "API_KEY_INVALID"),
        (fail(404, "NOT_FOUND").message("no such model"), "agent_failed", "no such model"),
        (fail(400, "INVALID_ARGUMENT").message("too long"), "agent_failed", "too long"),
    ] {
        let stage = Stage::new(require_agent!("gemini"));
        let model = Model::script([fault]).start();
        let ended = stage.run(&model, NODES, &[]);

        ended.assert_ended(4, "failed", reason);
        let detail = ended.of("run.finished")[0]["detail"].to_string();
        assert!(detail.contains(said), "{detail}");
        assert_eq!(model.requests().len(), 1);
    }
}

#[test]
fn without_a_login_the_run_ends_with_what_the_cli_said() {
    let stage = Stage::new(require_agent!("gemini"));
    let model = Model::script([]).start();
    let mut command = stage.of_nodes(&model, NODES, &[]);
    command.env_remove("GEMINI_API_KEY");
    let ended = stage.start(command).end();

    ended.assert_ended(4, "failed", "agent_failed");
    let detail = ended.of("run.finished")[0]["detail"].to_string();
    assert!(detail.contains("GEMINI_API_KEY"), "{detail}");
}
