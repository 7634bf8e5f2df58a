//! Finds the tool for an action among those that a request offers.
//!
//! Every CLI has its own names and arguments. What it does not offer is done in its shell.

use serde_json::{Value, json};

use super::wire::with;

/// A tool that the model may call.
#[derive(Debug, Clone)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    pub(super) form: ToolForm,
    /// The JSON schema of the arguments.
    pub(super) schema: Value,
    /// The group of the tool. Only the Responses API has it.
    pub(super) namespace: Option<String>,
}

/// The form of a tool's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolForm {
    /// A JSON object.
    Object,
    /// A plain text, for example a patch. Only the Responses API has it.
    Text,
}

/// An action of the model that calls a tool.
#[derive(Debug, Clone)]
pub(super) enum ModelAction {
    /// A call of a tool by its name in the CLI.
    Tool {
        name: String,
        input: Value,
    },
    Shell(String),
    Write {
        path: String,
        text: String,
    },
    Read(String),
}

/// A tool call as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelToolCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) form: ToolForm,
    pub(super) namespace: Option<String>,
    /// An object, or a text if that is the form of the tool.
    pub(super) input: Value,
}

impl OfferedTool {
    /// Makes a tool that takes a JSON object.
    pub(super) fn new(name: &str, schema: &Value) -> OfferedTool {
        OfferedTool { name: name.to_owned(), form: ToolForm::Object, schema: schema.clone(), namespace: None }
    }

    fn call(&self, id: String, input: Value) -> ModelToolCall {
        ModelToolCall {
            id,
            name: self.name.clone(),
            form: self.form,
            namespace: self.namespace.clone(),
            input,
        }
    }
}

/// Returns the tool call for an action, or the reason why there is none.
pub(super) fn call(
    action: &ModelAction,
    offered: &[OfferedTool],
    id: String,
) -> Result<ModelToolCall, String> {
    let found = match action {
        ModelAction::Tool { name, input } => {
            // A model may also call a tool that nobody offered.
            let unknown = OfferedTool::new(name, &Value::Null);
            let tool = offered.iter().find(|tool| tool.name == *name).unwrap_or(&unknown);
            return Ok(tool.call(id, input.clone()));
        }
        ModelAction::Shell(command) => shell(command, offered),
        ModelAction::Write { path, text } => first(offered, |tool| write_input(tool, path, text))
            .or_else(|| shell(&format!("printf %s {} > {}", quoted(text), quoted(path)), offered)),
        ModelAction::Read(path) => first(offered, |tool| read_input(tool, path))
            .or_else(|| shell(&format!("cat {}", quoted(path)), offered)),
    };
    let names = || offered.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ");
    let (tool, input) =
        found.ok_or_else(|| format!("no offered tool can do {action:?}; there are: {}", names()))?;
    Ok(tool.call(id, input))
}

fn shell<'a>(command: &str, offered: &'a [OfferedTool]) -> Option<(&'a OfferedTool, Value)> {
    first(offered, |tool| shell_input(tool, command))
}

fn first(
    offered: &[OfferedTool],
    input: impl Fn(&OfferedTool) -> Option<Value>,
) -> Option<(&OfferedTool, Value)> {
    offered.iter().find_map(|tool| Some((tool, input(tool)?)))
}

fn shell_input(tool: &OfferedTool, command: &str) -> Option<Value> {
    let input = match tool.name.as_str() {
        "exec_command" => json!({"cmd": command}),
        "shell" => json!({"command": ["bash", "-lc", command]}),
        "shell_command" | "bash" | "Bash" | "run_shell_command" => json!({"command": command}),
        "exec" if tool.form == ToolForm::Text => {
            return Some(in_code("exec_command", &json!({"cmd": command})));
        }
        _ => return None,
    };
    let required = tool.schema.get("required").and_then(Value::as_array);
    match required.is_some_and(|names| names.contains(&json!("description"))) {
        true => Some(with(input, [("description", json!("a scripted command"))])),
        false => Some(input),
    }
}

fn write_input(tool: &OfferedTool, path: &str, text: &str) -> Option<Value> {
    match tool.name.as_str() {
        "write" => Some(json!({"filePath": path, "content": text})),
        "Write" | "write_file" => Some(json!({"file_path": path, "content": text})),
        "create" => Some(json!({"path": path, "file_text": text})),
        "apply_patch" if tool.form == ToolForm::Text => Some(json!(patch(path, text))),
        "apply_patch" => Some(json!({"input": patch(path, text)})),
        "exec" if tool.form == ToolForm::Text => Some(in_code("apply_patch", &json!(patch(path, text)))),
        _ => None,
    }
}

fn read_input(tool: &OfferedTool, path: &str) -> Option<Value> {
    match tool.name.as_str() {
        "read" => Some(json!({"filePath": path})),
        "Read" | "read_file" => Some(json!({"file_path": path})),
        "view" => Some(json!({"path": path})),
        _ => None,
    }
}

