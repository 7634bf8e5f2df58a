//! Must show 5: Ctrl-C once ends a run cleanly, twice at once.

use rustix::process::Signal;
use windlass_testkit::{Gate, Model, plugin, require_claude, say, soon, wait};

use crate::stage::{INPUT, MINUTE, Stage, assert_nobody_left};

#[test]
fn one_interrupt_ends_the_run_and_leaves_the_tracker_inactive_and_no_child() {
    let claude = require_claude!();
    let stage = Stage::new(claude);
    let folder = stage.plugin(&plugin::tracker_workflow());
    let gate = Gate::closed();
    let model = Model::script([say("never heard").behind(&gate)]).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    gate.wait_reached(MINUTE);
    assert!(stage.tracker().contains("active: true"), "{}", stage.tracker());

    started.signal(Signal::INT);
    let ended = started.end();
    ended.assert_ended(130, "interrupted", "user", 0);
    assert!(stage.tracker().contains("active: false"), "{}", stage.tracker());
    assert_nobody_left(&stage);
    assert_eq!(model.requests().len(), 1);
    gate.open();
}

#[test]
fn a_second_interrupt_does_not_wait_for_an_agent_that_does_not_end() {
    let claude = require_claude!();
    let stage = Stage::new(claude).with_stubborn_agent();
    stage.sealed.write("config/windlass/config.toml", "grace = \"10m\"\n");
    let folder = stage.plugin(&plugin::tracker_workflow());
    let gate = Gate::closed();
    let model = Model::script([say("never heard").behind(&gate)]).start();
    let started = stage.start(stage.command(&model, INPUT, &["--plugin", &folder]));
    gate.wait_reached(MINUTE);
    let agent = stage.cli();

    started.signal(Signal::INT);
    wait::until(soon(), || started.said().contains("press Ctrl-C again to stop the agent at once"));
    assert!(windlass_testkit::procs::is_alive(agent.pid));
    started.signal(Signal::INT);
    let ended = started.end();
    ended.assert_ended(130, "interrupted", "user", 0);
    assert!(stage.tracker().contains("active: false"), "{}", stage.tracker());
    assert_nobody_left(&stage);
    gate.open();
}
