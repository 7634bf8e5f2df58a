//! Faults in the middle of a turn: a model that never answers, and an agent that somebody kills.

use super::super::cells::SceneCells;
use super::super::ensure::ensure;
use super::super::stage::SceneStage;
use super::Behaviour;
use super::ends::LEAVES_TWO;
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

/// The words of Windlass to an agent whose turn was cut off.
const INTERRUPTED: &str = "You were interrupted in the middle of this turn";

pub(super) fn crash(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let gate = ModelGate::closed();
    let script = [shell(LEAVES_TWO), say("never heard").behind(&gate)];
    let model = stage.model(ScriptedModel::script(script).default(say("done after all")))?;
    let mut started = stage.start_nodes(&model, "  - prompt: go\n", &[])?;
    cells.check(Behaviour::Crash, || {
        started.wait_until("the second request", || (gate.reached() > 0).then_some(()))?;
        let processes = stage.place.processes();
        let host = processes.iter().find(|process| process.is_host()).ok_or("no host is alive")?;
        // The host adopts what the agent left, which is younger.
        let children = processes.iter().filter(|process| process.is_child_of(host));
        let agent = children.min_by_key(|process| process.born()).ok_or("no agent is alive")?;
        agent.kill();
        // A CLI may be two processes. Its host ends the other one, which must not hear the answer before that.
        let is_host_alive = || stage.place.processes().iter().any(|process| process.is_same_as(host));
        started.wait_until("the end of the killed agent", || (!is_host_alive()).then_some(()))?;
        gate.open();
        let ended = started.end()?;
        stage.place.ensure_nobody_left()?;
        ended.ensure_completed()?;
        let resumed: Vec<bool> =
            ended.of("session.started").iter().filter_map(|data| data.get("resumed")?.as_bool()).collect();
        let is_told = model.requests().last().is_some_and(|request| request.mentions(INTERRUPTED));
        // A CLI that is killed may not have saved its conversation yet. Then the turn is repeated in a new one.
        let is_continued = resumed == [false, true] && is_told;
        let is_repeated = resumed == [false, true, false] && !is_told;
        ensure!(is_continued || is_repeated, "{resumed:?}, told: {is_told}: {}", ended.story());
        Ok(())
    });
    Ok(())
}
