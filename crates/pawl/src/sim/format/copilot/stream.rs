//! The lines of Copilot: each has data, an id, a time, and the id of the line before it.

use std::io;

use serde_json::{Value, json};

use super::tools::CopilotCall;
use crate::sim::event::{CallVerdict, ToolResult};
use crate::sim::ids::{new_uuid, now_iso, short_id};
use crate::sim::lines::EventLines;

/// The writer of lines. It knows the ids that they repeat.
#[derive(Default)]
pub(super) struct CopilotLines {
    /// The last line that the CLI keeps in its own record.
    parent: String,
    interaction: String,
    prompt_message: String,
    turns: u32,
    /// The call that runs.
    call: String,
}

impl CopilotLines {
    /// Writes a line that only tells about progress.
    pub(super) fn passing(&mut self, kind: &str, data: Value, lines: &mut EventLines<'_>) -> io::Result<()> {
        lines.ordered(&[
            ("type", json!(kind)),
            ("data", data),
            ("ephemeral", json!(true)),
            ("id", json!(new_uuid())),
            ("timestamp", json!(now_iso())),
            ("parentId", json!(self.parent)),
        ])
    }

    /// Writes a line that the CLI keeps in its record.
    pub(super) fn kept(&mut self, kind: &str, data: Value, lines: &mut EventLines<'_>) -> io::Result<()> {
        let id = new_uuid();
        let parent = std::mem::replace(&mut self.parent, id.clone());
        lines.ordered(&[
            ("type", json!(kind)),
            ("data", data),
            ("id", json!(id)),
            ("timestamp", json!(now_iso())),
            ("parentId", json!(parent)),
        ])
    }

    /// Writes a prompt: the user's, or the reason of a hook.
    pub(super) fn prompt(
        &mut self,
        prompt: &str,
        delivery: &str,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        self.passing("session.tools_updated", json!({"model": lines.model}), lines)?;
        self.interaction = new_uuid();
        self.prompt_message = new_uuid();
        self.turns = 0;
        let shown = format!("<current_datetime>{}</current_datetime>\n\n{prompt}", now_iso());
        let data = json!({
            "content": prompt, "transformedContent": shown, "messageId": self.prompt_message,
            "supportedNativeDocumentMimeTypes": [], "delivery": delivery, "interactionId": self.interaction,
            "turnId": "0", "parentAgentTaskId": new_uuid(),
        });
        self.kept("user.message", data, lines)
    }

    pub(super) fn start_turn(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        let data = json!({"turnId": self.turns.to_string(), "interactionId": self.interaction});
        self.kept("assistant.turn_start", data, lines)
    }

    pub(super) fn end_turn(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        let data = json!({"turnId": self.turns.to_string()});
        self.turns += 1;
        self.kept("assistant.turn_end", data, lines)
    }

    /// Writes a text, first as it grows and then as a whole.
    pub(super) fn say(&mut self, text: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        let id = new_uuid();
        self.passing("assistant.message_start", json!({"messageId": id}), lines)?;
        let delta = json!({"messageId": id, "deltaContent": text});
        self.passing("assistant.message_delta", delta, lines)?;
        self.message(json!({"messageId": id, "content": text, "toolRequests": []}), lines)
    }

    /// Writes a message with these fields.
    pub(super) fn message(&mut self, fields: Value, lines: &mut EventLines<'_>) -> io::Result<()> {
        let mut data = json!({
            "messageId": new_uuid(), "originatingMessageId": self.prompt_message, "model": lines.model,
            "interactionId": self.interaction, "turnId": self.turns.to_string(), "rte": false,
            "apiCallId": format!("chatcmpl-{}", short_id()),
        });
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.kept("assistant.message", data, lines)
    }

    pub(super) fn start_tool(
        &mut self,
        id: &str,
        call: &CopilotCall,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        self.call = id.to_owned();
        let data = json!({
            "toolCallId": id, "toolName": call.tool, "arguments": call.input, "turnId": self.turns.to_string(),
            "model": lines.model,
        });
        self.kept("tool.execution_start", data, lines)
    }

    pub(super) fn end_tool(
        &mut self,
        call: &CopilotCall,
        result: &ToolResult,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        // A command that fails is a call that succeeds.
        let is_error = result.is_error && result.shell.is_none();
        let mut data = json!({
            "toolCallId": self.call, "model": lines.model, "interactionId": self.interaction,
            "turnId": self.turns.to_string(), "rte": false, "success": !is_error,
        });
        if let Some(data) = data.as_object_mut() {
            match is_error {
                true => {
                    let code = if result.verdict == CallVerdict::Refused { "denied" } else { "failure" };
                    data.insert("error".to_owned(), json!({"message": result.text(), "code": code}));
                }
                false => drop(data.insert("result".to_owned(), call.output(result))),
            }
            if let Some(shell) = &result.shell {
                data.insert("shellExecution".to_owned(), json!({"exitCode": shell.code}));
            }
        }
        self.kept("tool.execution_complete", data, lines)
    }

    /// Writes that the user interrupted the agent, or a signal did.
    pub(super) fn interrupted(
        &mut self,
        is_user: bool,
        is_in_tool: bool,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        let activity = if is_in_tool { "tool_call" } else { "model_call" };
        let data = json!({"activity": activity, "turn": self.turns, "elapsedMs": lines.elapsed_ms()});
        self.passing("agent.interrupted", data, lines)?;
        self.end_turn(lines)?;
        let reason = if is_user { "user_abort" } else { "user_initiated" };
        self.kept("abort", json!({"reason": reason}), lines)?;
        if is_user {
            let data = json!({"infoType": "cancellation", "message": "Operation cancelled by user"});
            self.passing("session.info", data, lines)?;
        }
        self.passing("assistant.idle", json!({"aborted": true}), lines)
    }

    /// Writes the last line. It has no data.
    pub(super) fn result(&self, code: u8, changed: &[Value], lines: &mut EventLines<'_>) -> io::Result<()> {
        let usage = json!({
            "premiumRequests": 0, "totalApiDurationMs": lines.elapsed_ms(),
            "sessionDurationMs": lines.elapsed_ms(),
            "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModified": changed},
        });
        lines.ordered(&[
            ("type", json!("result")),
            ("timestamp", json!(now_iso())),
            ("sessionId", json!(lines.session)),
            ("exitCode", json!(code)),
            ("usage", usage),
        ])
    }
}
