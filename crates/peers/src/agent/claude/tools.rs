//! Claude Code's names for its tools.

use windlass_core::hook::{ToolCall, ToolName};

/// The tool with which the agent asks a person.
pub(super) const QUESTION: &str = "AskUserQuestion";
/// The tool with which the agent gives an answer that must fit a schema.
pub(super) const ANSWER: &str = "StructuredOutput";

/// Tools that affect only the conversation or things it already started.
const INNER: &[&str] = &[
    ANSWER,
    QUESTION,
    "ToolSearch",
    "TodoWrite",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
    "BashOutput",
    "KillShell",
];

/// The tools that a session can have.
pub(super) const HAS: &[ToolName] = &ToolName::ALL;

/// Returns the canonical name of a tool. A tool that the presets do not list is `Other`.
pub(super) fn name(name: &str) -> ToolName {
    match name {
        "Read" => ToolName::Read,
        "Edit" => ToolName::Edit,
        "Write" => ToolName::Write,
        "Glob" | "Grep" => ToolName::Search,
        "Bash" => ToolName::Shell,
        "WebFetch" => ToolName::WebFetch,
        "WebSearch" => ToolName::WebSearch,
        "Task" | "Agent" => ToolName::Task,
        "Skill" => ToolName::Skill,
        inner if INNER.contains(&inner) => ToolName::Plan,
        server if server.starts_with("mcp__") => ToolName::Mcp,
        _ => ToolName::Other,
    }
}

/// Builds a tool call. The stream writes `Task` where hooks write `Agent`; both are the same tool.
pub(super) fn call(written: String, input: serde_json::Value) -> ToolCall {
    let written = if written == "Agent" { "Task".to_owned() } else { written };
    ToolCall { tool: name(&written), name: written, input }
}
