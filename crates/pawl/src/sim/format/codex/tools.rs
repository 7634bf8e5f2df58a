//! The tools of Codex: their names for hooks, and the items of the stream.

use std::path::Path;

use serde_json::{Value, json};

use crate::sim::event::{SimCall, ToolResult};

/// A call in the words of Codex.
pub(super) enum CodexCall {
    /// A command line for the shell.
    Shell(String),
    /// A patch, and the file that it changes.
    Patch {
        patch: String,
        path: String,
        is_new: bool,
    },
    Mcp {
        server: String,
        tool: String,
        arguments: Value,
    },
    Search(String),
    Subagent(String),
    Plan(Value),
    /// A tool of which the stream says nothing.
    Silent {
        name: String,
        input: Value,
    },
}

fn field<'v>(input: &'v Value, name: &str) -> &'v str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Translates a call. Codex reads and searches with its shell.
pub(super) fn translate(call: &SimCall, cwd: &Path) -> CodexCall {
    let input = &call.input;
    match call.name.as_str() {
        "Bash" => CodexCall::Shell(field(input, "command").to_owned()),
        "Write" => {
            let path = field(input, "file_path").to_owned();
            let is_new = !Path::new(&path).exists();
            let patch = patch(&path, cwd, None, field(input, "content"));
            CodexCall::Patch { patch, path, is_new }
        }
        "Edit" => {
            let path = field(input, "file_path").to_owned();
            let old = field(input, "old_string");
            let is_new = !Path::new(&path).exists();
            let patch = patch(&path, cwd, Some(old), field(input, "new_string"));
            CodexCall::Patch { patch, path, is_new }
        }
        "Read" => CodexCall::Shell(format!("cat {}", quoted(field(input, "file_path")))),
        "Grep" => CodexCall::Shell(format!("rg {}", quoted(field(input, "pattern")))),
        "Glob" => CodexCall::Shell(format!("rg --files -g {}", quoted(field(input, "pattern")))),
        "WebFetch" => CodexCall::Shell(format!("curl -L {}", quoted(field(input, "url")))),
        "WebSearch" => CodexCall::Search(field(input, "query").to_owned()),
        "Task" | "Agent" => CodexCall::Subagent(field(input, "prompt").to_owned()),
        "TodoWrite" => CodexCall::Plan(input.clone()),
        "AskUserQuestion" => {
            CodexCall::Silent { name: "request_user_input".to_owned(), input: input.clone() }
        }
        name => match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, tool)) => {
                CodexCall::Mcp { server: server.to_owned(), tool: tool.to_owned(), arguments: input.clone() }
            }
            None => CodexCall::Silent { name: name.to_owned(), input: input.clone() },
        },
    }
}

/// Writes a patch of one file.
fn patch(path: &str, cwd: &Path, old: Option<&str>, new: &str) -> String {
    let shown =
        Path::new(path).strip_prefix(cwd).map_or_else(|_| path.to_owned(), |p| p.display().to_string());
    let lines =
        |mark: &str, text: &str| text.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let body = match old {
        None => format!("*** Add File: {shown}\n{}", lines("+", new)),
        Some(old) => format!("*** Update File: {shown}\n@@\n{}{}", lines("-", old), lines("+", new)),
    };
    format!("*** Begin Patch\n{body}*** End Patch")
}

impl CodexCall {
    /// Returns the name and the input for a hook. A search runs at the model's service, and no hook hears of it.
    pub(super) fn for_hook(&self) -> Option<(String, Value)> {
        Some(match self {
            CodexCall::Shell(command) => ("Bash".to_owned(), json!({"command": command})),
            CodexCall::Patch { patch, .. } => ("apply_patch".to_owned(), json!({"command": patch})),
            CodexCall::Mcp { server, tool, arguments } => {
                (format!("mcp__{server}__{tool}"), arguments.clone())
            }
            CodexCall::Subagent(prompt) => {
                ("collaborationspawn_agent".to_owned(), json!({"message": prompt, "agent_type": "default"}))
            }
            CodexCall::Plan(input) => ("update_plan".to_owned(), input.clone()),
            CodexCall::Silent { name, input } => (name.clone(), input.clone()),
            CodexCall::Search(_) => return None,
        })
    }

