//! A cancelled or killed run leaves no process, and a crashed one continues the conversation.

use rustix::process::Signal;
use windlass_testkit::{Gate, Model, hang, require_agent, say, shell};

use crate::stage::{MINUTE, Stage, send};

const NODES: &str = "  - prompt: go\n";

#[test]
fn a_cancelled_run_leaves_no_process() {
    let stage = Stage::new(require_agent!("gemini"));
    let model =
        Model::script([shell("sleep 600 > /dev/null 2>&1 & setsid sleep 600 > /dev/null 2>&1 &"), hang()])
            .start();
    let started = stage.start(stage.of_nodes(&model, NODES, &[]));
    model.wait_for_requests(2, MINUTE);
    started.signal(Signal::INT);
    let ended = started.end();

    ended.assert_ended(130, "interrupted", "user");
    stage.assert_nobody_left();
}

#[test]
fn a_crashed_run_goes_on_in_the_same_conversation() {
    let stage = Stage::new(require_agent!("gemini"));
    let gate = Gate::closed();
    let model = Model::script([shell("echo marked"), say("over").behind(&gate), say("again")]).start();
    let started = stage.start(stage.of_nodes(&model, NODES, &[]));
    gate.wait_reached(MINUTE);
    started.signal(Signal::KILL);
    assert!(stage.cli().pid > 0, "the agent outlives Windlass");
    drop(started.end());
    gate.open();
    let ended = stage.resume(&model).end();

    ended.assert_ended(0, "completed", "turn_done");
    assert!(model.requests().last().unwrap().mentions("marked"), "{}", ended.story());
    stage.assert_nobody_left();
}

#[test]
fn a_cli_that_a_signal_ends_goes_on_in_the_same_conversation() {
    let stage = Stage::new(require_agent!("gemini"));
    stage.sealed.write("config/windlass/config.toml", "retry_delay = \"10ms\"\n");
    let gate = Gate::closed();
    let model = Model::script([shell("echo marked"), say("never heard").behind(&gate), say("again")]).start();
    let started = stage.start(stage.of_nodes(&model, NODES, &[]));
    gate.wait_reached(MINUTE);
    // It ends with code 0 and without a result.
    send(stage.cli().pid, Signal::TERM);
    let ended = started.end();
    gate.open();

    ended.assert_ended(0, "completed", "turn_done");
    assert_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
    assert!(model.requests().last().unwrap().mentions("marked"), "{}", ended.story());
}
