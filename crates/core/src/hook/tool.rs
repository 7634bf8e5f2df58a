//! Windlass's own names for the tools of agents.
//!
//! Each agent CLI has its own names. A driver maps them to these and keeps the CLI's name beside them. The
//! spellings that people may use in rules are in [`registry::tools`](crate::registry::tools).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The number of bytes kept of a text that no rule reads.
const SHOWN: usize = 2 * 1024;
/// The number of entries kept of a list.
const SHOWN_ENTRIES: usize = 100;
/// Rules read these inputs, so they are kept whole: padding must not get past a rule.
const RULED: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "path",
    "absolute_path",
    "url",
    "query",
    "skill",
    "subagent_type",
    "pattern",
];

/// Separates the files in the path of a call that changes several. No path contains it.
pub const SEVERAL_FILES: char = '\0';

/// The kind of a tool, the same for every agent CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolName {
    /// Shows the content of a file.
    Read,
    /// Changes a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Finds files by name or content.
    Search,
    /// Runs a command line.
    Shell,
    /// Loads a page.
    WebFetch,
    /// Searches the web.
    WebSearch,
    /// Starts a subagent.
    Task,
    /// Loads a skill.
    Skill,
    /// A tool of an MCP server. Its name is `mcp__SERVER__TOOL`.
    Mcp,
    /// Keeps notes, plans and answers of the conversation. It affects nothing else, so no rule applies to
    /// it.
    Plan,
    Other,
}

impl ToolName {
    /// All tools, in the order of the documentation.
    pub const ALL: [ToolName; 12] = [
        ToolName::Read,
        ToolName::Edit,
        ToolName::Write,
        ToolName::Search,
        ToolName::Shell,
        ToolName::WebFetch,
        ToolName::WebSearch,
        ToolName::Task,
        ToolName::Skill,
        ToolName::Mcp,
        ToolName::Plan,
        ToolName::Other,
    ];

    /// Returns the word used in rules and in output.
    pub fn word(self) -> &'static str {
        match self {
            ToolName::Read => "read",
            ToolName::Edit => "edit",
            ToolName::Write => "write",
            ToolName::Search => "search",
            ToolName::Shell => "shell",
            ToolName::WebFetch => "web_fetch",
            ToolName::WebSearch => "web_search",
            ToolName::Task => "task",
            ToolName::Skill => "skill",
            ToolName::Mcp => "mcp",
            ToolName::Plan => "plan",
            ToolName::Other => "other",
        }
    }

    /// Reads a word; ignores case.
    pub fn parse(word: &str) -> Option<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.word().eq_ignore_ascii_case(word))
    }
}

/// One use of a tool.
///
/// Rules read these keys of the input: `command`, `path`, `url`, `query`, `skill`, `pattern`. A driver
/// renames the keys of its CLI to match. A path may name several files ([`SEVERAL_FILES`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool: ToolName,
    /// The tool's name in the agent CLI.
    pub name: String,
    /// The tool's input. Parts that no rule reads may be shortened.
    pub input: Value,
}

impl ToolCall {
    /// Creates a call for a command line that Windlass itself wants to run for a session.
    pub fn shell(command: &str) -> ToolCall {
        let name = ToolName::Shell.word().to_owned();
        ToolCall { tool: ToolName::Shell, name, input: serde_json::json!({ "command": command }) }
    }

    /// Shortens the input to the parts that rules and people read. The log keeps decisions, not payloads.
    #[must_use]
    pub fn shortened(self) -> ToolCall {
        let input = match self.input {
            Value::Object(map) => Value::Object(map.into_iter().map(shown_field).collect()),
            other => shown(other),
        };
        ToolCall { input, ..self }
    }
}

fn shown_field((key, value): (String, Value)) -> (String, Value) {
    if RULED.contains(&key.as_str()) && value.is_string() {
        return (key, value);
    }
    (key, shown(value))
}

fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shorten(text)),
        Value::Array(list) => Value::Array(list.into_iter().take(SHOWN_ENTRIES).map(shown).collect()),
        Value::Object(map) => {
            let kept: Map<_, _> = map.into_iter().take(SHOWN_ENTRIES).map(|(k, v)| (k, shown(v))).collect();
            Value::Object(kept)
        }
        other => other,
    }
}

fn shorten(text: String) -> String {
    if text.len() <= SHOWN {
        return text;
    }
    let end = (0..=SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
impl ToolCall {
    /// A call as the dialect of Claude Code reports it, for tests of rules.
    pub(crate) fn named(name: &str, input: Value) -> ToolCall {
        let tool = match name {
            "Read" => ToolName::Read,
            "Edit" => ToolName::Edit,
            "Write" => ToolName::Write,
            "Glob" | "Grep" => ToolName::Search,
            "Bash" => ToolName::Shell,
            "WebFetch" => ToolName::WebFetch,
            "WebSearch" => ToolName::WebSearch,
            "Task" | "Agent" => ToolName::Task,
            "Skill" => ToolName::Skill,
            name if crate::registry::tools::is_always_allowed(name) && !name.starts_with("mcp__") => {
                ToolName::Plan
            }
            name if name.starts_with("mcp__") => ToolName::Mcp,
            _ => ToolName::Other,
        };
        ToolCall { tool, name: name.to_owned(), input }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shortened_where_it_is_only_shown() {
        let command = format!("echo {} && rm -rf /", "x".repeat(5000));
        let call = ToolCall::named("Bash", json!({ "command": command, "description": "d".repeat(5000) }));
        let input = call.shortened().input;
        assert_eq!(input["command"], command);
        assert!(input["description"].as_str().unwrap().len() < 2100);
    }
}
