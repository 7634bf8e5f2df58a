//! Tool calls of an agent, in the words of Windlass.
//!
//! The protocol has kinds of tools and no names. Where an agent gives the name as well, rules can use it.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use windlass_core::hook::{ToolCall, ToolName};
use windlass_core::registry::tools;

use super::super::lines::shorten;
use super::wire::Update;

/// The tools that a session can have.
pub(super) const HAS: &[ToolName] = &ToolName::ALL;

/// The number of bytes of a tool's input to show.
const SHOWN: usize = 200;
/// The number of bytes kept of a name or a title.
const NAME_MAX: usize = 1024;
/// The largest input that is kept for a later request.
const INPUT_MAX: usize = 256 << 10;

/// The keys under which agents name a file, in any spelling.
const PATHS: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "filepath",
    "absolute_path",
    "absolutePath",
    "notebook_path",
    "abs_path",
    "fileName",
    "file",
];

/// A tool call as it is known so far. Each message adds to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct KnownCall {
    pub(super) id: String,
    name: Option<String>,
    kind: Option<String>,
    title: Option<String>,
    input: Option<Value>,
    /// The files of its locations and changes.
    files: BTreeSet<String>,
}

/// A part of a tool's output, or a change that it makes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolContent {
    #[serde(rename = "type")]
    kind: String,
    content: Value,
    path: Option<String>,
}

impl KnownCall {
    pub(super) fn new(id: &str) -> KnownCall {
        KnownCall { id: shorten(id, NAME_MAX), ..KnownCall::default() }
    }

    /// Adds what a message says about the call.
    pub(super) fn add(&mut self, update: &Update<'_>) {
        let short = |text: &Option<String>| text.as_deref().map(|text| shorten(text, NAME_MAX));
        self.name = update
            .name
            .as_deref()
            .map(|name| shorten(name, NAME_MAX))
            .or(own_name(update))
            .or(self.name.take())
            .or_else(|| server_tool(&self.id, update.title.as_deref()?));
        // Some agents ask for a permission with a kind that says less than the call itself.
        let is_vague = |kind: &String| kind == "other";
        self.kind =
            short(&update.kind).filter(|kind| !is_vague(kind) || self.kind.is_none()).or(self.kind.take());
        self.title = update.title.clone().filter(|title| title.len() <= INPUT_MAX).or(self.title.take());
        if let Some(input) = update.raw_input.filter(|input| input.get().len() <= INPUT_MAX).and_then(input) {
            self.input = Some(input);
        }
        #[derive(Deserialize)]
        struct Location {
            path: String,
        }
        let locations: Vec<Location> = parse(update.locations).unwrap_or_default();
        let changes = contents(update.content).into_iter().filter(|part| part.kind == "diff");
        let files =
            locations.into_iter().map(|location| location.path).chain(changes.filter_map(|part| part.path));
        self.files.extend(files);
    }

    /// Decides whether the input is known, so that the call can be shown.
    pub(super) fn has_input(&self) -> bool {
        let keys =
            self.input.as_ref().and_then(Value::as_object).map(|map| map.keys().any(|key| key != "cwd"));
        keys.unwrap_or_default()
    }

    /// Returns the canonical name of the tool.
    pub(super) fn tool(&self) -> ToolName {
        let name = self.name.as_deref().unwrap_or_default();
        if name.starts_with("mcp__") {
            return ToolName::Mcp;
        }
        tools::kind(name).unwrap_or(match self.kind.as_deref().unwrap_or_default() {
            "read" => ToolName::Read,
            "edit" | "delete" | "move" => ToolName::Edit,
            "search" => ToolName::Search,
            "execute" => ToolName::Shell,
            "fetch" => ToolName::WebFetch,
            "think" => ToolName::Plan,
            _ => ToolName::Other,
        })
    }

    /// Returns the agent's name for the tool, or the canonical one. Only a title that can be a name is one.
    pub(super) fn name(&self) -> String {
        let is_name = |text: &&String| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        let tool = self.tool();
        let title = self.title.as_ref().filter(|_| tool == ToolName::Other).filter(is_name);
        let name = self.name.as_ref().filter(is_name).or(title);
        name.cloned().unwrap_or_else(|| tool.word().to_owned())
    }