    /// Returns the fields of the item after its id, at the start of the call or with its result.
    pub(super) fn item(
        &self,
        result: Option<&ToolResult>,
        thread: &str,
    ) -> Option<Vec<(&'static str, Value)>> {
        let status = match result {
            None => "in_progress",
            Some(result) if result.is_error => "failed",
            Some(_) => "completed",
        };
        Some(match self {
            CodexCall::Shell(command) => {
                let shell = result.and_then(|result| result.shell.as_ref());
                let output = shell.map(|shell| shell.output.clone());
                let output = output.or_else(|| Some(result?.text())).unwrap_or_default();
                let code = shell.map_or(result.map(|result| i32::from(result.is_error)), |shell| shell.code);
                vec![
                    ("type", json!("command_execution")),
                    ("command", json!(format!("/bin/bash -lc {}", quoted(command)))),
                    ("aggregated_output", json!(output)),
                    ("exit_code", json!(code)),
                    ("status", json!(status)),
                ]
            }
            CodexCall::Patch { path, is_new, .. } => vec![
                ("type", json!("file_change")),
                ("changes", json!([{"path": path, "kind": if *is_new { "add" } else { "update" }}])),
                ("status", json!(status)),
            ],
            CodexCall::Mcp { server, tool, arguments } => {
                let (good, bad) = (result.filter(|r| !r.is_error), result.filter(|r| r.is_error));
                let content = |r: &ToolResult| json!({"content": [{"type": "text", "text": r.text()}], "structured_content": null});
                vec![
                    ("type", json!("mcp_tool_call")),
                    ("server", json!(server)),
                    ("tool", json!(tool)),
                    ("arguments", arguments.clone()),
                    ("result", json!(good.map(content))),
                    ("error", json!(bad.map(|r| json!({"message": r.text()})))),
                    ("status", json!(status)),
                ]
            }
            CodexCall::Search(query) => vec![
                ("type", json!("web_search")),
                ("query", json!(query)),
                ("action", json!({"type": "search", "query": query})),
            ],
            CodexCall::Subagent(prompt) => vec![
                ("type", json!("collab_tool_call")),
                ("tool", json!("spawn_agent")),
                ("sender_thread_id", json!(thread)),
                ("receiver_thread_ids", json!([])),
                ("prompt", json!(prompt)),
                ("agents_states", json!({})),
                ("status", json!(status)),
            ],
            CodexCall::Plan(input) => {
                let todos = input.get("todos").and_then(Value::as_array).into_iter().flatten();
                let item = |todo: &Value| {
                    let is_done = todo.get("status") == Some(&json!("completed"));
                    json!({"text": todo.get("content"), "completed": is_done})
                };
                vec![("type", json!("todo_list")), ("items", todos.map(item).collect())]
            }
            CodexCall::Silent { .. } => return None,
        })
    }
}

/// Quotes a command line as Codex shows it: in single quotes, or in double quotes if it has single ones.
fn quoted(text: &str) -> String {
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    let escape = |c: char| match c {
        '"' | '\\' | '$' | '`' => format!("\\{c}"),
        other => other.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: Value) -> SimCall {
        SimCall { id: "c".into(), name: name.into(), input }
    }

    #[test]
    fn a_file_is_changed_by_a_patch_that_names_it() {
        let edit = call("Edit", json!({"file_path": "/w/src/a", "old_string": "x\n", "new_string": "y\nz"}));
        let CodexCall::Patch { patch, path, .. } = translate(&edit, Path::new("/w")) else { panic!() };
        assert_eq!(patch, "*** Begin Patch\n*** Update File: src/a\n@@\n-x\n+y\n+z\n*** End Patch");
        assert_eq!(path, "/w/src/a");
    }

    #[test]
    fn a_command_is_shown_as_recorded() {
        let recorded = r#"/bin/bash -lc "printf '%s' \"line1\\nline2\" > b.txt""#;
        let shell = CodexCall::Shell(r#"printf '%s' "line1\nline2" > b.txt"#.to_owned());
        let item = shell.item(None, "t").unwrap();
        assert_eq!(item[1], ("command", json!(recorded)));
    }
}
