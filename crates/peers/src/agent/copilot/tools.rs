//! Copilot's names for its tools and their inputs.

use serde_json::{Map, Value};
use windlass_core::hook::{SEVERAL_FILES, ToolCall, ToolName};

use super::patch;

/// Tools that affect only the conversation or things it already started.
const INNER: &[&str] = &[
    "read_bash",
    "stop_bash",
    "list_bash",
    "read_agent",
    "list_agents",
    "write_agent",
    "sql",
    "session_store_sql",
    "report_intent",
    "update_todo",
    "task_complete",
    "fetch_copilot_cli_documentation",
];

/// The tools of the `strict` preset, as the CLI names them. The model does not even see the others. The CLI
/// offers those of them that suit the model.
pub(super) const STRICT: &[&str] = &[
    "view",
    "create",
    "edit",
    PATCH,
    "grep",
    "rg",
    "glob",
    "bash",
    "write_bash",
    "read_bash",
    "stop_bash",
    "list_bash",
    "sql",
];

/// The tool whose input is a patch, without JSON.
const PATCH: &str = "apply_patch";

/// The tools that a session can have.
pub(super) const HAS: &[ToolName] = &ToolName::ALL;

/// Returns the canonical name of a tool. The CLI names a tool of an MCP server `SERVER-TOOL`, and no tool of
/// its own has a dash.
pub(super) fn name(name: &str) -> ToolName {
    match name {
        "view" => ToolName::Read,
        "edit" | PATCH => ToolName::Edit,
        "create" => ToolName::Write,
        "grep" | "rg" | "glob" => ToolName::Search,
        "bash" | "write_bash" => ToolName::Shell,
        "web_fetch" => ToolName::WebFetch,
        "web_search" => ToolName::WebSearch,
        "task" => ToolName::Task,
        "skill" => ToolName::Skill,
        inner if INNER.contains(&inner) => ToolName::Plan,
        server if server.contains('-') => ToolName::Mcp,
        _ => ToolName::Other,
    }
}

/// Returns the name of a tool of an MCP server in the spelling of rules. Without more knowledge, the tool's
/// own name is what follows the last dash.
pub(super) fn mcp_name(name: &str) -> String {
    match name.rsplit_once('-') {
        Some((server, tool)) => format!("mcp__{server}__{tool}"),
        None => name.to_owned(),
    }
}

/// Builds a tool call, with the keys that rules read.
pub(super) fn call(written: String, input: Value) -> ToolCall {
    let tool = name(&written);
    let input = match (written.as_str(), input) {
        (PATCH, Value::String(patch)) => return patch_call(written, &patch),
        (PATCH, _) => return unreadable(),
        ("write_bash", Value::Object(map)) => renamed(map, "input", "command"),
        ("task", Value::Object(map)) => renamed(map, "agent_type", "subagent_type"),
        (_, Value::Object(map)) if tool == ToolName::Search => with_folder(map),
        (_, input) => input,
    };
    let name = if tool == ToolName::Mcp { mcp_name(&written) } else { written };
    ToolCall { tool, name, input }
}

/// Builds the call of a patch. Rules hold for each of its files. A patch without a file is refused.
fn patch_call(name: String, patch: &str) -> ToolCall {
    let files = patch::files(patch);
    if files.is_empty() {
        return unreadable();
    }
    let path = files.join(&SEVERAL_FILES.to_string());
    ToolCall { tool: ToolName::Edit, name, input: serde_json::json!({ "path": path, "patch": patch }) }
}

/// A call without a name, which every preset refuses.
fn unreadable() -> ToolCall {
    ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null }
}

fn renamed(mut map: Map<String, Value>, from: &str, to: &str) -> Value {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
    Value::Object(map)
}

/// Gives a search the folder that contains all its `paths`.
fn with_folder(mut map: Map<String, Value>) -> Value {
    let folder = match map.get("paths") {
        Some(Value::String(path)) => Some(path.clone()),
        Some(Value::Array(paths)) => common_folder(paths.iter().filter_map(Value::as_str)),
        _ => None,
    };
    if let Some(folder) = folder {
        map.insert("path".to_owned(), Value::String(folder));
    }
    Value::Object(map)
}

fn common_folder<'a>(mut paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let first: Vec<&str> = paths.next()?.split('/').collect();
    let common = paths.fold(first, |common, path| {
        common.into_iter().zip(path.split('/')).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    });
    Some(match common.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        parts => parts.join("/"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(name: &str, input: Value) -> Option<String> {
        call(name.to_owned(), input).input["path"].as_str().map(str::to_owned)
    }

    #[test]
    fn what_is_typed_into_a_shell_is_a_command() {
        let typed = call("write_bash".into(), json!({ "shellId": "1", "input": "rm -rf /{enter}" }));
        assert_eq!((typed.tool, &typed.input["command"]), (ToolName::Shell, &json!("rm -rf /{enter}")));
    }

    #[test]
    fn a_search_has_the_folder_of_all_its_paths() {
        let rows = [
            (json!("src"), Some("src")),
            (json!(["src/a"]), Some("src/a")),
            (json!(["src/a", "src/b/c"]), Some("src")),
            (json!(["src/a", "docs"]), Some(".")),
            (json!(["/etc/a", "/home"]), Some("/")),
            (json!([]), None),
            (json!(7), None),
        ];
        for (paths, expected) in rows {
            let input = json!({ "pattern": "x", "paths": paths });
            assert_eq!(path("grep", input).as_deref(), expected, "{paths}");
        }
    }

    #[test]
    fn a_patch_is_an_edit_of_each_of_its_files() {
        let patch =
            "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** Delete File: b\n*** End Patch";
        let edit = call("apply_patch".into(), json!(patch));
        assert_eq!((edit.tool, &edit.input["path"]), (ToolName::Edit, &json!("src/a.rs\0b")));
    }

    #[test]
    fn a_patch_whose_files_no_rule_can_judge_has_no_name() {
        for input in
            [json!("*** Begin Patch\n*** End Patch"), json!(""), json!({ "input": "x" }), Value::Null]
        {
            assert_eq!(call("apply_patch".into(), input.clone()).name, "", "{input}");
        }
    }

    #[test]
    fn a_tool_of_a_server_has_the_spelling_of_rules() {
        let listed = call("github-mcp-server-list_issues".into(), json!({}));
        assert_eq!(
            (listed.tool, listed.name.as_str()),
            (ToolName::Mcp, "mcp__github-mcp-server__list_issues")
        );
    }

    #[test]
    fn a_subagent_is_named_as_rules_name_it() {
        let task = call("task".into(), json!({ "agent_type": "explore", "prompt": "x" }));
        assert_eq!((task.tool, &task.input["subagent_type"]), (ToolName::Task, &json!("explore")));
    }
}
