//! Finds the one JSON document in what an agent wrote: bare, with comments, in a code fence or
//! in the middle of prose.
//!
//! Never guesses: when what looks like tasks is broken, or there is more of it than one, that is
//! an error. What the fields mean is left to `read`.

use super::span;
use super::surrounding_text::{DocumentKind, json_around};
use crate::json::{self, JsonError, JsonNode, JsonValue};

/// A document in a text.
pub(super) struct FoundDocument {
    /// With positions in the whole text.
    pub(super) node: JsonNode,
    /// The byte after it.
    pub(super) end: usize,
    /// Where it is not strict JSON.
    pub(super) lax_at: Option<usize>,
    /// Whether it stands in other text.
    pub(super) is_wrapped: bool,
}

/// So many brackets of a prose are looked behind.
const TRIES: usize = 64;

/// Fields that tell tasks from other JSON in a prose.
const TELLING: [&str; 5] = ["id", "name", "title", "description", "status"];

/// Finds it.
pub(super) fn find(text: &str) -> Result<FoundDocument, JsonError> {
    match json::read_commented(text) {
        Ok(node) => Ok(found(text, node, Wrapping::None)),
        Err(broken) => within(text)?.ok_or_else(|| nothing(text, broken)),
    }
}

enum Wrapping {
    None,
    Prose,
}

fn found(text: &str, node: JsonNode, wrapping: Wrapping) -> FoundDocument {
    let end = span::end(text, node.at).unwrap_or(text.len());
    let strict = match wrapping {
        Wrapping::None => text.replacen('\u{feff}', "   ", usize::from(text.starts_with('\u{feff}'))),
        Wrapping::Prose => alone(text, node.at, end),
    };
    let lax_at = json::read(&strict).err().map(|broken| broken.at);
    FoundDocument { end, lax_at, is_wrapped: matches!(wrapping, Wrapping::Prose), node }
}

/// Why there is none: the mistake in the JSON, or that there is no JSON.
fn nothing(text: &str, broken: JsonError) -> JsonError {
    let begun = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if begun.is_empty() || begun.starts_with(['{', '[']) {
        return broken;
    }
    let hint = Some("it should be `{\"version\": \"1.0\", \"tasks\": []}`; `windlass tasks init` begins one");
    JsonError {
        at: text.len() - begun.len(),
        message: "there is no list of tasks in this text".to_owned(),
        hint,
    }
}

/// The one document in a prose.
fn within(text: &str) -> Result<Option<FoundDocument>, JsonError> {
    let mut only: Option<JsonNode> = None;
    let mut from = 0;
    for _ in 0..TRIES {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(['{', '['])).map(|at| from + at) else {
            break;
        };
        let end = span::end(text, at);
        let slice = text.get(at..end.unwrap_or(text.len())).unwrap_or_default();
        from = match json::read_commented(&alone(text, at, at + slice.len())) {
            Ok(node) => {
                keep(&mut only, node)?;
                at + slice.len()
            }
            Err(broken) if mentions_tasks(slice) => return Err(broken),
            Err(_) => at + 1,
        };
    }
    let Some(node) = only else { return Ok(None) };
    refuse_a_part(text, &node)?;
    Ok(Some(found(text, node, Wrapping::Prose)))
}

/// Parts of broken tasks may be whole, but they are not all there was.
fn refuse_a_part(text: &str, node: &JsonNode) -> Result<(), JsonError> {
    let end = span::end(text, node.at).unwrap_or(text.len());
    let kind =
        if matches!(node.value, JsonValue::List(_)) { DocumentKind::List } else { DocumentKind::Object };
    let Some(at) = json_around(text, node.at, end, kind) else { return Ok(()) };
    let rest = text.get(at..).unwrap_or_default();
    let broken = json::read_commented(&alone(text, at, text.len())).err();
    // What is wrong there, where something was opened; a key or a lone bracket says nothing by itself.
    match broken.filter(|_| at < node.at && rest.starts_with(['{', '['])) {
        Some(broken) => Err(broken),
        None => {
            let message = "there is other JSON around the list of tasks, which would be lost".to_owned();
            let hint = Some("mend it to be one document: perhaps a bracket or a quote is missing");
            Err(JsonError { at, message, hint })
        }
    }
}

fn keep(only: &mut Option<JsonNode>, node: JsonNode) -> Result<(), JsonError> {
    if !looks_like_tasks(&node) {
        return Ok(());
    }
    if only.is_some() {
        let message = "there is more than one list of tasks in this text".to_owned();
        return Err(JsonError { at: node.at, message, hint: Some("leave only the one that counts") });
    }
    *only = Some(node);
    Ok(())
}

/// A part of the text with blanks before it, so that positions are those of the whole.
fn alone(text: &str, at: usize, end: usize) -> String {
    format!("{:at$}{}", "", text.get(at..end).unwrap_or_default())
}

fn looks_like_tasks(node: &JsonNode) -> bool {
    let has = |node: &JsonNode, keys: &[&str]| match &node.value {
        JsonValue::Object(members) => members.iter().any(|member| keys.contains(&member.key.as_str())),
        _ => false,
    };
    match &node.value {
        JsonValue::List(items) => items.iter().any(|item| has(item, &TELLING)),
        _ => has(node, &["tasks"]),
    }
}

/// The same of JSON that is broken.
fn mentions_tasks(slice: &str) -> bool {
    let inner = slice.get(1..).unwrap_or_default().trim_start();
    let is_json = if slice.starts_with('[') { inner.starts_with('{') } else { inner.starts_with('"') };
    is_json
        && (slice.contains("\"tasks\"") || TELLING.iter().any(|key| slice.contains(&format!("\"{key}\""))))
}
