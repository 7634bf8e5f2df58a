//! The plugin with which Windlass connects OpenCode: the sim reads its first line, and speaks for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::sim::hook_call::{HookMeaning, HookMoment, HookProgram};
use crate::sim::play::PlayCut;
use crate::sim::process::Environment;
use crate::sim::start::text;

/// The words before the facts of a turn in the plugin.
const FACTS: &str = "const turn = ";
/// A person may take a week to answer.
const LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);
const NOT_PERMITTED: &str = "Windlass did not permit this tool";

/// The facts of a turn, as the plugin has them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PluginTurn {
    windlass: String,
    cwd: PathBuf,
    /// The plugin asks before the session stops, and continues it.
    pub(super) holds: bool,
    database: PathBuf,
    env: Map<String, Value>,
}

/// Finds Windlass's plugin in the settings of the environment.
pub(super) fn find(env: &Environment) -> Option<PluginTurn> {
    let content: Value = serde_json::from_str(&text(env, "OPENCODE_CONFIG_CONTENT")?).ok()?;
    let plugins = content.get("plugin")?.as_array()?;
    plugins.iter().filter_map(Value::as_str).find_map(|path| read(Path::new(path)))
}

fn read(path: &Path) -> Option<PluginTurn> {
    let plugin = std::fs::read_to_string(path).ok()?;
    serde_json::from_str(plugin.lines().next()?.strip_prefix(FACTS)?).ok()
}

impl PluginTurn {
    /// Makes the database, and lets a later turn find it by the id of the session.
    pub(super) fn name_database(&self, session: &str) {
        let named = self.database.with_file_name(format!("{session}.db"));
        // Without them a later turn starts a new session, which its test notices.
        let _ = std::fs::OpenOptions::new().append(true).create(true).open(&self.database);
        if let (false, Some(name)) = (named.exists(), self.database.file_name()) {
            let _ = std::os::unix::fs::symlink(name, named);
        }
    }

    /// Asks whether a tool may run.
    pub(super) fn permit(
        &self,
        call: &HookMoment<'_>,
        tool: &str,
        server: Option<&str>,
        input: &Value,
    ) -> Result<HookMeaning, PlayCut> {
        let payload = json!({
            "tool": tool, "callID": call.fact("tool_use_id"), "server": server, "cwd": self.cwd, "input": input,
        });
        let said =
            self.program("opencode_tool", "--closed").call(payload.to_string().as_bytes(), &call.room)?;
        let given = |text: &str| if text.is_empty() { NOT_PERMITTED.to_owned() } else { text.to_owned() };
        if said.exit_code != Some(0) {
            return Ok(HookMeaning::refuse(given(said.stderr.trim())));
        }
        if said.stdout.is_empty() {
            return Ok(HookMeaning::allow());
        }
        let answer = said.json();
        if answer.get("decision").and_then(Value::as_str) == Some("allow") {
            return Ok(HookMeaning::allow());
        }
        Ok(HookMeaning::refuse(given(answer.get("reason").and_then(Value::as_str).unwrap_or_default())))
    }

    /// Asks whether the session may stop. A refusal has the next prompt.
    pub(super) fn may_stop(&self, call: &HookMoment<'_>) -> Result<HookMeaning, PlayCut> {
        let payload = json!({"last_message": call.fact("last_assistant_message"), "cwd": self.cwd});
        let said =
            self.program("opencode_stop", "--open").call(payload.to_string().as_bytes(), &call.room)?;
        let answer = said.json();
        let reason = answer.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
        Ok(reason.map(HookMeaning::refuse).unwrap_or_default())
    }

    fn program(&self, event: &str, unanswered: &str) -> HookProgram {
        let own = self.env.iter().filter_map(|(name, value)| Some((name.into(), value.as_str()?.into())));
        HookProgram {
            argv: vec![self.windlass.clone().into(), "hook".into(), event.into(), unanswered.into()],
            env: own.collect(),
            limit: LIMIT,
        }
    }
}
