//! Reads a plugin's manifest, `.claude-plugin/plugin.json`, and the names of its MCP servers, which
//! must not collide. The runtime finds and loads plugins.

use crate::diagnostic::Diagnostic;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::words::quoted;
use crate::workflow::{JsonFields, is_plugin_name};

/// A plugin's `plugin.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PluginFile {
    pub name: String,
    pub version: Option<String>,
    pub description: Option<String>,
    /// The MCP servers that the manifest itself defines.
    pub mcp_servers: Vec<String>,
    /// Paths of files that define more MCP servers, relative to the plugin's folder and as written.
    /// The caller must refuse a path that leaves the plugin.
    pub mcp_files: Vec<String>,
}

/// Reads a `plugin.json` and ignores unknown fields, which other tools may define.
pub fn parse_plugin_json(text: &str, file_name: &str) -> (Option<PluginFile>, Vec<Diagnostic>) {
    let (mut fields, root) = JsonFields::open(text, file_name);
    let plugin = root.and_then(|root| read(&mut fields, &root)).filter(|_| !fields.has_errors());
    (plugin, fields.finish())
}

/// Returns the names of the MCP servers in a `.mcp.json`: the keys of `mcpServers`, or of the whole
/// document if a plugin leaves that level out.
pub fn mcp_server_names(text: &str, file_name: &str) -> (Vec<String>, Vec<Diagnostic>) {
    let (mut fields, root) = JsonFields::open(text, file_name);
    let members = root.as_ref().and_then(|root| fields.members("", root)).unwrap_or_default();
    let names = match members.iter().find(|member| member.key == "mcpServers") {
        Some(member) => servers(&mut fields, &member.key, &member.node),
        None => members.iter().filter(|member| is_object(member)).map(|member| member.key.clone()).collect(),
    };
    (names, fields.finish())
}

/// The commands of a plugin's Stop hooks, and the files that may define more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StopHooks {
    /// Command lines and their arguments.
    pub commands: Vec<String>,
    /// Files with more hooks, relative to the plugin's folder and as written.
    pub files: Vec<String>,
}

