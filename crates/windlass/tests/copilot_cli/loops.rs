//! Loops: inside one session, and with a process for each turn.

use serde_json::{Value, json};
use windlass_testkit::{Model, plugin, require_agent, say};

use crate::stage::{Stage, append};

fn workflow(mode: &str, turns: u32) -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"]["mode"] = json!(mode);
    workflow["loop"]["stuckAfter"] = json!(0);
    workflow["loop"]["maxIterations"] = json!(turns);
    workflow
}

#[test]
fn an_agent_is_kept_from_stopping_in_one_process() {
    let stage = Stage::new(require_agent!("copilot"));
    let folder = stage.plugin(&workflow("in_session", 9));
    let idle = (1..=3).map(|turn| say(format!("turn {turn}")));
    let model = Model::script(idle.chain([append("E2E_COMPLETE"), say("finished")])).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "marker", 4);
    assert_eq!(ended.of("session.started").len(), 1);
    assert_eq!(ended.decisions("stop"), ["block", "block", "block", "pass"]);
    for request in &model.requests()[1..=3] {
        let told = request.last_user_text();
        assert!(told.contains("Continue the task. Read the tracker at /"), "{told}");
    }
}

#[test]
fn after_the_clis_own_limit_of_blocks_the_loop_goes_on_in_a_new_process() {
    let stage = Stage::new(require_agent!("copilot"));
    let folder = stage.plugin(&workflow("in_session", 30));
    let idle = (1..=11).map(|turn| say(format!("turn {turn}")));
    let model = Model::script(idle.chain([append("E2E_COMPLETE"), say("finished")])).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    // The CLI ignores the ninth block and ends; that end counts as a turn.
    ended.assert_ended(0, "completed", "marker", 13);
    assert_eq!(ended.of("session.started").len(), 2);
    assert_eq!(model.sessions().len(), 1, "{}", ended.story());
    assert_eq!(model.requests().len(), 13);
}

#[test]
fn every_turn_of_a_resumed_conversation_adds_its_own_usage() {
    let stage = Stage::new(require_agent!("copilot"));
    let folder = stage.plugin(&workflow("resume", 9));
    let model = Model::script([
        say("the first flow").tokens(1000, 30).cached(200),
        say("the second flow").tokens(2000, 40).cached(900),
        append("E2E_COMPLETE"),
        say("done").tokens(10, 1),
    ])
    .start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "marker", 3);
    assert_eq!(model.sessions().len(), 1);
    assert_eq!(ended.of("session.started").len(), 3);
    let requests = model.requests();
    assert!(requests[1].last_user_text().contains("Continue the task. Read the tracker at /"));
    let usage = &ended.of("run.finished")[0]["usage"];
    let seen = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
    assert_eq!(seen.map(|name| usage[name].as_u64()), [3110, 91, 1100, 0].map(Some), "{}", ended.story());
}

#[test]
fn a_promise_is_looked_for_after_each_turn() {
    let stage = Stage::new(require_agent!("copilot"));
    let mut workflow = workflow("in_session", 9);
    workflow["loop"]["completionPromise"] = json!("ALL DONE");
    workflow["loop"].as_object_mut().unwrap().remove("completionMarker");
    let folder = stage.plugin(&workflow);
    let model = Model::script([say("more is left"), say("<promise>ALL DONE</promise>")]).start();
    let ended = stage.run(&model, &["--plugin", &folder]);

    ended.assert_ended(0, "completed", "promise", 2);
    assert_eq!(ended.of("session.started").len(), 2);
    assert!(ended.stderr.contains("`resume` instead of `in_session`"), "{}", ended.stderr);
}
