//! Messages of the agent: text, thinking and tool calls.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use windlass_core::agent::AgentEvent;
use windlass_core::hook::ToolName;

use super::content::{Blocks, ClaudeTokens};
use super::trouble;
use crate::agent::claude::tools;
use crate::agent::lines::shorten;

/// The number of bytes of a tool's input to keep for people.
const SHOWN: usize = 200;

#[derive(Deserialize)]
struct AssistantLine<'a> {
    /// Known already. Declared so that a second `type` is an error.
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow, default)]
    message: Option<AssistantMessage<'a>>,
    #[serde(default)]
    parent_tool_use_id: Option<IgnoredAny>,
    #[serde(default)]
    is_api_error_message: bool,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct AssistantMessage<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Blocks<AssistantBlock<'a>>,
    #[serde(default)]
    usage: Option<ClaudeTokens>,
}

#[derive(Deserialize)]
struct AssistantBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line: AssistantLine<'_> = serde_json::from_str(line)?;
    let Some(message) = line.message else { return Ok(()) };
    let side = line.parent_tool_use_id.is_some();
    let error = match line.error.filter(|_| line.is_api_error_message) {
        Some(word) => serde_json::from_str::<Option<String>>(word.get())?.unwrap_or_default(),
        None => String::new(),
    };
    for block in message.content.0 {
        out.push(match line.is_api_error_message {
            true => AgentEvent::ApiError {
                trouble: trouble(line.api_error_status, &error),
                error: error.clone(),
                text: block.text.unwrap_or_default(),
            },
            false => block.event(&message.id, side),
        });
    }
    if let Some(tokens) = message.usage {
        out.push(AgentEvent::Spent { message_id: message.id.into_owned(), usage: tokens.usage() });
    }
    Ok(())
}

impl AssistantBlock<'_> {
    fn event(self, message_id: &str, side: bool) -> AgentEvent {
        match self.kind.as_ref() {
            "text" => AgentEvent::Text {
                text: self.text.unwrap_or_default(),
                message_id: message_id.to_owned(),
                side,
            },
            "thinking" => AgentEvent::Thinking { text: self.thinking.unwrap_or_default(), side },
            "tool_use" => AgentEvent::ToolUse {
                id: self.id.unwrap_or_default(),
                tool: self.name.as_deref().map_or(ToolName::Other, tools::name),
                asks: self.name.as_deref() == Some(tools::QUESTION),
                summary: self.input.map(|input| summarise(self.name.as_deref(), input)).unwrap_or_default(),
                name: self.name.unwrap_or_default(),
                side,
            },
            other => AgentEvent::Unknown { what: format!("assistant/{other}") },
        }
    }
}

/// Returns the most informative field of a tool's input, or else the whole input, shortened. An answer has no
/// such field: all of it is the answer.
fn summarise(tool: Option<&str>, input: &RawValue) -> String {
    if tool == Some(tools::ANSWER) {
        return shorten(input.get(), SHOWN);
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Telling {
        command: Option<String>,
        file_path: Option<String>,
        path: Option<String>,
        url: Option<String>,
        query: Option<String>,
        pattern: Option<String>,
        skill: Option<String>,
    }
    let told: Telling = serde_json::from_str(input.get()).unwrap_or_default();
    let told = [told.command, told.file_path, told.path, told.url, told.query, told.pattern, told.skill];
    let text = told.into_iter().flatten().find(|text| !text.is_empty());
    shorten(text.as_deref().unwrap_or(input.get()), SHOWN)
}
