//! Gemini CLI's hooks: the payloads it sends to them and the answers they print.
//!
//! Translation only. The engine decides whether a tool may run and whether the agent may stop.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::hook::{HookAnswer, HookKind, ToolName};

use super::super::dialect::Printed;
use super::tools;
use crate::files;

/// Fires before a tool runs.
pub(super) const TOOL: &str = "BeforeTool";
/// Fires when the agent has nothing more to do.
pub(super) const STOP: &str = "AfterAgent";

/// The number of bytes at the end of a conversation in which to look for its last message.
const TAIL: u64 = 1 << 20;

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    tool_name: String,
    tool_input: Value,
    mcp_context: Option<McpContext>,
    prompt_response: Option<String>,
    transcript_path: Option<PathBuf>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct McpContext {
    server_name: String,
    tool_name: String,
}

/// Parses the payload that the CLI sent to a hook. An unreadable payload becomes an unknown tool or a plain
/// stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload: Payload = serde_json::from_slice(payload).unwrap_or_default();
    match event {
        TOOL => read_tool(payload),
        STOP => HookKind::Stop { last_message: last_message(&payload), background: false },
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

fn read_tool(payload: Payload) -> HookKind {
    let mut call = tools::call(payload.tool_name, payload.tool_input);
    if let Some(mcp) = payload.mcp_context.filter(|mcp| !mcp.server_name.is_empty()) {
        call.tool = ToolName::Mcp;
        call.name = format!("mcp__{}__{}", mcp.server_name, mcp.tool_name);
    } else if call.tool == ToolName::Mcp
        && let Some(name) = tools::mcp_name(&call.name)
    {
        call.name = name;
    }
    HookKind::Tool(call)
}

/// Returns the agent's last message.
///
/// `prompt_response` joins all messages of the turn, so a word from an earlier message would count as the last
/// one. The CLI's own record of the conversation has the messages apart. It is believed only if
/// `prompt_response` ends with its last message.
fn last_message(payload: &Payload) -> Option<String> {
    let joined = payload.prompt_response.as_ref()?;
    let recorded = payload.transcript_path.as_deref().and_then(last_recorded);
    Some(
        recorded
            .filter(|last| joined.trim_end().ends_with(last.trim_end()))
            .unwrap_or_else(|| joined.clone()),
    )
}

fn last_recorded(transcript: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Recorded {
        #[serde(rename = "type")]
        kind: String,
        content: String,
    }
    let text = files::read_tail(transcript, TAIL);
    let mut lines = text.lines().rev().filter_map(|line| serde_json::from_str::<Recorded>(line).ok());
    lines.find(|line| line.kind == "gemini" && !line.content.is_empty()).map(|line| line.content)
}

/// Translates an answer into the CLI's format. An unsuitable answer never allows a tool and always allows a
/// stop.
pub(super) fn write_answer(event: &str, answer: &HookAnswer) -> Printed {
    let said = match (event, answer) {
        (TOOL, HookAnswer::Allow) => Some(json!({ "decision": "allow" })),
        (TOOL, HookAnswer::Deny { reason } | HookAnswer::Block { reason }) => Some(denial(reason)),
        (TOOL, HookAnswer::Pass | HookAnswer::Reply { .. }) => Some(denial("the run has not decided this")),
        (STOP, HookAnswer::Block { reason }) => Some(json!({ "decision": "block", "reason": reason })),
        _ => None,
    };
    Printed { stdout: said.map(|value| value.to_string()).unwrap_or_default(), ..Printed::default() }
}

fn denial(reason: &str) -> Value {
    json!({ "decision": "deny", "reason": reason })
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::ToolCall;

    use super::*;

    fn stop(payload: &Value) -> Option<String> {
        match read_hook(STOP, payload.to_string().as_bytes()) {
            HookKind::Stop { last_message, background: false } => last_message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_message_of_a_stop_is_not_mixed_with_earlier_ones() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("session.jsonl");
        let lines = [
            json!({"type": "gemini", "content": "first DONE"}),
            json!({"type": "user", "content": [{"text": "go on"}]}),
            json!({"type": "gemini", "content": "still\nworking\n"}),
            json!({"$set": {"lastUpdated": "x"}}),
        ];
        std::fs::write(&record, lines.map(|line| format!("{line}\n")).concat()).unwrap();
        let payload = |said: &str| json!({"prompt_response": said, "transcript_path": record});
        assert_eq!(stop(&payload("first DONE\nstill\nworking")).as_deref(), Some("still\nworking\n"));
        assert_eq!(stop(&payload("something else")).as_deref(), Some("something else"), "it is not believed");
        assert_eq!(
            stop(&json!({"prompt_response": "x", "transcript_path": "/nowhere"})).as_deref(),
            Some("x")
        );
        assert_eq!(stop(&json!({})), None);
    }

    #[test]
    fn a_tool_of_a_server_has_the_name_that_rules_use() {
        let call = |payload: Value| match read_hook(TOOL, payload.to_string().as_bytes()) {
            HookKind::Tool(call) => (call.tool, call.name),
            other => panic!("{other:?}"),
        };
        let context = json!({"server_name": "my_docs", "tool_name": "find"});
        let payload = json!({"tool_name": "mcp_my_docs_find", "tool_input": {}, "mcp_context": context});
        assert_eq!(call(payload), (ToolName::Mcp, "mcp__my_docs__find".to_owned()));
        let bare = json!({"tool_name": "mcp_docs_find", "tool_input": {}});
        assert_eq!(call(bare), (ToolName::Mcp, "mcp__docs__find".to_owned()));
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows() {
        let call = ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null };
        assert_eq!(read_hook(TOOL, b"{"), HookKind::Tool(call));
        assert_eq!(read_hook("BeforeModel", b"{}"), HookKind::Other { name: "BeforeModel".into() });
    }

    #[test]
    fn answers_are_in_the_clis_words() {
        let said = |event, answer: HookAnswer| write_answer(event, &answer).stdout;
        let no = HookAnswer::Deny { reason: "no".into() };
        assert_eq!(said(TOOL, HookAnswer::Allow), r#"{"decision":"allow"}"#);
        assert_eq!(said(TOOL, no.clone()), r#"{"decision":"deny","reason":"no"}"#);
        assert!(said(TOOL, HookAnswer::Pass).contains("deny"));
        let block = HookAnswer::Block { reason: "go on".into() };
        assert_eq!(said(STOP, block), r#"{"decision":"block","reason":"go on"}"#);
        assert_eq!((said(STOP, HookAnswer::Pass), said(STOP, no)), (String::new(), String::new()));
    }
}
