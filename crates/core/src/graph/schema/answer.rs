//! Finds the JSON value in an agent's message.
//!
//! Some CLIs report the value themselves. Others only report text: JSON alone, in a code fence, or
//! inside prose. Windlass does not guess: a message with two possible answers has no answer.

use serde_json::Value;

/// The reason why a message has no value. Windlass sends these words to the agent, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    #[error("there is no JSON in it")]
    NoJson,
    /// Text that starts like JSON does not parse.
    #[error("the JSON in it is not well formed")]
    Broken,
    #[error("there are several JSON values in it, where one is wanted: one JSON value and nothing else")]
    Several,
}

/// Returns the answer of a session: the value from the CLI, or else the one in the last message.
pub fn answer(value: Option<&Value>, last_message: Option<&str>) -> Result<Value, NoValue> {
    match value {
        Some(value) => Ok(value.clone()),
        None => find_value(last_message.unwrap_or_default()),
    }
}

/// Finds the one value in a text: the whole text, the only JSON fence, or the only object in prose.
pub fn find_value(text: &str) -> Result<Value, NoValue> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut fenced = fences(text);
    match (fenced.next(), fenced.next()) {
        (Some(only), None) => serde_json::from_str(only).map_err(|_| NoValue::Broken),
        (Some(_), Some(_)) => Err(NoValue::Several),
        (None, _) => in_prose(text),
    }
}

/// Returns the contents of all JSON code fences.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<Fence> = None;
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let marks = line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
        let info = line.trim_start().trim_start_matches('`').trim();
        match open {
            None if marks >= 3 => {
                open = Some(Fence { marks, is_json: info.eq_ignore_ascii_case("json"), from: at });
                None
            }
            Some(fence) if marks >= fence.marks && info.is_empty() => {
                open = None;
                text.get(fence.from..start).filter(|_| fence.is_json)
            }
            _ => None,
        }
    })
}

#[derive(Clone, Copy)]
struct Fence {
    marks: usize,
    is_json: bool,
    from: usize,
}

/// The most opening brackets in prose that are tried as JSON.
const TRIES: usize = 64;

fn in_prose(text: &str) -> Result<Value, NoValue> {
    let mut only = None;
    let mut from = 0;
    for _ in 0..TRIES {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(['{', '['])).map(|at| from + at) else {
            return only.ok_or(NoValue::NoJson);
        };
        let rest = text.get(at..).unwrap_or_default();
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match read.next() {
            Some(Ok(value)) => {
                from = at + read.byte_offset();
                if is_telling(&value) && only.replace(value).is_some() {
                    return Err(NoValue::Several);
                }
            }
            // Parts of a broken answer may parse, but they are not the whole answer.
            _ if is_begun(rest) => return Err(NoValue::Broken),
            _ => from = at + 1,
        }
    }
    // The rest of the text is unread and could contain another answer.
    Err(if only.is_some() { NoValue::Several } else { NoValue::NoJson })
}

/// Returns whether a value is an answer. Prose has brackets for many reasons, so only a non-empty
/// object, alone or in a list, counts.
fn is_telling(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(is_telling),
        _ => false,
    }
}

/// Returns whether a text starts like an object or a list of objects.
fn is_begun(rest: &str) -> bool {
    let inner = rest.get(1..).unwrap_or_default().trim_start();
    match rest.starts_with('[') {
        true => inner.starts_with('{') && is_begun(inner),
        false => inner.starts_with('"'),
    }
}