/// Finds the Stop hooks of a `plugin.json` (under `hooks`) or of a hooks file. An unreadable text
/// has none; the agent CLI reports what is wrong with it.
pub fn stop_hooks(text: &str) -> StopHooks {
    use serde_json::Value;
    let mut found = StopHooks::default();
    let Ok(root) = serde_json::from_str::<Value>(text) else { return found };
    let files = |value: &Value| match value {
        Value::String(file) => vec![file.clone()],
        Value::Array(list) => list.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let hooks = root.get("hooks").unwrap_or(&root);
    found.files = files(hooks);
    // Inline in a manifest, `hooks` may be nested inside `hooks`.
    let hooks = hooks.get("hooks").unwrap_or(hooks);
    let entries = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    for group in entries(hooks.get("Stop")) {
        for hook in entries(group.get("hooks")) {
            let words = hook.get("command").cloned().into_iter().chain(entries(hook.get("args")));
            found.commands.extend(words.filter_map(|word| word.as_str().map(str::to_owned)));
        }
    }
    found
}

fn read(fields: &mut JsonFields<'_>, root: &JsonNode) -> Option<PluginFile> {
    let mut plugin = PluginFile::default();
    let members = fields.members("", root)?;
    for member in &members {
        take(fields, &mut plugin, member);
    }
    if !members.iter().any(|member| member.key == "name") {
        fields.error(root.at, "the field `name` is missing", None);
    }
    Some(plugin)
}

fn take(fields: &mut JsonFields<'_>, plugin: &mut PluginFile, member: &JsonMember) {
    let (path, node) = (member.key.as_str(), &member.node);
    match path {
        "name" => plugin.name = name(fields, path, node).unwrap_or_default(),
        "version" => plugin.version = fields.text(path, node),
        "description" => plugin.description = fields.text(path, node),
        "mcpServers" => match &node.value {
            JsonValue::Text(file) => plugin.mcp_files.push(file.clone()),
            JsonValue::List(items) => {
                for item in items {
                    plugin.mcp_files.extend(fields.text("mcpServers[]", item));
                }
            }
            _ => plugin.mcp_servers = servers(fields, path, node),
        },
        _ => {}
    }
}

/// Reads the plugin's name, which becomes part of tool names and so must be one plain word.
fn name(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Option<String> {
    let name = fields.one_line(path, node)?;
    if is_plugin_name(&name) {
        return Some(name);
    }
    let hint = Some("use letters, digits, `-`, `_` and `.`".to_owned());
    fields.error(node.at, &format!("{} is not a plugin name", quoted(&name)), hint);
    None
}

fn servers(fields: &mut JsonFields<'_>, path: &str, node: &JsonNode) -> Vec<String> {
    fields.members(path, node).unwrap_or_default().into_iter().map(|member| member.key.clone()).collect()
}

fn is_object(member: &JsonMember) -> bool {
    matches!(member.node.value, JsonValue::Object(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_has_a_name_and_perhaps_more() {
        let text = r#"{"name": "e2e", "version": "1.0.0", "description": "tests", "author": {"name": "A"}, "keywords": [1]}"#;
        let expected = PluginFile {
            name: "e2e".into(),
            version: Some("1.0.0".into()),
            description: Some("tests".into()),
            ..PluginFile::default()
        };
        assert_eq!(parse_plugin_json(text, "plugin.json"), (Some(expected), vec![]));
    }

    #[test]
    fn a_plugin_without_a_usable_name_is_refused() {
        let cases = [
            ("{}", "the field `name` is missing"),
            (r#"{"name": 3}"#, "`name` must be a string, found a number"),
            (r#"{"name": ""}"#, "`name` is empty"),
            (r#"{"name": "../x"}"#, "`../x` is not a plugin name"),
            (r#"{"name": "a b"}"#, "`a b` is not a plugin name"),
            ("[]", "the document must be an object, found a list"),
        ];
        for (text, message) in cases {
            let (plugin, diagnostics) = parse_plugin_json(text, "plugin.json");
            assert_eq!(plugin, None, "{text}");
            assert_eq!(diagnostics[0].message, message);
        }
    }

    #[test]
    fn mcp_servers_stand_in_the_manifest_or_in_files() {
        let inline =
            parse_plugin_json(r#"{"name": "x", "mcpServers": {"db": {}, "web": {}}}"#, "p").0.unwrap();
        assert_eq!(inline.mcp_servers, ["db", "web"]);
        let file = parse_plugin_json(r#"{"name": "x", "mcpServers": "./mcp.json"}"#, "p").0.unwrap();
        assert_eq!(file.mcp_files, ["./mcp.json"]);
        let files = parse_plugin_json(r#"{"name": "x", "mcpServers": ["a.json", "b.json"]}"#, "p").0.unwrap();
        assert_eq!(files.mcp_files, ["a.json", "b.json"]);
    }

    #[test]
    fn stop_hooks_are_found_in_a_manifest_and_in_files() {
        let stop =
            r#"{"Stop": [{"hooks": [{"type": "command", "command": "sh", "args": ["x.sh"]}]}], "Start": 1}"#;
        let expected = StopHooks { commands: vec!["sh".into(), "x.sh".into()], files: vec![] };
        assert_eq!(stop_hooks(&format!(r#"{{"hooks": {stop}}}"#)), expected);
        assert_eq!(stop_hooks(&format!(r#"{{"name": "p", "hooks": {{"hooks": {stop}}}}}"#)), expected);
        assert_eq!(stop_hooks(r#"{"name": "p", "hooks": ["a.json", 3]}"#).files, ["a.json"]);
        assert_eq!(stop_hooks(r#"{"name": "p", "hooks": "a.json"}"#).files, ["a.json"]);
        for odd in ["", "[", "[]", "3", r#"{"hooks": 3}"#, r#"{"hooks": {"Stop": {"hooks": [1]}}}"#] {
            assert_eq!(stop_hooks(odd), StopHooks::default(), "{odd}");
        }
    }

    #[test]
    fn server_names_are_found_with_and_without_the_outer_level() {
        for text in
            [r#"{"mcpServers": {"db": {"command": "x"}}}"#, r#"{"db": {"command": "x"}, "$schema": "y"}"#]
        {
            assert_eq!(mcp_server_names(text, ".mcp.json"), (vec!["db".to_owned()], vec![]), "{text}");
        }
        let (names, diagnostics) = mcp_server_names(r#"{"mcpServers": []}"#, ".mcp.json");
        assert!(names.is_empty());
        assert_eq!(diagnostics[0].message, "`mcpServers` must be an object, found a list");
    }
}
