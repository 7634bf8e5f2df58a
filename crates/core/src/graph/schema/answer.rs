//! The value in what an agent said.
//!
//! Some CLIs hand it over themselves. Others only pass on text: JSON alone, in a fence, or with
//! words around it. Nothing is guessed: where there could be two answers there is none.

use serde_json::Value;

/// What a session answered: the value the CLI gave, or else the one in the agent's last words.
pub fn answer(value: Option<&Value>, last_message: Option<&str>) -> Option<Value> {
    value.cloned().or_else(|| find_value(last_message?))
}

/// The one value in a text: JSON alone, in the only fence of JSON, or the only object in a prose.
pub fn find_value(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut fenced = fences(text);
    match (fenced.next(), fenced.next()) {
        (Some(only), None) => serde_json::from_str(only).ok(),
        (Some(_), Some(_)) => None,
        (None, _) => in_prose(text),
    }
}

/// What stands in fences of JSON, from line to line.
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

/// So many brackets of a prose are looked behind.
const TRIES: usize = 64;

fn in_prose(text: &str) -> Option<Value> {
    let mut only = None;
    let mut from = 0;
    for _ in 0..TRIES {
        let Some(at) = text.get(from..).and_then(|rest| rest.find(['{', '['])).map(|at| from + at) else {
            return only;
        };
        let rest = text.get(at..)?;
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match read.next() {
            Some(Ok(value)) => {
                from = at + read.byte_offset();
                if is_telling(&value) && only.replace(value).is_some() {
                    return None;
                }
            }
            // Parts of a broken answer may be whole, but they are not all there was.
            _ if is_begun(rest) => return None,
            _ => from = at + 1,
        }
    }
    // What lies behind has not been seen: it could be another answer.
    None
}

/// Braces and brackets stand in prose for many reasons; an object with something in it is JSON.
fn is_telling(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => items.iter().any(is_telling),
        _ => false,
    }
}

/// Whether it begins like an object, or a list of them.
fn is_begun(rest: &str) -> bool {
    let inner = rest.get(1..).unwrap_or_default().trim_start();
    match rest.starts_with('[') {
        true => inner.starts_with('{') && is_begun(inner),
        false => inner.starts_with('"'),
    }
}
