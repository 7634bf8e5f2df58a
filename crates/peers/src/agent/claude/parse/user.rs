//! Results of the agent's tools. Other messages in the user's name are ignored.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use windlass_core::agent::AgentEvent;

use super::content::Blocks;
use crate::agent::lines::shorten;

/// The number of bytes of a tool's result to keep for people.
const SHOWN: usize = 4 * 1024;

#[derive(Deserialize)]
struct UserLine<'a> {
    /// Known already. Declared so that a second `type` is an error.
    #[serde(rename = "type")]
    _kind: IgnoredAny,
    #[serde(borrow, default)]
    message: Option<UserMessage<'a>>,
    #[serde(default)]
    parent_tool_use_id: Option<IgnoredAny>,
    #[serde(borrow, default)]
    tool_result_meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct UserMessage<'a> {
    #[serde(borrow, default)]
    content: Blocks<UserBlock<'a>>,
}

#[derive(Deserialize)]
struct UserBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    tool_use_id: Option<String>,
    /// Parsed separately: a result of an unknown form has no text, but the call still counts.
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line: UserLine<'_> = serde_json::from_str(line)?;
    let Some(message) = line.message else { return Ok(()) };
    let decided = decided_calls(line.tool_result_meta);
    for block in message.content.0.into_iter().filter(|block| block.kind == "tool_result") {
        let id = block.tool_use_id.unwrap_or_default();
        let is_error = block.is_error.unwrap_or_default();
        out.push(AgentEvent::ToolResult {
            was_decided: !is_error || decided.contains(&id),
            id,
            is_error,
            text: block.content.map(result_text).unwrap_or_default(),
            side: line.parent_tool_use_id.is_some(),
        });
    }
    Ok(())
}

/// Returns the calls for which the CLI reports a permission decision.
fn decided_calls(meta: Option<&RawValue>) -> Vec<String> {
    #[derive(Deserialize)]
    struct Meta {
        id: String,
        #[serde(default)]
        permission_decision: Option<IgnoredAny>,
    }
    let list: Blocks<Meta> = meta.and_then(|m| serde_json::from_str(m.get()).ok()).unwrap_or_default();
    list.0.into_iter().filter(|m| m.permission_decision.is_some()).map(|m| m.id).collect()
}

/// Returns the text of a result, which is a string or a list with text parts.
fn result_text(content: &RawValue) -> String {
    #[derive(Deserialize)]
    struct TextPart<'a>(#[serde(borrow)] Cow<'a, str>);
    #[derive(Deserialize)]
    struct UserPart<'a> {
        #[serde(borrow, default)]
        text: Option<TextPart<'a>>,
    }
    if let Ok(TextPart(text)) = serde_json::from_str(content.get()) {
        return shorten(&text, SHOWN);
    }
    let parts: Blocks<UserPart<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    let texts: Vec<_> = parts.0.into_iter().filter_map(|part| part.text).map(|TextPart(text)| text).collect();
    shorten(&texts.join("\n"), SHOWN)
}
