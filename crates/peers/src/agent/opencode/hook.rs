//! The calls of the plugin ([`plugin.js`](super::launch)) and the answers it reads.
//!
//! Translation only. The engine decides whether a tool may run and whether the agent may stop.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::hook::{HookAnswer, HookKind};

use super::super::dialect::Printed;
use super::tools;

/// The names of the plugin's calls.
pub(super) const TOOL: &str = "opencode_tool";
pub(super) const STOP: &str = "opencode_stop";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    tool: String,
    input: Value,
    server: Option<String>,
    last_message: Option<String>,
    cwd: Option<PathBuf>,
}

fn read(payload: &[u8]) -> Payload {
    serde_json::from_slice(payload).unwrap_or_default()
}

/// Parses a call of the plugin. An unreadable payload becomes an unknown tool or a plain stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload = read(payload);
    match event {
        TOOL => HookKind::Tool(tools::call(payload.tool, payload.server.as_deref(), payload.input)),
        STOP => HookKind::Stop { last_message: payload.last_message, background: false },
        other => HookKind::Other { name: other.to_owned() },
    }
}

/// Returns the folder in which OpenCode works, to which relative paths refer.
pub(super) fn read_cwd(payload: &[u8]) -> Option<PathBuf> {
    read(payload).cwd
}

/// Writes an answer for the plugin. An unsuitable answer never allows a tool and always allows a stop.
pub(super) fn write_answer(event: &str, answer: &HookAnswer) -> Printed {
    let said = match (event, answer) {
        (TOOL, HookAnswer::Pass) => None,
        (TOOL, HookAnswer::Allow) => Some(json!({ "decision": "allow" })),
        (TOOL, HookAnswer::Deny { reason } | HookAnswer::Block { reason }) => {
            Some(json!({ "decision": "deny", "reason": reason }))
        }
        (TOOL, HookAnswer::Reply { .. }) => Some(json!({ "decision": "deny" })),
        (STOP, HookAnswer::Block { reason }) => Some(json!({ "reason": reason })),
        _ => None,
    };
    Printed { stdout: said.map(|value| value.to_string()).unwrap_or_default(), ..Printed::default() }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::{ToolCall, ToolName};

    use super::*;

    #[test]
    fn the_plugins_calls_are_read() {
        let tool = br#"{"tool":"bash","callID":"c","cwd":"/w","input":{"command":"ls"}}"#;
        let call = ToolCall { tool: ToolName::Shell, name: "bash".into(), input: json!({ "command": "ls" }) };
        assert_eq!(read_hook(TOOL, tool), HookKind::Tool(call));
        assert_eq!(read_cwd(tool), Some(PathBuf::from("/w")));
        let stop = HookKind::Stop { last_message: Some("bye".into()), background: false };
        assert_eq!(read_hook(STOP, br#"{"last_message":"bye"}"#), stop);
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows() {
        let call = ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null };
        assert_eq!(read_hook(TOOL, b"{"), HookKind::Tool(call));
    }

    #[test]
    fn only_an_allowed_tool_is_allowed_and_only_a_block_keeps_the_session_working() {
        let deny = || HookAnswer::Deny { reason: "no".into() };
        let block = || HookAnswer::Block { reason: "more".into() };
        let said = |event, answer| write_answer(event, &answer).stdout;
        assert_eq!(said(TOOL, HookAnswer::Allow), r#"{"decision":"allow"}"#);
        assert_eq!(said(TOOL, deny()), r#"{"decision":"deny","reason":"no"}"#);
        assert_eq!(said(TOOL, HookAnswer::Reply { answers: Vec::new() }), r#"{"decision":"deny"}"#);
        assert_eq!(said(STOP, block()), r#"{"reason":"more"}"#);
        for answer in [HookAnswer::Pass, HookAnswer::Allow, deny()] {
            assert_eq!(said(STOP, answer), "");
        }
    }
}
