//! Faults in the middle of a turn: a model that never answers, and an agent that somebody kills.

use super::super::cells::{CellOutcome, SceneCells};
use super::super::command::MINUTE;
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::SceneStage;
use super::Behaviour;
use super::ends::LEAVES_TWO;
use super::loops::lost_conversation;
use crate::model::{ModelGate, ScriptedModel, hang, say, shell};

/// The time limits of a silent model. On a busy machine, a CLI may need the longer one to ask at all.
const TIMEOUTS: [&str; 2] = ["5s", "30s"];

pub(super) fn silence(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let model = stage.model(ScriptedModel::script([]).default(hang()))?;
    cells.check(Behaviour::Silence, || {
        for timeout in TIMEOUTS {
            let ended = stage.run_nodes(&model, &format!("  - prompt: go\n    timeout: {timeout}\n"))?;
            ended.ensure_ended(6, "failed", "timeout", 0)?;
            stage.place.ensure_nobody_left()?;
            if model.asked() > 0 {
                return Ok(());
            }
        }
        Err(format!("the CLI did not ask the model within {}", TIMEOUTS.join(" and ")))
    });
    Ok(())
}

pub(super) fn crash(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let gate = ModelGate::closed();
    let script = [shell(LEAVES_TWO), say("never heard").behind(&gate)];
    let model = stage.model(ScriptedModel::script(script).default(say("done after all")))?;
    let started = stage.start_nodes(&model, "  - prompt: go\n", &[])?;
    cells.check_with(Behaviour::Crash, || {
        stage.place.wait_for("the second request", MINUTE, || (gate.reached() > 0).then_some(()))?;
        let processes = stage.place.processes();
        let host = processes.iter().find(|process| process.is_host()).ok_or("no host is alive")?;
        let agent = processes.iter().find(|process| process.is_child_of(host)).ok_or("no agent is alive")?;
        agent.kill();
        gate.open();
        let ended = started.end()?;
        stage.place.ensure_nobody_left()?;
        if let Some(why) = stage.driver.no_resume {
            ended.ensure_ended(4, "failed", "agent_failed", 0)?;
            return lost_conversation(&ended, why);
        }
        ended.ensure_completed()?;
        ensure_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
        let remembers = model.requests().last().is_some_and(|request| request.mentions("marked"));
        ensure!(remembers, "it does not remember: {}", ended.story());
        Ok(CellOutcome::Passed)
    });
    Ok(())
}
