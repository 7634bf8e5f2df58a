//! Gemini CLI's names for its tools, and the tools that it does not offer to a session.

use serde_json::Value;
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::hook::{ToolCall, ToolName};
use windlass_core::registry::tools::kind;

/// The tools that a session can have.
pub(super) const HAS: &[ToolName] = &ToolName::ALL;

/// The tools of the CLI by their canonical names. Tools that affect only the conversation are [`INNER`].
const NAMES: &[(&str, ToolName)] = &[
    ("read_file", ToolName::Read),
    ("read_many_files", ToolName::Read),
    ("list_directory", ToolName::Read),
    ("replace", ToolName::Edit),
    ("write_file", ToolName::Write),
    ("glob", ToolName::Search),
    ("grep_search", ToolName::Search),
    ("search_file_content", ToolName::Search),
    ("run_shell_command", ToolName::Shell),
    ("web_fetch", ToolName::WebFetch),
    ("google_web_search", ToolName::WebSearch),
    ("invoke_agent", ToolName::Task),
    ("activate_skill", ToolName::Skill),
    ("read_mcp_resource", ToolName::Mcp),
    ("list_mcp_resources", ToolName::Mcp),
    ("save_memory", ToolName::Other),
    ("cli_help", ToolName::Other),
    ("get_internal_docs", ToolName::Other),
];

/// Tools that affect only the conversation or processes that a command already started.
const INNER: &[&str] = &[
    "ask_user",
    "complete_task",
    "enter_plan_mode",
    "exit_plan_mode",
    "list_background_processes",
    "read_background_output",
    "update_topic",
    "write_todos",
];

/// Tools that need a person at the terminal.
const INTERACTIVE: &[&str] = &["ask_user", "enter_plan_mode", "exit_plan_mode"];

/// The prefix of the names of MCP tools.
const MCP: &str = "mcp_";

/// Returns the canonical name of a tool. A tool that the presets do not list is `Other`.
pub(super) fn name(name: &str) -> ToolName {
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool);
    match known {
        Some(tool) => tool,
        None if INNER.contains(&name) || name.starts_with("tracker_") => ToolName::Plan,
        None if name.starts_with(MCP) => ToolName::Mcp,
        None => ToolName::Other,
    }
}

/// Returns the name that rules use for an MCP tool: `mcp__SERVER__TOOL`. The CLI separates both by one
/// underscore, so the server ends at the first one.
pub(super) fn mcp_name(name: &str) -> Option<String> {
    let (server, tool) = name.strip_prefix(MCP)?.split_once('_')?;
    Some(format!("mcp__{server}__{tool}"))
}

/// Builds a tool call, with the keys of the input that rules read. The original keys stay.
///
/// A call that loads several pages gets no name, which no rule allows: rules about an address cover one.
pub(super) fn call(written: String, input: Value) -> ToolCall {
    let tool = name(&written);
    let Value::Object(mut input) = input else { return ToolCall { tool, name: written, input } };
    let pairs: &[(&str, &str)] = match written.as_str() {
        "list_directory" | "glob" => &[("dir_path", "path")],
        "grep_search" | "search_file_content" => &[("dir_path", "path"), ("include_pattern", "glob")],
        "activate_skill" => &[("name", "skill")],
        "invoke_agent" => &[("agent_name", "subagent_type")],
        _ => &[],
    };
    for (theirs, ours) in pairs {
        if let Some(value) = input.get(*theirs).cloned() {
            input.insert((*ours).to_owned(), value);
        }
    }
    let mut name = written;
    if tool == ToolName::WebFetch {
        let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut urls = prompt.split_whitespace().filter(|word| word.contains("://"));
        if let Some(url) = urls.next() {
            input.insert("url".to_owned(), Value::String(bare(url).to_owned()));
        }
        if urls.next().is_some() {
            name.clear();
        }
    }
    ToolCall { tool, name, input: Value::Object(input) }
}

/// Returns an address without the punctuation around it.
fn bare(url: &str) -> &str {
    let start = url.find("http").unwrap_or(0);
    url.get(start..).unwrap_or(url).trim_end_matches([',', '.', ';', ')', '"', '\'', '>', ']'])
}

