//! One turn: it starts, reports what it does, uses tools, and its prompt arrives whole.

use std::fs;

use serde_json::json;

use super::super::cells::{CellOutcome, Checked, SceneCells};
use super::super::command::EndedCommand;
use super::super::drivers::{ReportedUsage, RolePlace};
use super::super::ensure::{ensure, ensure_eq};
use super::super::stage::SceneStage;
use super::Behaviour;
use crate::model::{ScriptedModel, say, shell};

/// Checks the input, output and cached tokens of a run. A sum that is not exact must be marked as partial.
pub(super) fn usage_sum(stage: &SceneStage<'_>, ended: &EndedCommand, expected: [u64; 3]) -> Checked {
    let usage = ended.finished("usage");
    let is_partial = usage.get("is_partial").is_some_and(|partial| partial == true);
    match stage.driver.usage {
        ReportedUsage::Exact => {
            let spent = ["input_tokens", "output_tokens", "cache_read_tokens"]
                .map(|key| usage.get(key).and_then(serde_json::Value::as_u64));
            ensure_eq!(spent, expected.map(Some), "{}", ended.story());
            ensure!(!is_partial, "an exact sum is marked as partial: {}", ended.story());
            Ok(CellOutcome::Passed)
        }
        ReportedUsage::Partial => {
            ensure!(is_partial, "the sum is not marked as partial: {}", ended.story());
            let what = "the CLI does not report every token, and the sum is marked as partial";
            Ok(CellOutcome::PassedBut(what.to_owned()))
        }
    }
}

pub(super) fn one_turn(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let script = ScriptedModel::script([
        shell("echo made > made.txt").tokens(1000, 30).cached(200),
        say("all done").tokens(70, 5).cached(3),
    ]);
    let model = stage.model(script)?;
    let before = stage.users_files();
    let mut started = stage.start_nodes(&model, "  - prompt: make it\n", &[])?;
    cells.check(Behaviour::Start, || started.wait_for("session.started").map(drop));
    let ended = started.end()?;

    cells.check(Behaviour::Stream, || {
        let kinds = ended.event_kinds();
        for kind in ["tool_use", "tool_result", "text", "result"] {
            ensure!(kinds.contains(&kind), "no `{kind}` in {kinds:?}");
        }
        Ok(())
    });
    cells.check(Behaviour::Tool, || {
        ended.ensure_completed()?;
        ensure_eq!(ended.decisions("tool"), ["allow"], "{}", ended.story());
        let made = fs::read_to_string(stage.place.repo("made.txt")).unwrap_or_default();
        ensure_eq!(made, "made\n", "{}", ended.story());
        Ok(())
    });
    cells.check_with(Behaviour::UsageSum, || usage_sum(stage, &ended, [1070, 35, 203]));
    cells.check(Behaviour::NothingLeft, || {
        stage.place.ensure_nobody_left()?;
        let after = stage.users_files();
        for file in before {
            ensure!(after.contains(&file), "{} was changed", file.0.display());
        }
        let status = stage.place.git(&["status", "--porcelain"])?;
        ensure_eq!(status, "?? made.txt", "the repository has other changes");
        Ok(())
    });
    Ok(())
}

/// A text that would be an error of the service if a tool did not print it.
const LIMIT_IN_TEXT: &str = "429 Too Many Requests: rate limit exceeded, usage limit reached, try again in 3600 seconds\n\
    {\"error\":{\"type\":\"rate_limit_error\",\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"resets_in_seconds\":3600}}\n";

/// The words with which Windlass refuses a tool.
const DENIED: &str = "denied by the rule";

pub(super) fn refused(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    stage.place.write("config/windlass/config.toml", "[permissions]\ndeny = [\"shell(touch *)\"]\n")?;
    stage.place.write("repo/limits.md", LIMIT_IN_TEXT)?;
    let script = [shell("cat limits.md"), shell("touch denied.txt"), say("then not")];
    let model = stage.model(ScriptedModel::script(script))?;
    let ended = stage.run_nodes(&model, "  - prompt: go\n")?;
    let told: Vec<String> = model.requests().iter().map(|request| request.last_user_text()).collect();

    cells.check(Behaviour::LimitInText, || {
        let is_read = told.get(1).is_some_and(|told| told.contains("rate limit exceeded"));
        ensure!(is_read, "the agent did not read the file: {}", ended.story());
        ensure!(ended.of("run.waiting").is_empty(), "the run waited: {}", ended.story());
        ended.ensure_completed()
    });
    cells.check_with(Behaviour::DeniedTool, || {
        // Some CLIs do not ask before a command that only reads.
        let decided = ended.decisions("tool");
        ensure!([&["allow", "deny"], &["deny"][..]].contains(&&*decided), "{decided:?}: {}", ended.story());
        ensure!(!stage.place.repo("denied.txt").exists(), "the tool ran: {}", ended.story());
        // Some CLIs end the turn when a tool is refused.
        let reason = told.get(2).map_or(DENIED, String::as_str);
        match stage.driver.untold_rule {
            Some(why) => {
                ensure!(!reason.contains(DENIED), "the model is told after all: {reason}");
                Ok(CellOutcome::PassedBut(why.to_owned()))
            }
            None => {
                ensure!(reason.contains(DENIED), "the model is not told: {reason}");
                Ok(CellOutcome::Passed)
            }
        }
    });
    Ok(())
}

pub(super) fn prompt(stage: &mut SceneStage<'_>, cells: &mut SceneCells) -> Result<(), String> {
    let odd = "--help 'a' \"b\" $HOME `id` \\ \u{e9}\u{1f600}\n-\n\ttab";
    let long = "0123456789abcdef".repeat(6400);
    let role = "You talk like a \"pirate\".";
    let entity = format!("---\nname: pirate\ndescription: d\n---\n{role}");
    stage.place.write("repo/.claude/agents/pirate.md", &entity)?;
    let model = stage.model(ScriptedModel::script([say("arr")]))?;
    let nodes = format!("  - agent: pirate\n    prompt: {}\n", json!(format!("{odd}\n{long}\nend")));
    let ended = stage.run_nodes(&model, &nodes)?;
    let requests = model.requests();
    let first = requests.first().ok_or_else(|| format!("no request: {}", ended.story()))?;

    cells.check(Behaviour::OddPrompt, || {
        ensure!(first.last_user_text().contains(odd), "{}", ended.story());
        Ok(())
    });
    cells.check(Behaviour::LongPrompt, || {
        ended.ensure_completed()?;
        ensure!(first.last_user_text().contains(&format!("\n{long}\nend")), "{}", ended.story());
        Ok(())
    });
    cells.check_with(Behaviour::Role, || {
        let is_system = first.system_text().contains(role);
        match stage.driver.role {
            RolePlace::System => {
                ensure!(is_system, "{}", ended.story());
                Ok(CellOutcome::Passed)
            }
            RolePlace::Prompt => {
                ensure!(!is_system && first.mentions(role), "{}", ended.story());
                Ok(CellOutcome::PassedBut("the role is at the beginning of the prompt".to_owned()))
            }
        }
    });
    Ok(())
}
