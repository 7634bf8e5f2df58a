//! Says in plain words what an agent wants to do with a tool.

use serde_json::{Map, Value};
use windlass_core::hook::{ToolCall, ToolName};

use crate::cli::sanitize::{plain, plain_line, plain_short, shorten};

/// The longest line of a command, and the most lines that are shown.
const LINE: usize = 400;
const LINES: usize = 20;
/// The longest further input, and the most that are shown.
const INPUT: usize = 300;
const INPUTS: usize = 8;
/// The keys of a path, the most common first.
const PATHS: &[&str] = &["file_path", "path", "notebook_path", "absolute_path"];

/// Describes the call: what the agent wants, then the rest of the input on lines of their own.
pub(super) fn wants(who: &str, call: &ToolCall) -> Vec<String> {
    let empty = Map::new();
    let input = call.input.as_object().unwrap_or(&empty);
    let Some((verb, key, subject)) = subject(call.tool, input) else {
        let mut lines = vec![format!("{who} wants to use {}", plain_line(&call.name))];
        lines.extend(inputs(input, None));
        if input.is_empty() && !call.input.is_null() && !call.input.is_object() {
            lines.push(format!("    {}", plain_short(&call.input.to_string(), INPUT)));
        }
        return lines;
    };
    let text = plain(subject.trim());
    let mut shown = text.lines().map(|line| shorten(line.trim_end(), LINE));
    let mut lines = vec![format!("{who} wants to {verb}: {}", shown.next().unwrap_or_default())];
    lines.extend(shown.by_ref().take(LINES).map(|line| format!("    {line}")));
    // A person must know that there is more, because a harmful end may be hidden behind padding.
    let more = shown.count();
    lines.extend((more > 0).then(|| format!("    ... ({more} more lines)")));
    lines.extend(inputs(input, Some(key)));
    lines
}

/// Finds the input that says what the call is about, with its key and a verb.
fn subject(tool: ToolName, input: &Map<String, Value>) -> Option<(&'static str, &'static str, &str)> {
    let (verb, keys): (&str, &[&str]) = match tool {
        ToolName::Shell => ("run", &["command"]),
        ToolName::Read => ("read", PATHS),
        ToolName::Edit => ("change", PATHS),
        ToolName::Write => ("write", PATHS),
        ToolName::Search => ("search for", &["pattern", "query"]),
        ToolName::WebFetch => ("load", &["url"]),
        ToolName::WebSearch => ("search the web for", &["query"]),
        ToolName::Task => ("start a subagent", &["subagent_type"]),
        ToolName::Skill => ("use the skill", &["skill"]),
        ToolName::Mcp | ToolName::Plan | ToolName::Other => return None,
    };
    keys.iter().find_map(|key| {
        let text = input.get(*key)?.as_str().filter(|text| !text.trim().is_empty())?;
        Some((verb, *key, text))
    })
}

/// Lists the inputs without the one that was shown.
fn inputs(input: &Map<String, Value>, shown: Option<&str>) -> Vec<String> {
    let line = |(key, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("    {}: {}", plain_short(key, 40), plain_short(&text, INPUT))
    };
    let rest: Vec<_> = input.iter().filter(|(key, _)| Some(key.as_str()) != shown).collect();
    let hidden = rest.len().saturating_sub(INPUTS);
    let mut lines: Vec<String> = rest.into_iter().take(INPUTS).map(line).collect();
    lines.extend((hidden > 0).then(|| format!("    ... ({hidden} more inputs)")));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(tool: ToolName, name: &str, input: Value) -> Vec<String> {
        wants("the agent", &ToolCall { tool, name: name.to_owned(), input })
    }

    #[test]
    fn a_command_is_shown_as_it_would_be_typed_and_the_rest_below() {
        let input = json!({"command": "git push origin main", "description": "Push", "timeout": 5});
        assert_eq!(
            call(ToolName::Shell, "Bash", input),
            ["the agent wants to run: git push origin main", "    description: Push", "    timeout: 5"]
        );
    }

    #[test]
    fn every_line_of_a_command_is_shown_and_nothing_reaches_the_terminal_as_it_is() {
        let input = json!({"command": "cat <<E\n\u{1b}[2Jx\nE"});
        assert_eq!(
            call(ToolName::Shell, "Bash", input),
            ["the agent wants to run: cat <<E", "    ^[[2Jx", "    E"]
        );
        let long = json!({"command": format!("echo{}\nrm -rf /", "\n:".repeat(40))});
        assert_eq!(call(ToolName::Shell, "Bash", long).last().unwrap(), "    ... (21 more lines)");
    }

    #[test]
    fn other_tools_say_what_they_are_about() {
        let one = |tool, name, input| call(tool, name, input).remove(0);
        let page = json!({"url": "http://x", "prompt": "read"});
        assert_eq!(one(ToolName::WebFetch, "WebFetch", page), "the agent wants to load: http://x");
        let edit = json!({"file_path": "a.rs", "old_string": "x"});
        assert_eq!(one(ToolName::Edit, "Edit", edit), "the agent wants to change: a.rs");
        let other = call(ToolName::Mcp, "mcp__db__drop", json!({"table": "users"}));
        assert_eq!(other, ["the agent wants to use mcp__db__drop", "    table: users"]);
        assert_eq!(call(ToolName::Shell, "Bash", json!({})), ["the agent wants to use Bash"]);
    }
}
