//! The tools of Gemini CLI.

use serde_json::{Value, json};

/// A call in the words of Gemini.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GeminiCall {
    pub(super) tool: String,
    pub(super) input: Value,
    /// The MCP server and its own name for the tool.
    pub(super) mcp: Option<(String, String)>,
}

/// Keys of an input, each with its name here.
type RenamedKeys = &'static [(&'static str, &'static str)];

/// The tools by their names in scripts, with the keys of inputs that differ.
const NAMES: &[(&str, &str, RenamedKeys)] = &[
    ("Bash", "run_shell_command", &[]),
    ("Write", "write_file", &[]),
    ("Edit", "replace", &[]),
    ("Read", "read_file", &[]),
    ("Glob", "glob", &[("path", "dir_path")]),
    ("Grep", "grep_search", &[("path", "dir_path"), ("glob", "include_pattern")]),
    ("WebFetch", "web_fetch", &[("url", "prompt")]),
    ("WebSearch", "google_web_search", &[]),
    ("Task", "invoke_agent", &[("subagent_type", "agent_name")]),
    ("Agent", "invoke_agent", &[("subagent_type", "agent_name")]),
    ("TodoWrite", "write_todos", &[]),
    ("Skill", "activate_skill", &[("skill", "name")]),
];

/// Translates a call.
pub(super) fn translate(name: &str, input: &Value) -> GeminiCall {
    if let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        let mcp = Some((server.to_owned(), tool.to_owned()));
        return GeminiCall { tool: format!("mcp_{server}_{tool}"), input: input.clone(), mcp };
    }
    let Some((_, tool, keys)) = NAMES.iter().find(|(known, ..)| *known == name) else {
        return GeminiCall { tool: name.to_owned(), input: input.clone(), mcp: None };
    };
    let key = |key: &String| {
        keys.iter().find(|(ours, _)| ours == key).map_or(key.clone(), |(_, theirs)| (*theirs).to_owned())
    };
    let fields = input.as_object().into_iter().flatten();
    let input: Value =
        fields.map(|(name, value)| (key(name), value.clone())).collect::<serde_json::Map<_, _>>().into();
    GeminiCall { tool: (*tool).to_owned(), input, mcp: None }
}

impl GeminiCall {
    /// Returns the facts for a hook.
    pub(super) fn facts(&self) -> Value {
        let mut facts = json!({"tool_name": self.tool, "tool_input": self.input});
        if let (Some(facts), Some((server, tool))) = (facts.as_object_mut(), &self.mcp) {
            facts.insert("mcp_context".to_owned(), json!({"server_name": server, "tool_name": tool}));
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keys_are_those_of_gemini() {
        let fetch = translate("WebFetch", &json!({"url": "http://x"}));
        assert_eq!((fetch.tool.as_str(), &fetch.input), ("web_fetch", &json!({"prompt": "http://x"})));
        let mcp = translate("mcp__db__query", &json!({"q": 1}));
        assert_eq!(
            (mcp.tool.as_str(), &mcp.facts()["mcp_context"]["server_name"]),
            ("mcp_db_query", &json!("db"))
        );
    }
}
