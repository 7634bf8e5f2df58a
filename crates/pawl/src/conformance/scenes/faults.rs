//! Faults in the middle of a turn: a model that never answers, and an agent that somebody kills.

use super::super::cells::SceneCells;
use super::super::command::MINUTE;
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::Stage;
use super::Behaviour;
use super::ends::LEAVES_TWO;
use crate::model::{ModelGate, ScriptedModel, hang, say, shell};

pub(super) fn silence(stage: &mut Stage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let model = stage.model(ScriptedModel::script([]).default(hang()))?;
    let ended = stage.run_nodes(&model, "  - prompt: go\n    timeout: 8s\n")?;
    cells.check(Behaviour::Silence, || {
        ended.ensure_ended(6, "failed", "timeout", 0)?;
        ensure!(model.asked() > 0, "the CLI did not ask the model in time: {}", ended.story());
        stage.place.ensure_nobody_left()
    });
    Ok(())
}

pub(super) fn crash(stage: &mut Stage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let gate = ModelGate::closed();
    let script = [shell(LEAVES_TWO), say("never heard").behind(&gate)];
    let model = stage.model(ScriptedModel::script(script).default(say("done after all")))?;
    let started = stage.start_nodes(&model, "  - prompt: go\n", &[])?;
    cells.check(Behaviour::Crash, || {
        stage.place.wait_for("the second request", MINUTE, || (gate.reached() > 0).then_some(()))?;
        let processes = stage.place.processes();
        let host = processes.iter().find(|process| process.is_host()).ok_or("no host is alive")?;
        let agent = processes.iter().find(|process| process.is_child_of(host)).ok_or("no agent is alive")?;
        agent.kill();
        gate.open();
        let ended = started.end()?;
        ended.ensure_completed()?;
        ensure_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
        let remembers = model.requests().last().is_some_and(|request| request.mentions("marked"));
        ensure!(remembers, "it does not remember: {}", ended.story());
        stage.place.ensure_nobody_left()
    });
    Ok(())
}
