//! Copilot's hooks: the payloads it sends to them and the answers they print.
//!
//! Translation only. The engine decides whether a tool may run and whether the agent may stop.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::hook::{HookAnswer, HookKind};

use super::super::dialect::Printed;
use super::tools;

/// The hook before each tool call, also of subagents.
pub(super) const TOOL: &str = "preToolUse";
/// The hook before the agent ends its turn.
pub(super) const STOP: &str = "agentStop";

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Payload {
    tool_name: String,
    tool_args: Value,
    /// The subagent that makes the call. The main agent has none.
    agent_id: Option<String>,
}

/// Parses the payload that the CLI sent to a hook. An unreadable payload becomes an unknown tool or a plain
/// stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload: Payload = serde_json::from_slice(payload).unwrap_or_default();
    match event {
        TOOL => HookKind::Tool(tools::call(payload.tool_name, payload.tool_args)),
        // The end of a subagent is not the end of the turn.
        STOP if payload.agent_id.is_none() => HookKind::Stop { last_message: None, background: false },
        other => HookKind::Other { name: other.to_owned() },
    }
}

/// Returns the working folder of the CLI, to which relative paths refer.
pub(super) fn read_cwd(payload: &[u8]) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct PayloadFolder {
        cwd: PathBuf,
    }
    serde_json::from_slice::<PayloadFolder>(payload).ok().map(|folder| folder.cwd)
}

/// Translates an answer into the CLI's format. A silent hook leaves the tool to the CLI's own permissions,
/// which refuse it when nobody watches.
pub(super) fn write_answer(event: &str, answer: &HookAnswer) -> Printed {
    let said = match event {
        TOOL => tool_answer(answer),
        STOP => stop_answer(answer),
        _ => None,
    };
    Printed { stdout: said.map(|value| value.to_string()).unwrap_or_default(), ..Printed::default() }
}

fn tool_answer(answer: &HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Allow => Some(json!({ "permissionDecision": "allow" })),
        HookAnswer::Deny { reason } | HookAnswer::Block { reason } => {
            Some(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        HookAnswer::Pass | HookAnswer::Reply { .. } => None,
    }
}

fn stop_answer(answer: &HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Block { reason } => Some(json!({ "decision": "block", "reason": reason })),
        HookAnswer::Pass | HookAnswer::Allow | HookAnswer::Reply { .. } | HookAnswer::Deny { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::{ToolCall, ToolName};

    use super::*;

    #[test]
    fn a_call_of_a_tool_is_read() {
        let payload = br#"{"sessionId":"s","timestamp":1795061849153,"cwd":"/repo","toolName":"bash","toolArgs":{"command":"ls","description":"d"}}"#;
        let input = json!({ "command": "ls", "description": "d" });
        let call = ToolCall { tool: ToolName::Shell, name: "bash".into(), input };
        assert_eq!(read_hook(TOOL, payload), HookKind::Tool(call));
        assert_eq!(read_cwd(payload), Some(PathBuf::from("/repo")));
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows() {
        let call = ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null };
        assert_eq!(read_hook(TOOL, b"{"), HookKind::Tool(call));
        assert_eq!(read_cwd(b"{"), None);
    }

    #[test]
    fn the_end_of_a_subagent_is_not_a_stop() {
        let stop = br#"{"sessionId":"s","stopReason":"end_turn","stop_hook_active":true}"#;
        assert_eq!(read_hook(STOP, stop), HookKind::Stop { last_message: None, background: false });
        let side = br#"{"sessionId":"s","stopReason":"end_turn","agentId":"a"}"#;
        assert_eq!(read_hook(STOP, side), HookKind::Other { name: STOP.into() });
    }

    #[test]
    fn answers_are_in_the_clis_words() {
        let said = |event: &str, answer: HookAnswer| -> Option<Value> {
            serde_json::from_str(&write_answer(event, &answer).stdout).ok()
        };
        let (no, more) = (|| "no".to_owned(), || "go on".to_owned());
        let deny = json!({ "permissionDecision": "deny", "permissionDecisionReason": "no" });
        assert_eq!(said(TOOL, HookAnswer::Allow), Some(json!({ "permissionDecision": "allow" })));
        assert_eq!(said(TOOL, HookAnswer::Deny { reason: no() }), Some(deny.clone()));
        assert_eq!(said(TOOL, HookAnswer::Block { reason: no() }), Some(deny));
        assert_eq!(said(TOOL, HookAnswer::Pass), None);
        let block = json!({ "decision": "block", "reason": "go on" });
        assert_eq!(said(STOP, HookAnswer::Block { reason: more() }), Some(block));
        assert_eq!(said(STOP, HookAnswer::Deny { reason: no() }), None);
        assert_eq!(said("other", HookAnswer::Allow), None);
    }
}
