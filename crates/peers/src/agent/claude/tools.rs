//! Claude Code's names for its tools.

use windlass_core::hook::{ToolCall, ToolName};

/// The tool with which the agent asks a person.
pub(super) const QUESTION: &str = "AskUserQuestion";

/// Tools that reach nothing beyond the conversation, or only what it already started.
const INNER: &[&str] = &[
    "StructuredOutput",
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

/// Tells what a tool does. A tool that the presets do not list is `Other`, whatever it does.
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

/// A use of a tool. The stream says `Task` where hooks say `Agent`: it is one tool.
pub(super) fn call(written: String, input: serde_json::Value) -> ToolCall {
    let written = if written == "Agent" { "Task".to_owned() } else { written };
    ToolCall { tool: name(&written), name: written, input }
}
