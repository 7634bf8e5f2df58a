//! The tools of OpenCode.

use serde_json::{Map, Value, json};

use crate::sim::event::{SimCall, ToolResult};

/// A call in the words of OpenCode.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpencodeCall {
    pub(super) tool: String,
    pub(super) input: Value,
    /// The MCP server that has the tool.
    pub(super) server: Option<String>,
}

/// The tools by their names in scripts.
const NAMES: &[(&str, &str)] = &[
    ("Bash", "bash"),
    ("Write", "write"),
    ("Edit", "edit"),
    ("Read", "read"),
    ("Glob", "glob"),
    ("Grep", "grep"),
    ("WebFetch", "webfetch"),
    ("WebSearch", "websearch"),
    ("Task", "task"),
    ("Agent", "task"),
    ("TodoWrite", "todowrite"),
    ("Skill", "skill"),
];

/// The keys of inputs that have another name.
const KEYS: &[(&str, &str)] = &[
    ("file_path", "filePath"),
    ("old_string", "oldString"),
    ("new_string", "newString"),
    ("replace_all", "replaceAll"),
    ("glob", "include"),
    ("skill", "name"),
];

/// Translates a call.
pub(super) fn translate(call: &SimCall) -> OpencodeCall {
    if let Some((server, tool)) = call.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        let server = server.to_owned();
        return OpencodeCall {
            tool: format!("{server}_{tool}"),
            input: call.input.clone(),
            server: Some(server),
        };
    }
    let known = NAMES.iter().find(|(name, _)| *name == call.name);
    let Some((_, tool)) = known else {
        return OpencodeCall { tool: call.name.clone(), input: call.input.clone(), server: None };
    };
    let key = |key: &String| {
        KEYS.iter().find(|(ours, _)| ours == key).map_or(key.clone(), |(_, theirs)| (*theirs).to_owned())
    };
    let input = match &call.input {
        Value::Object(map) => {
            map.iter().map(|(name, value)| (key(name), value.clone())).collect::<Map<_, _>>()
        }
        _ => Map::new(),
    };
    OpencodeCall { tool: (*tool).to_owned(), input: Value::Object(input), server: None }
}

/// Returns the state of a call that is over.
pub(super) fn state(call: &OpencodeCall, result: &ToolResult, start: i64, end: i64) -> Value {
    let time = json!({"start": start, "end": end});
    // A command that fails is a call that succeeds.
    if result.is_error && result.shell.is_none() {
        return json!({"status": "error", "input": call.input, "error": result.text(), "time": time});
    }
    let (output, metadata) = match &result.shell {
        Some(shell) => {
            let output =
                if shell.output.is_empty() { "(no output)".to_owned() } else { shell.output.clone() };
            let metadata = json!({"output": output, "exit": shell.code, "truncated": false});
            (output, metadata)
        }
        None => (result.text(), json!({"truncated": false})),
    };
    let title = ["command", "filePath", "pattern", "description"].iter().find_map(|key| call.input.get(*key));
    json!({
        "status": "completed", "input": call.input, "output": output, "metadata": metadata, "title": title,
        "time": time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_are_those_of_opencode() {
        let translated =
            |name: &str, input: Value| translate(&SimCall { id: "c".into(), name: name.into(), input });
        let edit = translated("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y"}));
        assert_eq!((edit.tool.as_str(), &edit.input["filePath"]), ("edit", &json!("/a")));
        let mcp = translated("mcp__my_db__query", json!({"q": 1}));
        assert_eq!((mcp.tool.as_str(), mcp.server.as_deref()), ("my_db_query", Some("my_db")));
        assert_eq!(translated("question", json!({})).tool, "question");
    }
}
