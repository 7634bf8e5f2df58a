//! The tools of Copilot CLI.

use serde_json::{Map, Value, json};

use crate::sim::event::ToolResult;

/// A call in the words of Copilot.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CopilotCall {
    pub(super) tool: String,
    pub(super) input: Value,
    /// The MCP server and its own name for the tool.
    pub(super) mcp: Option<(String, String)>,
}

/// The tools by their names in scripts: the CLI's name, and its title for people.
const NAMES: &[(&str, &str, &str)] = &[
    ("Bash", "bash", "Running command"),
    ("Write", "create", "Creating file"),
    ("Edit", "edit", "Editing file"),
    ("Read", "view", "Viewing file"),
    ("Glob", "glob", "Finding files"),
    ("Grep", "grep", "Searching"),
    ("WebFetch", "web_fetch", "Fetching"),
    ("WebSearch", "web_search", "Searching the web"),
    ("Task", "task", "Running agent"),
    ("Agent", "task", "Running agent"),
    ("TodoWrite", "update_todo", "Updating todos"),
    ("Skill", "skill", "Loading skill"),
];
/// The keys of inputs that have another name.
const KEYS: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("content", "file_text"),
    ("old_string", "old_str"),
    ("new_string", "new_str"),
    ("subagent_type", "agent_type"),
];
/// Tools that need no permission.
const FREE: &[&str] = &["view", "glob", "grep", "task", "update_todo", "skill", "report_intent"];

/// Translates a call.
pub(super) fn translate(name: &str, input: &Value) -> CopilotCall {
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        let mcp = Some((server.to_owned(), tool.to_owned()));
        return CopilotCall { tool: format!("{server}-{tool}"), input: input.clone(), mcp };
    }
    let Some((_, tool, _)) = NAMES.iter().find(|(known, ..)| *known == name) else {
        return CopilotCall { tool: name.to_owned(), input: input.clone(), mcp: None };
    };
    let key = |key: &String| {
        KEYS.iter().find(|(ours, _)| ours == key).map_or(key.clone(), |(_, theirs)| (*theirs).to_owned())
    };
    let fields = input.as_object().into_iter().flatten();
    let input = fields.map(|(name, value)| (key(name), value.clone())).collect::<Map<_, _>>();
    CopilotCall { tool: (*tool).to_owned(), input: Value::Object(input), mcp: None }
}

impl CopilotCall {
    /// Decides whether the tool runs without a permission.
    pub(super) fn is_free(&self) -> bool {
        FREE.contains(&self.tool.as_str())
    }

    /// Returns the kind of permission that the tool needs, as flags name it.
    pub(super) fn permission(&self) -> &str {
        match self.tool.as_str() {
            "bash" => "shell",
            "create" | "edit" => "write",
            "web_fetch" | "web_search" => "url",
            other => other,
        }
    }

    /// Builds the request in a message.
    pub(super) fn request(&self, id: &str) -> Value {
        let title = NAMES.iter().find(|(_, tool, _)| *tool == self.tool).map(|(.., title)| *title);
        let mut request = json!({
            "toolCallId": id, "name": self.tool, "arguments": self.input, "type": "function",
            "intentionSummary": self.input.get("description").or(self.input.get("path")),
            "toolTitle": title.or(self.mcp.as_ref().map(|(_, tool)| tool.as_str())),
        });
        if let (Some(request), Some((server, tool))) = (request.as_object_mut(), &self.mcp) {
            request.insert("mcpServerName".to_owned(), json!(server));
            request.insert("mcpToolName".to_owned(), json!(tool));
        }
        request
    }

    /// Returns what the CLI tells about a result.
    pub(super) fn output(&self, result: &ToolResult) -> Value {
        let content = match (&result.shell, self.tool.as_str()) {
            (Some(shell), _) => {
                let code = shell.code.unwrap_or(-1);
                format!("{}\n<shellId: 0 completed with exit code {code}>", shell.output.trim_end())
            }
            (None, "create") => {
                let text = |key: &str| self.input.get(key).and_then(Value::as_str).unwrap_or_default();
                format!("Created file {} with {} characters", text("path"), text("file_text").chars().count())
            }
            (None, _) => result.text(),
        };
        json!({"content": content, "detailedContent": content})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_are_those_of_copilot() {
        let create = translate("Write", &json!({"file_path": "/a", "content": "x"}));
        assert_eq!(
            (create.tool.as_str(), &create.input),
            ("create", &json!({"path": "/a", "file_text": "x"}))
        );
        let mcp = translate("mcp__echo__say_it", &json!({}));
        assert_eq!((mcp.tool.as_str(), &mcp.request("c")["mcpToolName"]), ("echo-say_it", &json!("say_it")));
        assert!(!create.is_free() && translate("Read", &json!({})).is_free());
    }
}