    /// Returns the input in a few words.
    pub(super) fn summary(&self) -> String {
        let input = self.input.as_ref().and_then(Value::as_object);
        let of_input = input.and_then(|input| {
            ["command"]
                .iter()
                .chain(PATHS)
                .chain(&["url", "query", "pattern"])
                .find_map(|key| text(input.get(*key)?))
        });
        let known = of_input.or_else(|| self.title.clone()).or_else(|| self.files.first().cloned());
        shorten(&known.unwrap_or_default(), SHOWN)
    }

    /// Returns the calls to decide about: one for each file that the tool uses.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        let (tool, name) = (self.tool(), self.name());
        let mut input = match &self.input {
            Some(Value::Object(map)) => map.clone(),
            Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
            None => Map::new(),
        };
        match tool {
            ToolName::Shell => {
                let command = input.get("command").and_then(text).or_else(|| self.title.clone());
                input.insert("command".to_owned(), command.unwrap_or_default().into());
            }
            ToolName::Read | ToolName::Edit | ToolName::Write | ToolName::Search => {
                let named: Vec<String> = PATHS.iter().filter_map(|key| text(&input.remove(*key)?)).collect();
                // A search names the folder, and its locations are what it found.
                let found = self.files.iter().filter(|_| tool != ToolName::Search || named.is_empty());
                let files: BTreeSet<String> = found.cloned().chain(named.iter().cloned()).collect();
                if !files.is_empty() {
                    let call = |file: String| {
                        let mut input = input.clone();
                        input.insert("path".to_owned(), file.into());
                        ToolCall { tool, name: name.clone(), input: Value::Object(input) }
                    };
                    return files.into_iter().map(call).collect();
                }
            }
            _ => {}
        }
        vec![ToolCall { tool, name, input: Value::Object(input) }]
    }
}

/// Returns the text of a tool's output.
pub(super) fn output(update: &Update<'_>) -> String {
    let parts = contents(update.content);
    let texts = parts.iter().filter_map(|part| part.content.get("text").and_then(Value::as_str));
    let said = texts.collect::<Vec<_>>().join("\n");
    if !said.is_empty() {
        return said;
    }
    let raw: Value = parse(update.raw_output).unwrap_or_default();
    let inner = ["output", "error", "content"].iter().find_map(|key| raw.get(*key)?.as_str());
    inner.or(raw.as_str()).unwrap_or_default().to_owned()
}

fn contents(content: Option<&RawValue>) -> Vec<ToolContent> {
    parse(content).unwrap_or_default()
}

fn parse<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

fn input(raw: &RawValue) -> Option<Value> {
    let value: Value = serde_json::from_str(raw.get()).ok()?;
    (!matches!(&value, Value::Null) && value.as_object().is_none_or(|map| !map.is_empty())).then_some(value)
}

/// Returns the name that an agent gives beside the protocol's own fields.
fn own_name(update: &Update<'_>) -> Option<String> {
    let meta: Value = parse(update.meta)?;
    let own = meta.as_object()?.values().find_map(|of_agent| of_agent.get("toolName")?.as_str())?;
    Some(shorten(own, NAME_MAX))
}

/// Returns the name that rules use for a tool of an MCP server, where an agent names it for people:
/// `TOOL (SERVER MCP Server)`. The model can write a title, so the id of the call must name both as well.
fn server_tool(id: &str, title: &str) -> Option<String> {
    let (tool, server) = title.strip_suffix(" MCP Server)")?.split_once(" (")?;
    let is_named = id.starts_with(&format!("mcp_{server}_{tool}__"));
    is_named.then(|| format!("mcp__{server}__{tool}"))
}

/// Returns a text, or the words of a command in one line.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            match words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.as_slice() {
                // A shell and its command line.
                [_, flag, line] if flag.starts_with('-') && flag.ends_with('c') => Some((*line).to_owned()),
                words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
            }
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_a_server_needs_a_title_and_an_id_that_agree() {
        let named = |id: &str, title: &str| {
            let mut call = KnownCall::new(id);
            call.add(&Update { title: Some(title.to_owned()), ..Update::default() });
            (call.tool(), call.name())
        };
        let title = "find_page (my_docs MCP Server)";
        let expected = (ToolName::Mcp, "mcp__my_docs__find_page".to_owned());
        assert_eq!(named("mcp_my_docs_find_page__call_1", title), expected);
        assert_eq!(named("run_shell_command__call_1", title).0, ToolName::Other);
        assert_eq!(named("mcp_my_docs_find_page__call_1", "find_page").0, ToolName::Other);
    }
}