/// Returns the tools that the CLI does not offer to the model of a session: those of which no call
/// could pass. The hook still decides about each call of the others.
pub(super) fn left_out(isolation: Isolation, rules: &PermissionRules) -> Vec<&'static str> {
    let known = NAMES.iter().filter(|(_, tool)| !may_pass(isolation, rules, *tool)).map(|(name, _)| *name);
    known.chain(INTERACTIVE.iter().copied()).collect()
}

/// Decides whether MCP tools can pass.
pub(super) fn has_mcp(isolation: Isolation, rules: &PermissionRules) -> bool {
    may_pass(isolation, rules, ToolName::Mcp)
}

fn may_pass(isolation: Isolation, rules: &PermissionRules, tool: ToolName) -> bool {
    let in_preset = match isolation {
        Isolation::Permissive => true,
        Isolation::Minimal => tool != ToolName::Other,
        Isolation::Strict => matches!(
            tool,
            ToolName::Read | ToolName::Edit | ToolName::Write | ToolName::Search | ToolName::Shell
        ),
    };
    let lists = rules.only.iter().chain(rules.bounds.iter().filter_map(|bound| bound.only.as_ref()));
    in_preset && lists.into_iter().all(|only| only.iter().any(|rule| may_mean(rule, tool)))
}

/// Decides whether a rule could mean a tool. A name that Windlass does not know may stand for any tool.
fn may_mean(rule: &str, tool: ToolName) -> bool {
    let name = rule.split('(').next().unwrap_or(rule).trim();
    if name.starts_with("mcp") {
        return tool == ToolName::Mcp;
    }
    kind(name).is_none_or(|kind| kind == tool)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn only(names: &[&str]) -> PermissionRules {
        let only = Some(names.iter().map(ToString::to_string).collect());
        PermissionRules { only, ..PermissionRules::default() }
    }

    #[test]
    fn a_tool_that_the_preset_or_a_list_leaves_out_is_not_offered() {
        let strict = left_out(Isolation::Strict, &PermissionRules::default());
        for tool in ["web_fetch", "google_web_search", "invoke_agent", "activate_skill", "save_memory"] {
            assert!(strict.contains(&tool), "{tool}");
        }
        assert!(!strict.contains(&"run_shell_command") && !strict.contains(&"replace"));
        assert_eq!(left_out(Isolation::Permissive, &PermissionRules::default()), INTERACTIVE);
        let reader = left_out(Isolation::Minimal, &only(&["read", "Bash(git log *)"]));
        for tool in ["write_file", "replace", "glob", "web_fetch", "invoke_agent"] {
            assert!(reader.contains(&tool), "{tool}");
        }
        assert!(!reader.contains(&"read_file") && !reader.contains(&"run_shell_command"));
        assert!(!left_out(Isolation::Minimal, &only(&["*"])).contains(&"replace"), "it may be any tool");
        assert!(has_mcp(Isolation::Minimal, &only(&["mcp__docs__find"])));
        assert!(!has_mcp(Isolation::Minimal, &only(&["read"])));
    }

    #[test]
    fn rules_find_the_inputs_under_their_own_names() {
        let input = |tool: &str, input: Value| call(tool.to_owned(), input).input;
        assert_eq!(input("list_directory", json!({"dir_path": "/x"}))["path"], "/x");
        assert_eq!(input("grep_search", json!({"pattern": "a", "include_pattern": "*.rs"}))["glob"], "*.rs");
        assert_eq!(input("activate_skill", json!({"name": "pdf"}))["skill"], "pdf");
        assert_eq!(input("invoke_agent", json!({"agent_name": "helper"}))["subagent_type"], "helper");
        let fetch = |prompt: &str| input("web_fetch", json!({"prompt": prompt}))["url"].clone();
        assert_eq!(fetch("read https://a.org/x, please"), "https://a.org/x");
        let both = call("web_fetch".to_owned(), json!({"prompt": "compare https://a.org and https://b.org"}));
        assert_eq!((both.tool, both.name.as_str()), (ToolName::WebFetch, ""));
    }

    #[test]
    fn every_name_has_its_kind() {
        assert_eq!(name("replace"), ToolName::Edit);
        assert_eq!(name("tracker_create_task"), ToolName::Plan);
        assert_eq!(name("mcp_docs_find_page"), ToolName::Mcp);
        assert_eq!(mcp_name("mcp_docs_find_page").as_deref(), Some("mcp__docs__find_page"));
        assert_eq!(name("brand_new"), ToolName::Other);
    }
}