/// Returns the source that calls a tool, for a CLI whose only tool runs JavaScript: Codex with newer models.
fn in_code(tool: &str, input: &Value) -> Value {
    json!(format!("text(await tools.{tool}({input}));"))
}

/// Returns the patch that creates or replaces a file. It always ends the text with a newline.
fn patch(path: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

/// Quotes a text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(names: &[&str]) -> Vec<OfferedTool> {
        names.iter().map(|name| OfferedTool::new(name, &Value::Null)).collect()
    }

    fn called(action: &ModelAction, offered: &[OfferedTool]) -> ModelToolCall {
        call(action, offered, "id".to_owned()).unwrap()
    }

    #[track_caller]
    fn assert_called(action: ModelAction, offered: &[OfferedTool], name: &str, input: Value) {
        let call = called(&action, offered);
        assert_eq!((call.name.as_str(), call.input), (name, input));
    }

    #[test]
    fn each_cli_gets_its_own_tool() {
        let shell = || ModelAction::Shell("ls".into());
        assert_called(shell(), &offer(&["Bash", "Read"]), "Bash", json!({"command": "ls"}));
        assert_called(shell(), &offer(&["exec_command"]), "exec_command", json!({"cmd": "ls"}));
        assert_called(shell(), &offer(&["shell"]), "shell", json!({"command": ["bash", "-lc", "ls"]}));
        let write = || ModelAction::Write { path: "/a".into(), text: "b".into() };
        assert_called(
            write(),
            &offer(&["bash", "write"]),
            "write",
            json!({"filePath": "/a", "content": "b"}),
        );
        assert_called(
            write(),
            &offer(&["bash", "create"]),
            "create",
            json!({"path": "/a", "file_text": "b"}),
        );
        let read = || ModelAction::Read("/a".into());
        assert_called(read(), &offer(&["read_file"]), "read_file", json!({"file_path": "/a"}));
        assert_called(read(), &offer(&["view"]), "view", json!({"path": "/a"}));
    }

    #[test]
    fn a_required_description_is_filled_in() {
        let mut offered = offer(&["bash"]);
        offered[0].schema = json!({"required": ["command", "description"]});
        let input = json!({"command": "ls", "description": "a scripted command"});
        assert_called(ModelAction::Shell("ls".into()), &offered, "bash", input);
    }

    #[test]
    fn what_is_not_offered_is_done_in_the_shell() {
        let offered = offer(&["exec_command"]);
        let write = ModelAction::Write { path: "it's".into(), text: "a 'b'\n".into() };
        assert_called(
            write,
            &offered,
            "exec_command",
            json!({"cmd": "printf %s 'a '\\''b'\\''\n' > 'it'\\''s'"}),
        );
        assert_called(ModelAction::Read("a".into()), &offered, "exec_command", json!({"cmd": "cat 'a'"}));
        let why = call(&ModelAction::Shell("ls".into()), &offer(&["Read"]), "id".into()).unwrap_err();
        assert!(why.ends_with("there are: Read"), "{why}");
    }

    #[test]
    fn a_patch_is_a_plain_text_where_the_tool_wants_one() {
        let mut offered = offer(&["apply_patch", "exec_command"]);
        let write = ModelAction::Write { path: "a.txt".into(), text: "one\ntwo\n".into() };
        let expected = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n";
        assert_called(write.clone(), &offered, "apply_patch", json!({"input": expected}));
        offered[0].form = ToolForm::Text;
        assert_eq!(called(&write, &offered).form, ToolForm::Text);
        assert_called(write, &offered, "apply_patch", json!(expected));
    }

    #[test]
    fn where_the_only_tool_runs_code_the_code_calls_the_tool() {
        let mut offered = offer(&["exec"]);
        offered[0].form = ToolForm::Text;
        let source = r#"text(await tools.exec_command({"cmd":"echo \"a\""}));"#;
        assert_called(ModelAction::Shell("echo \"a\"".into()), &offered, "exec", json!(source));
        let write = ModelAction::Write { path: "a".into(), text: "b".into() };
        let source =
            r#"text(await tools.apply_patch("*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n"));"#;
        assert_called(write, &offered, "exec", json!(source));
    }

    #[test]
    fn a_call_by_name_keeps_the_group_and_may_be_of_an_unknown_tool() {
        let mut offered = offer(&["spawn_agent"]);
        offered[0].namespace = Some("agents".into());
        let spawn = ModelAction::Tool { name: "spawn_agent".into(), input: json!({}) };
        assert_eq!(called(&spawn, &offered).namespace.as_deref(), Some("agents"));
        assert_called(spawn, &[], "spawn_agent", json!({}));
    }
}
