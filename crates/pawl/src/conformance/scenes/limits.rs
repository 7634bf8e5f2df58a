//! A limit of the service: the run waits until it resets, and the refused turn does not count.

use std::time::Duration;

use serde_json::Value;

use super::super::cells::{CellOutcome, Checked, SceneCells};
use super::super::drivers::ReportedReset;
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::SceneStage;
use super::super::utc::seconds_until;
use super::Behaviour;
use crate::model::{ScriptedModel, say};

/// The time until the reset. Longer than any CLI waits by itself.
const RESETS_IN: Duration = Duration::from_secs(90 * 60);
const WORDS: [&str; 6] = ["loop", "build it", "--mode", "resume", "--max-iterations", "1"];

pub(super) fn quota(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    cells.check_with(Behaviour::Quota, || match stage.driver.reset {
        ReportedReset::Hidden(what) => hidden(stage, what),
        _ => reported(stage),
    });
    Ok(())
}

fn reported(stage: &SceneStage<'_>) -> Checked {
    let script = ScriptedModel::script([(stage.driver.limit)(RESETS_IN), say("the first part")]);
    let model = stage.model(script.default(say("too much")))?;
    let mut started = stage.start(&model, &WORDS)?;
    let run = started.run_id()?;
    let waiting = started.wait_for("run.waiting")?;
    let field = |name: &str| waiting.pointer(&format!("/data/{name}")).and_then(Value::as_str);
    ensure_eq!(field("on"), Some("rate_limit"), "{waiting}");
    let outcome = reset_time(stage.driver.reset, field("until"))?;
    ensure_eq!(model.requests().len(), 1, "the CLI repeated the request");
    let now = stage.call(&model, &["resume", &run, "--now", "--json"])?;
    let ended = started.end()?;
    ended.ensure_ended(9, "exhausted", "max_iterations", 1)?;
    let asked = model.requests().len();
    ensure_eq!(asked, 2, "the refused turn was counted: {}\n{}", ended.story(), now.story());
    stage.place.ensure_nobody_left()?;
    Ok(outcome)
}

/// A limit that the CLI does not report: it waits itself, and the run does not count the turn twice.
fn hidden(stage: &SceneStage<'_>, what: &str) -> Checked {
    let limit = (stage.driver.limit)(Duration::from_secs(1));
    let script = ScriptedModel::script([limit, say("the first part")]);
    let model = stage.model(script.default(say("too much")))?;
    let ended = stage.start(&model, &WORDS)?.end()?;
    ended.ensure_ended(9, "exhausted", "max_iterations", 1)?;
    ensure_eq!(model.requests().len(), 2, "{}", ended.story());
    ensure!(ended.of("run.waiting").is_empty(), "the run waits: {}", ended.story());
    Ok(CellOutcome::PassedBut(what.to_owned()))
}

/// Checks the time until which a run waits.
fn reset_time(reset: ReportedReset, until: Option<&str>) -> Checked {
    let left = until.and_then(seconds_until).ok_or_else(|| format!("no time: {until:?}"))?;
    let full = i64::try_from(RESETS_IN.as_secs()).unwrap_or_default();
    let (expected, outcome) = match reset {
        ReportedReset::ToTheSecond => (full - 60..=full + 1, CellOutcome::Passed),
        ReportedReset::ToTheMinute => {
            let what = "the CLI reports the reset to the minute";
            (full - 120..=full + 60, CellOutcome::PassedBut(what.to_owned()))
        }
        ReportedReset::Unknown(why) => (1..=60, CellOutcome::PassedBut(why.to_owned())),
        ReportedReset::Hidden(what) => return Err(format!("the run waits, but {what}")),
    };
    ensure!(expected.contains(&left), "{left} s are left instead of {expected:?}");
    Ok(outcome)
}
