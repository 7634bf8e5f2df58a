//! Tool calls in the words of the Agent Client Protocol, which has kinds of tools and no names.

use serde_json::{Value, json};

use crate::sim::event::{SimCall, ToolResult};

/// Returns the kind of a tool by its name in scripts.
fn kind(name: &str) -> &'static str {
    match name {
        "Bash" => "execute",
        "Write" | "Edit" | "NotebookEdit" => "edit",
        "Read" => "read",
        "Grep" | "Glob" => "search",
        "WebFetch" | "WebSearch" => "fetch",
        "Task" | "Agent" | "TodoWrite" => "think",
        _ => "other",
    }
}

/// Decides whether an agent asks before it uses a tool.
pub(super) fn needs_permission(name: &str) -> bool {
    !matches!(kind(name), "read" | "search" | "think")
}

/// Returns the fields that describe a call.
pub(super) fn described(call: &SimCall) -> Value {
    let kind = kind(&call.name);
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    let title = ["command", "file_path", "url", "query", "pattern"].iter().find_map(|key| text(key));
    let title = if kind == "other" { call.name.as_str() } else { title.unwrap_or(&call.name) };
    let locations: Vec<Value> = text("file_path").iter().map(|path| json!({"path": path})).collect();
    let mut described = json!({
        "toolCallId": call.id, "title": title, "kind": kind, "rawInput": call.input, "locations": locations,
    });
    if let (Some(described), true) = (described.as_object_mut(), call.name.starts_with("mcp__")) {
        described.insert("name".to_owned(), json!(call.name));
    }
    described
}

/// Builds the update of a call that is over.
pub(super) fn ended(call: &SimCall, result: &ToolResult) -> Value {
    let status = if result.is_error { "failed" } else { "completed" };
    let text = result.shell.as_ref().map_or_else(|| result.text(), |shell| shell.output.clone());
    json!({
        "sessionUpdate": "tool_call_update", "toolCallId": call.id, "status": status,
        "content": [{"type": "content", "content": {"type": "text", "text": text}}], "rawOutput": {"output": text},
    })
}

/// Builds the update with the plan of the agent.
pub(super) fn plan(input: &Value) -> Value {
    let todos = input.get("todos").and_then(Value::as_array).into_iter().flatten();
    let entry = |todo: &Value| json!({"content": todo.get("content"), "priority": "medium", "status": todo.get("status")});
    json!({"sessionUpdate": "plan", "entries": todos.map(entry).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_a_kind_its_input_and_its_files() {
        let call = |name: &str, input: Value| SimCall { id: "c".into(), name: name.into(), input };
        let write = described(&call("Write", json!({"file_path": "/a", "content": "x"})));
        assert_eq!((&write["kind"], &write["locations"]), (&json!("edit"), &json!([{"path": "/a"}])));
        let mcp = described(&call("mcp__x__y", json!({})));
        assert_eq!((&mcp["kind"], &mcp["name"]), (&json!("other"), &json!("mcp__x__y")));
        assert!(needs_permission("Bash") && !needs_permission("Read"));
    }
}
