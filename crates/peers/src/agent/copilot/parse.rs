//! Translates a line of Copilot's output into our events by its kind.
//!
//! Each line is parsed once, typed and borrowed. Most lines are about the progress of a message or a tool that a
//! later line repeats as a whole, and are not parsed at all. The files in `parse/` read the individual kinds.

mod end;
mod failure;
mod message;
mod notice;
mod quota;
#[cfg(test)]
mod tests;
mod tool;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use windlass_core::agent::{AgentEvent, TurnFailure};
use windlass_core::time::Moment;

use super::super::dialect::ReadLine;
use super::super::stamp;
use failure::FailedCall;

/// The beginning of every line, as the CLI writes it, which saves a search for the kind.
const KIND: &str = r#"{"type":""#;

/// Kinds that only tell about progress, or repeat what another line says.
const PROGRESS: &[&str] = &[
    "agent.interrupted",
    "assistant.intent",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.reasoning",
    "assistant.reasoning_delta",
    "assistant.streaming_delta",
    "assistant.tool_call_delta",
    "assistant.turn_end",
    "assistant.turn_start",
    "assistant.usage",
    "hook.end",
    "hook.progress",
    "hook.start",
    "model.call_final_result",
    "model.call_finished",
    "model.call_start",
    "permission.completed",
    "permission.requested",
    "session.background_tasks_changed",
    "session.compaction_complete",
    "session.compaction_start",
    "session.custom_agents_updated",
    "session.mcp_server_status_changed",
    "session.mcp_server_tools_loaded",
    "session.mcp_servers_loaded",
    "session.mode_changed",
    "session.permissions_changed",
    "session.plan_changed",
    "session.skills_loaded",
    "session.title_changed",
    "session.todos_changed",
    "session.usage_checkpoint",
    "session.usage_info",
    "session.usage_record",
    "session.workspace_file_changed",
    "skill.invoked",
    "subagent.completed",
    "subagent.configured",
    "subagent.started",
    "system.message",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.shell_output",
    "user.message",
];

/// A line of the output. Declares all keys but those of its data, so that a second `type` is an error.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotLine<'a, T> {
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    data: T,
    /// The subagent that the line is about.
    #[serde(borrow, default)]
    agent_id: Option<Cow<'a, str>>,
}

impl<'a, T: Deserialize<'a>> CopilotLine<'a, T> {
    fn read(line: &'a str) -> serde_json::Result<CopilotLine<'a, T>> {
        serde_json::from_str(line)
    }

    fn is_side(&self) -> bool {
        self.agent_id.is_some()
    }
}

/// A reader of one turn. It remembers what the last line needs to tell how the turn ended.
#[derive(Debug, Default)]
pub(super) struct CopilotReader {
    model: String,
    /// The latest failed request to the model.
    failed: Option<FailedCall>,
    /// The reason why the turn fails, unless it goes on.
    failure: Option<TurnFailure>,
    was_aborted: bool,
}

impl ReadLine for CopilotReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        self.read(line, out).map_err(|error| error.to_string())
    }

    fn time(&self, line: &str) -> Option<Moment> {
        stamp::time(line)
    }
}

impl CopilotReader {
    fn read(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        match line.strip_prefix(KIND).and_then(|rest| rest.split_once('"')) {
            Some((kind, _)) => self.read_kind(kind, line, out),
            None => {
                #[derive(Deserialize)]
                struct Kind<'a> {
                    #[serde(rename = "type", borrow)]
                    kind: Cow<'a, str>,
                }
                let Kind { kind } = serde_json::from_str(line)?;
                self.read_kind(&kind, line, out)
            }
        }
    }

    fn read_kind(&mut self, kind: &str, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        match kind {
            progress if PROGRESS.binary_search(&progress).is_ok() => Ok(()),
            "assistant.message" => self.read_message(line, out),
            "tool.execution_complete" => tool::read(line, out),
            "session.tools_updated" => self.read_model(line, out),
            "model.call_failure" => self.read_failed_call(line, out),
            "assistant.turn_retry" => self.read_retry(line, out),
            "session.error" => self.read_error(line, out),
            "session_limits_exhausted.requested" => self.read_exhausted(line),
            "abort" => self.read_abort(line),
            "assistant.idle" => self.read_idle(line, out),
            "result" => self.read_result(line, out),
            "session.info" => notice::read_info(line, out),
            "session.warning" => notice::read_warning(line, out),
            other => {
                out.push(AgentEvent::Unknown { what: other.to_owned() });
                Ok(())
            }
        }
    }
}
