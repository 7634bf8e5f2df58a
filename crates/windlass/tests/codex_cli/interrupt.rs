//! A cancelled or killed run leaves no process, and a crashed one continues the conversation.

use rustix::process::Signal;
use windlass_testkit::{Gate, Model, hang, require_agent, say, shell};

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
