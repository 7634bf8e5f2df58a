//! OpenCode's names for its tools, and for their inputs.

use serde_json::{Map, Value};
use windlass_core::hook::{ToolCall, ToolName};

/// The tools that a session can have.
pub(super) const HAS: &[ToolName] = &ToolName::ALL;

/// The keys of inputs that rules know under another name.
const KEYS: &[(&str, &str)] = &[("filePath", "file_path"), ("include", "glob")];

/// Returns the canonical name of a tool. A tool of a server is named after the server: `server_tool`.
pub(super) fn name(name: &str) -> ToolName {
    match name {
        "read" | "list" => ToolName::Read,
        "edit" | "multiedit" | "patch" | "apply_patch" => ToolName::Edit,
        "write" => ToolName::Write,
        "glob" | "grep" => ToolName::Search,
        "bash" => ToolName::Shell,
        "webfetch" => ToolName::WebFetch,
        "websearch" | "codesearch" => ToolName::WebSearch,
        "task" => ToolName::Task,
        "skill" => ToolName::Skill,
        // `invalid` answers a call that OpenCode cannot read.
        "todowrite" | "todoread" | "question" | "invalid" | "plan_enter" | "plan_exit" => ToolName::Plan,
        server if server.contains('_') => ToolName::Mcp,
        _ => ToolName::Other,
    }
}

/// Builds a tool call. `server` is the MCP server that has the tool.
pub(super) fn call(written: String, server: Option<&str>, input: Value) -> ToolCall {
    let input = match input {
        Value::Object(map) => Value::Object(known_keys(&written, map)),
        other => other,
    };
    let of_server = server.and_then(|server| {
        let tool = written.get(server.len() + 1..)?;
        Some(ToolCall { tool: ToolName::Mcp, name: format!("mcp__{server}__{tool}"), input: input.clone() })
    });
    of_server.unwrap_or_else(|| ToolCall { tool: name(&written), name: written, input })
}

/// Gives the keys that rules read the names that rules know.
fn known_keys(tool: &str, map: Map<String, Value>) -> Map<String, Value> {
    let known = |key: String| match key.as_str() {
        "name" if tool == "skill" => "skill".to_owned(),
        written => {
            KEYS.iter().find(|(ours, _)| *ours == written).map_or(key, |(_, ruled)| (*ruled).to_owned())
        }
    };
    map.into_iter().map(|(key, value)| (known(key), value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_have_the_keys_that_rules_read() {
        let read = call("read".to_owned(), None, json!({ "filePath": "/w/x", "limit": 3 }));
        assert_eq!((read.tool, read.input), (ToolName::Read, json!({ "file_path": "/w/x", "limit": 3 })));
        let skill = call("skill".to_owned(), None, json!({ "name": "probe" }));
        assert_eq!(skill.input, json!({ "skill": "probe" }));
        let grep = call("grep".to_owned(), None, json!({ "pattern": "x", "include": "*.rs" }));
        assert_eq!(grep.input, json!({ "pattern": "x", "glob": "*.rs" }));
    }

    #[test]
    fn a_tool_of_a_server_is_named_after_its_server() {
        let named = |server| call("my_docs_find".to_owned(), server, Value::Null).name;
        assert_eq!(named(Some("my_docs")), "mcp__my_docs__find");
        assert_eq!(named(None), "my_docs_find");
        assert_eq!(name("my_docs_find"), ToolName::Mcp);
        assert_eq!(name("brandnew"), ToolName::Other);
    }
}
