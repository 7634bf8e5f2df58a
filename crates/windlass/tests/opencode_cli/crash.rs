//! A run whose Windlass dies continues with the same OpenCode.

use windlass_testkit::{Gate, Model, require_agent, say, shell};

use crate::stage::{LONG, Stage};

#[test]
fn the_next_windlass_adopts_opencode_and_its_tools_and_stops_are_asked_about() {
    let stage = Stage::new(require_agent!("opencode"));
    let gate = Gate::closed();
    let model = Model::script([say("turn 1"), shell("echo x > made").behind(&gate), say("turn 2")]).start();
    let flags = ["--workflow", "loop", "--mode", "in_session", "--max-iterations", "2"];
    let started = stage.start(stage.command(&model, "work", &flags));
    gate.wait_reached(LONG);
    started.kill9();
    let resumed = stage.resume(&model);
    resumed.wait_for("run.resumed");
    gate.open();
    let ended = resumed.end();

    ended.assert_ended(9, "exhausted", "max_iterations", 2);
    assert_eq!((model.sessions().len(), model.requests().len()), (1, 3), "{}", ended.story());
    assert_eq!((ended.decisions("tool"), ended.decisions("stop")), (vec!["allow"], vec!["pass"]));
    assert_eq!(ended.finished()["usage"]["input_tokens"], 300);
    assert_eq!(stage.changes(), ["?? made"]);
    stage.assert_nobody_left();
}
