//! Runs that somebody ends: nothing of them is left.

use super::super::cells::SceneCells;
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::SceneStage;
use super::Behaviour;
use crate::model::{ModelGate, ScriptedModel, hang, say, shell};

/// A command that leaves a process in its group, and one that leaves the group.
pub(super) const LEAVES_TWO: &str =
    "sleep 600 > /dev/null 2>&1 & setsid sleep 600 > /dev/null 2>&1 & echo marked";

pub(super) fn cancel(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let model = stage.model(ScriptedModel::script([shell(LEAVES_TWO), hang()]))?;
    let mut started = stage.start_nodes(&model, "  - prompt: go\n", &[])?;
    cells.check(Behaviour::Cancel, || {
        let run = started.run_id()?;
        started.wait_until("the second request", || (model.asked() >= 2).then_some(()))?;
        let ran = model.requests().last().is_some_and(|request| request.mentions("marked"));
        ensure!(ran, "the command did not run");
        let cancel = stage.call(&model, &["cancel", &run])?;
        ensure_eq!(cancel.code, Some(0), "{}", cancel.story());
        let ended = started.end()?;
        ensure_eq!(ended.finished("status"), "cancelled", "{}", ended.story());
        stage.place.ensure_nobody_left()
    });
    Ok(())
}

pub(super) fn kill(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let gate = ModelGate::closed();
    let script = ScriptedModel::script([shell(LEAVES_TWO), say("never heard").behind(&gate)]);
    let model = stage.model(script.default(say("again")))?;
    let mut started = stage.start_nodes(&model, "  - prompt: go\n", &[])?;
    cells.check(Behaviour::Kill, || {
        started.wait_until("the second request", || (gate.reached() > 0).then_some(()))?;
        started.kill()?;
        gate.open();
        let ended = stage.call(&model, &["resume", "--json"])?;
        ended.ensure_completed()?;
        let remembers = model.requests().last().is_some_and(|request| request.mentions("marked"));
        ensure!(remembers, "it does not remember: {}", ended.story());
        stage.place.ensure_nobody_left()
    });
    Ok(())
}
