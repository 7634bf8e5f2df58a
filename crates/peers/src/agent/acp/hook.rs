//! The questions of a conversation as hook calls: a tool that needs a permission, and the end of a prompt.
//!
//! Both sides of this format are in this folder: [`permission`](super::permission) and
//! [`conversation`](super::conversation) write the questions and read the answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::hook::{HookAnswer, HookKind, ToolCall, ToolName};

use super::super::dialect::Printed;

/// The event name of a permission request.
pub(super) const PERMISSION: &str = "acp_permission";
/// The event name of the end of a prompt.
pub(super) const STOP: &str = "acp_stop";

/// The payload at the end of a prompt.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Stopped {
    pub(super) last_message: Option<String>,
}

/// An answer, for the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Allow,
    Refuse,
    /// The agent may not stop, and gets this message.
    GoOn(String),
}

/// Parses a question. An unreadable one becomes an unknown tool or a plain stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    match event {
        PERMISSION => HookKind::Tool(serde_json::from_slice(payload).unwrap_or_else(|_| unknown())),
        STOP => {
            let Stopped { last_message } = serde_json::from_slice(payload).unwrap_or_default();
            HookKind::Stop { last_message, background: false }
        }
        other => HookKind::Other { name: other.to_owned() },
    }
}

fn unknown() -> ToolCall {
    ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null }
}

/// Writes an answer. An unsuitable one never allows a tool and always allows a stop.
pub(super) fn write_answer(answer: &HookAnswer) -> Printed {
    let answer = match answer {
        HookAnswer::Allow => Answer::Allow,
        HookAnswer::Block { reason } => Answer::GoOn(reason.clone()),
        HookAnswer::Pass | HookAnswer::Reply { .. } | HookAnswer::Deny { .. } => Answer::Refuse,
    };
    Printed { stdout: serde_json::to_string(&answer).unwrap_or_default(), ..Printed::default() }
}

/// Reads an answer. An unreadable one refuses.
pub(super) fn read_answer(text: &str) -> Answer {
    serde_json::from_str(text).unwrap_or(Answer::Refuse)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_a_tool_or_a_stop() {
        let call =
            ToolCall { tool: ToolName::Shell, name: "execute".into(), input: json!({ "command": "ls" }) };
        let payload = serde_json::to_vec(&call).unwrap();
        assert_eq!(read_hook(PERMISSION, &payload), HookKind::Tool(call));
        assert_eq!(read_hook(PERMISSION, b"{"), HookKind::Tool(unknown()));
        let stop = |message: Option<&str>| HookKind::Stop {
            last_message: message.map(str::to_owned),
            background: false,
        };
        assert_eq!(read_hook(STOP, br#"{"last_message":"bye"}"#), stop(Some("bye")));
        assert_eq!(read_hook(STOP, b""), stop(None));
    }

    #[test]
    fn only_a_plain_yes_allows() {
        let written = |answer: HookAnswer| read_answer(&write_answer(&answer).stdout);
        assert_eq!(written(HookAnswer::Allow), Answer::Allow);
        assert_eq!(written(HookAnswer::Block { reason: "more".into() }), Answer::GoOn("more".into()));
        for other in [
            HookAnswer::Pass,
            HookAnswer::Deny { reason: "no".into() },
            HookAnswer::Reply { answers: Vec::new() },
        ] {
            assert_eq!(written(other), Answer::Refuse);
        }
        assert_eq!(read_answer(""), Answer::Refuse);
    }
}
