//! Several turns of one conversation: resumed, or kept from stopping.

use super::super::cells::{CellOutcome, SceneCells};
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::SceneStage;
use super::Behaviour;
use super::turns::usage_sum;
use crate::model::{ScriptedModel, WireRequest, say};

const CONTINUE: &str = "Continue the task. Read the tracker at /";

pub(super) fn resume(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let script = ScriptedModel::script([
        say("the first part").tokens(100, 10).cached(40),
        say("the second part").tokens(200, 20),
    ]);
    let model = stage.model(script)?;
    let words = ["loop", "build it", "--mode", "resume", "--max-iterations", "2"];
    let ended = stage.start(&model, &words)?.end()?;
    let requests = model.requests();

    if let Some(why) = stage.driver.no_resume {
        let check = || {
            ended.ensure_ended(4, "failed", "agent_failed", 1)?;
            ensure_eq!(requests.len(), 1, "the second turn asked the model: {}", ended.story());
            let detail = ended.finished("detail");
            let is_named = detail.as_str().is_some_and(|detail| detail.starts_with("session: "));
            ensure!(is_named, "the run does not say what failed: {}", ended.story());
            Ok(CellOutcome::NotPossible(why.to_owned()))
        };
        cells.check_with(Behaviour::Resume, check);
        cells.check_with(Behaviour::UsageAfterResume, check);
        return Ok(());
    }
    cells.check(Behaviour::Resume, || {
        ended.ensure_ended(9, "exhausted", "max_iterations", 2)?;
        let second = second_request(&requests, &ended.story())?;
        ensure!(second.mentions("the first part"), "it does not remember: {}", ended.story());
        ensure!(second.last_user_text().contains(CONTINUE), "{}", second.last_user_text());
        ensure_eq!(ended.of("session.started").len(), 2, "{}", ended.story());
        Ok(())
    });
    cells.check_with(Behaviour::UsageAfterResume, || usage_sum(stage, &ended, [300, 30, 40]));
    Ok(())
}

pub(super) fn in_session(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let script = ScriptedModel::script([say("the first part"), say("the second part")]);
    let model = stage.model(script.default(say("too much")))?;
    let words = ["loop", "build it", "--mode", "in_session", "--max-iterations", "2"];
    let ended = stage.start(&model, &words)?.end()?;

    cells.check(Behaviour::StopBlock, || {
        ended.ensure_ended(9, "exhausted", "max_iterations", 2)?;
        ensure_eq!(ended.decisions("stop"), ["block", "pass"], "{}", ended.story());
        ensure_eq!(ended.of("session.started").len(), 1, "{}", ended.story());
        let requests = model.requests();
        let second = second_request(&requests, &ended.story())?;
        ensure!(second.last_user_text().contains(CONTINUE), "{}", second.last_user_text());
        Ok(())
    });
    Ok(())
}

/// Returns the second of two requests.
fn second_request<'r>(requests: &'r [WireRequest], story: &str) -> Result<&'r WireRequest, String> {
    match requests {
        [_, second] => Ok(second),
        _ => Err(format!("{} requests instead of 2: {story}", requests.len())),
    }
}
