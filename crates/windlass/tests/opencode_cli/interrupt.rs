//! A run that is interrupted leaves no process of OpenCode.

use rustix::process::Signal;
use windlass_testkit::{Gate, Model, require_agent, say, shell, wait};

use crate::stage::{LONG, Stage};

#[test]
fn an_interrupted_run_leaves_no_process() {
    let stage = Stage::new(require_agent!("opencode"));
    let gate = Gate::closed();
    let model = Model::script([say("never heard").behind(&gate)]).start();
    let started = stage.start(stage.once(&model, "work", &[]));
    gate.wait_reached(LONG);
    started.signal(Signal::INT);
    started.end().assert_ended(130, "interrupted", "user", 0);
    stage.assert_nobody_left();
    gate.open();
}

#[test]
fn a_command_of_the_agent_ends_with_it_in_a_session_that_is_kept_from_stopping() {
    let stage = Stage::new(require_agent!("opencode"));
    let file = stage.sealed.repo().join("started");
    let model = Model::script([say("first"), shell("touch started; exec sleep 600")]).start();
    let flags = ["--workflow", "loop", "--mode", "in_session"];
    let started = stage.start(stage.command(&model, "work", &flags));
    wait::until(LONG, || file.exists());
    started.signal(Signal::INT);
    started.end().assert_ended(130, "interrupted", "user", 1);
    stage.assert_nobody_left();
}
