//! The hooks of Copilot: lines for a shell, in plugins and in the home folder.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::sim::hook_call::{HookMeaning, HookOutput, HookProgram, HookRoom};
use crate::sim::signals::StopRequest;

/// The time limit of hooks that name none.
const LIMIT: f64 = 30.0;

#[derive(Debug, Deserialize)]
struct HookFile {
    #[serde(default)]
    hooks: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookEntry {
    #[serde(default)]
    bash: String,
    #[serde(default)]
    timeout_sec: Option<f64>,
}

/// The hooks of a session, by event.
#[derive(Debug, Default)]
pub(super) struct CopilotHooks(Vec<(String, HookEntry)>);

impl CopilotHooks {
    /// Adds the hooks of a file. A missing file has none.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), String> {
        let Ok(text) = std::fs::read(path) else { return Ok(()) };
        let unread =
            |cause: serde_json::Error| format!("cannot read the hooks of {}: {cause}", path.display());
        let file: HookFile = serde_json::from_slice(&text).map_err(unread)?;
        for (event, entries) in file.hooks {
            let entries: Vec<HookEntry> = serde_json::from_value(entries).map_err(unread)?;
            self.0.extend(entries.into_iter().map(|entry| (event.clone(), entry)));
        }
        Ok(())
    }

    /// Adds the hooks of a plugin, whose manifest names their file.
    pub(super) fn add_plugin(&mut self, folder: &Path) -> Result<(), String> {
        let manifest = std::fs::read(folder.join("plugin.json")).unwrap_or_default();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
        let file = manifest.get("hooks").and_then(Value::as_str).unwrap_or("hooks.json");
        self.add(&folder.join(file))
    }

    /// Calls the hooks of an event.
    pub(super) fn call(
        &self,
        event: &str,
        payload: &Value,
        room: &HookRoom<'_>,
    ) -> Result<HookMeaning, StopRequest> {
        let payload = payload.to_string().into_bytes();
        let due = self.0.iter().filter(|(name, _)| name == event);
        let answers = due.map(|(_, entry)| {
            let limit =
                Duration::try_from_secs_f64(entry.timeout_sec.unwrap_or(LIMIT)).unwrap_or(Duration::MAX);
            Ok(interpret(&HookProgram::shell(&entry.bash, limit).call(&payload, room)?))
        });
        Ok(HookMeaning::together(answers.collect::<Result<Vec<_>, StopRequest>>()?))
    }
}

/// Reads the answer of a hook. An exit code decides nothing.
fn interpret(said: &HookOutput) -> HookMeaning {
    let answer = said.json();
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("permissionDecision"), text("decision")) {
        ("allow", _) => HookMeaning::allow(),
        ("deny", _) => HookMeaning::refuse(text("permissionDecisionReason")),
        (_, "block") => HookMeaning::refuse(text("reason")),
        _ => HookMeaning::default(),
    }
}
