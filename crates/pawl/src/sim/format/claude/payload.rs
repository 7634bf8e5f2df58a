//! The payloads of hooks.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::events::put;
use crate::sim::hook_call::HookMoment;
use crate::sim::process::Environment;
use crate::sim::start::variable;

/// Builds the payload of a hook: the common fields, and the facts of the moment.
pub(super) fn payload(
    call: &HookMoment<'_>,
    session: &str,
    transcript: &str,
    permission_mode: &str,
) -> Value {
    let event = call.event;
    let mut payload = json!({
        "session_id": session, "transcript_path": transcript,
        "cwd": call.room.cwd, "hook_event_name": event,
    });
    if event != "SessionStart" {
        put(&mut payload, "prompt_id", json!(call.prompt_id));
    }
    if !matches!(event, "SessionStart" | "SessionEnd" | "SubagentStart") {
        put(&mut payload, "permission_mode", json!(permission_mode));
    }
    if !matches!(event, "SessionStart" | "SessionEnd" | "SubagentStart" | "UserPromptSubmit") {
        put(&mut payload, "effort", json!({"level": "medium"}));
    }
    if let (Value::Object(payload), Value::Object(facts)) = (&mut payload, &call.facts) {
        payload.extend(facts.clone());
    }
    payload
}

/// Returns the path where the real CLI would keep the transcript. The sim writes nothing there.
pub(super) fn transcript_path(env: &Environment, cwd: &std::path::Path, session: &str) -> String {
    let home = variable(env, "HOME").map(PathBuf::from).unwrap_or_default();
    let config = variable(env, "CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let folder: String = cwd.display().to_string().chars().map(plain).collect();
    config.join("projects").join(folder).join(format!("{session}.jsonl")).display().to_string()
}
