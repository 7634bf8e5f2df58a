//! The items of a conversation: messages, thoughts and calls of tools.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::agent::AgentEvent;
use windlass_core::hook::ToolName;

use crate::agent::codex::tools;
use crate::agent::lines::shorten;

/// The number of bytes of a tool's input to keep for people.
const SHOWN_INPUT: usize = 200;
/// The number of bytes of a tool's result to keep for people.
const SHOWN_RESULT: usize = 4 * 1024;
/// The beginning of the warning that Codex runs hooks which no person has reviewed. Windlass asked for that.
const TRUST_WARNING: &str = "`--dangerously-bypass-hook-trust` is enabled";
/// The kind of a call about subagents.
const SUBAGENT: &str = "collab_tool_call";
/// The kind of a search of the web, and the number of bytes of a line in which it is found.
const SEARCH: &str = r#""type":"web_search""#;
const HEAD: usize = 160;
/// The words before the id of an item.
const ID: &str = r#""item":{"id":""#;
/// The most entries of a list that are shown.
const SHOWN_ENTRIES: usize = 20;

#[derive(Deserialize)]
struct ItemLine<'a> {
    #[serde(borrow)]
    item: Item<'a>,
}

/// An item of any kind. Each kind has some of these fields.
#[derive(Deserialize, Default)]
pub(super) struct Item<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(borrow, default)]
    aggregated_output: Option<&'a RawValue>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(borrow, default)]
    changes: Option<&'a RawValue>,
    #[serde(borrow, default)]
    items: Option<&'a RawValue>,
}

/// Reads the item of a line.
pub(super) fn read(line: &str) -> serde_json::Result<Item<'_>> {
    let head = line.get(..line.floor_char_boundary(HEAD)).unwrap_or_default();
    if head.contains(SEARCH) {
        return read_search(line);
    }
    serde_json::from_str(line).map(|ItemLine { item }| item)
}

/// Reads a search of the web, which has two ids. The first one is the item's.
fn read_search(line: &str) -> serde_json::Result<Item<'_>> {
    #[derive(Deserialize)]
    struct SearchLine {
        item: Search,
    }
    #[derive(Deserialize)]
    struct Search {
        #[serde(default)]
        query: String,
    }
    let SearchLine { item: Search { query } } = serde_json::from_str(line)?;
    let id = line.split_once(ID).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(id, _)| id);
    Ok(Item { id: id.into(), kind: "web_search".into(), query: Some(query), ..Item::default() })
}

/// A tool call of an item.
struct ItemCall {
    tool: ToolName,
    name: String,
    summary: String,
    /// A hook is asked before it runs.
    has_hook: bool,
}

impl Item<'_> {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_subagent(&self) -> bool {
        self.kind == SUBAGENT
    }

    /// Returns the start of a tool call. Other items only end.
    pub(super) fn start(&self) -> Option<AgentEvent> {
        let ItemCall { tool, name, summary, .. } = self.call()?;
        let id = self.id().to_owned();
        Some(AgentEvent::ToolUse { id, tool, name, asks: false, summary, side: false })
    }

    /// Returns the event of an item that is complete.
    pub(super) fn end(&self) -> Option<AgentEvent> {
        let text = || self.text.clone().unwrap_or_default();
        if let Some(call) = self.call() {
            return Some(self.result(&call));
        }
        Some(match self.kind.as_ref() {
            "agent_message" | "plan" => {
                AgentEvent::Text { text: text(), message_id: self.id().to_owned(), side: false }
            }
            "reasoning" => AgentEvent::Thinking { text: text(), side: false },
            "error" => {
                let text = self.message.clone().unwrap_or_default();
                if text.starts_with(TRUST_WARNING) {
                    return None;
                }
                AgentEvent::Notice { about: "codex".to_owned(), text }
            }
            other => AgentEvent::Unknown { what: format!("item/{other}") },
        })
    }

    fn call(&self) -> Option<ItemCall> {
        let of = |name: &str, summary: &str, has_hook| {
            let summary = shorten(summary, SHOWN_INPUT);
            ItemCall { tool: tools::name(name), name: name.to_owned(), summary, has_hook }
        };
        let given = |text: &Option<String>| text.clone().unwrap_or_default();
        Some(match self.kind.as_ref() {
            "command_execution" => of(tools::SHELL, unwrapped(&given(&self.command)), true),
            "file_change" => of(tools::PATCH, &listed(self.changes), true),
            "mcp_tool_call" => {
                let name = format!("mcp__{}__{}", given(&self.server), given(&self.tool));
                of(&name, self.arguments.map_or("", RawValue::get), true)
            }
            "web_search" => of(tools::WEB_SEARCH, &given(&self.query), false),
            SUBAGENT => of(&given(&self.tool), &given(&self.prompt), false),
            "todo_list" => of("update_plan", &listed(self.items), false),
            _ => return None,
        })
    }

    fn result(&self, call: &ItemCall) -> AgentEvent {
        let is_refused = matches!(self.status.as_deref(), Some("failed" | "declined"));
        let parts = [self.aggregated_output, self.error, self.result];
        let text = parts.into_iter().flatten().map(shown).find(|text| !text.is_empty());
        AgentEvent::ToolResult {
            id: self.id().to_owned(),
            is_error: is_refused,
            text: text.unwrap_or_default(),
            was_decided: call.has_hook,
            side: false,
        }
    }
}

/// Returns the text of a result: a string, or a text somewhere in an object.
fn shown(raw: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Parts {
        message: Option<String>,
        content: Vec<Part>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Part {
        text: Option<String>,
    }
    if let Ok(Text(text)) = serde_json::from_str(raw.get()) {
        return shorten(&text, SHOWN_RESULT);
    }
    let parts: Parts = serde_json::from_str(raw.get()).unwrap_or_default();
    let texts = parts.message.into_iter().chain(parts.content.into_iter().filter_map(|part| part.text));
    shorten(&texts.collect::<Vec<_>>().join("\n"), SHOWN_RESULT)
}

/// Returns the paths or texts of a list.
fn listed(raw: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Entry {
        #[serde(alias = "text", default)]
        path: String,
    }
    let entries: Vec<Entry> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let names: Vec<String> = entries.into_iter().take(SHOWN_ENTRIES).map(|entry| entry.path).collect();
    names.join(", ")
}

/// Removes the shell with which Codex starts a command line: `/bin/bash -lc '…'`.
fn unwrapped(command: &str) -> &str {
    let Some((shell, line)) = command.split_once(" -lc ").or_else(|| command.split_once(" -c ")) else {
        return command;
    };
    if !shell.starts_with('/') || shell.contains(' ') {
        return command;
    }
    let inner = line.strip_prefix('\'').and_then(|line| line.strip_suffix('\''));
    match inner {
        Some(inner) if !inner.contains('\'') => inner,
        _ => line,
    }
}
