//! Finds the JSON document in an agent's output: bare, with comments, in a code fence or in the
//! middle of prose.
//!
//! Never guesses: broken tasks, or more than one list of them, are an error. `read` interprets the
//! fields.

use super::span;
use super::surrounding_text::{DocumentKind, json_around};
use crate::json::{self, JsonError, JsonNode, JsonValue};

/// A document found in a text.
pub(super) struct FoundDocument {
    /// The value, with positions in the whole text.
    pub(super) node: JsonNode,
    /// The byte after the document.
    pub(super) end: usize,
    /// The first byte that is not strict JSON.
    pub(super) lax_at: Option<usize>,
    /// True if there is other text around the document.
    pub(super) is_wrapped: bool,
}

/// The most opening brackets to try in prose.
const TRIES: usize = 64;

/// Fields that distinguish tasks from other JSON in prose.
const TELLING: [&str; 5] = ["id", "name", "title", "description", "status"];

/// Finds the document, or explains why there is none.
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

/// Returns the error for a text without a document: the mistake in its JSON, or that it has none.
fn nothing(text: &str, broken: JsonError) -> JsonError {
    let begun = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if begun.is_empty() || begun.starts_with(['{', '[']) {
        return broken;
    }
    let hint =
        Some("it should be `{\"version\": \"1.0\", \"tasks\": []}`; `windlass tasks init` creates one");
    JsonError {
        at: text.len() - begun.len(),
        message: "there is no list of tasks in this text".to_owned(),
        hint,
    }
}

/// Finds the only document in prose.
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

/// Refuses a document that is part of a larger broken one, because the rest would be lost.
fn refuse_a_part(text: &str, node: &JsonNode) -> Result<(), JsonError> {
    let end = span::end(text, node.at).unwrap_or(text.len());
    let kind =
        if matches!(node.value, JsonValue::List(_)) { DocumentKind::List } else { DocumentKind::Object };
    let Some(at) = json_around(text, node.at, end, kind) else { return Ok(()) };
    let rest = text.get(at..).unwrap_or_default();
    let broken = json::read_commented(&alone(text, at, text.len())).err();
    // Reports the mistake itself only if an opening bracket precedes the document; a key or a lone
    // bracket does not show one.
    match broken.filter(|_| at < node.at && rest.starts_with(['{', '['])) {
        Some(broken) => Err(broken),
        None => {
            let message = "there is other JSON around the list of tasks, which would be lost".to_owned();
            let hint = Some("make it one document; a bracket or a quote may be missing");
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
        return Err(JsonError { at: node.at, message, hint: Some("keep only one of them") });
    }
    *only = Some(node);
    Ok(())
}

/// Returns a part of the text with blanks before it, so that positions match the whole text.
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

/// Decides the same for JSON that is broken.
fn mentions_tasks(slice: &str) -> bool {
    let inner = slice.get(1..).unwrap_or_default().trim_start();
    let is_json = if slice.starts_with('[') { inner.starts_with('{') } else { inner.starts_with('"') };
    is_json
        && (slice.contains("\"tasks\"") || TELLING.iter().any(|key| slice.contains(&format!("\"{key}\""))))
}
