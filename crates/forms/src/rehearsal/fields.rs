//! Reads the fields of stub results and tests, and reports every mistake with its position.

use std::collections::BTreeSet;

use crate::diagnostics::Diagnostics;
use crate::json::{JsonError, JsonMember, JsonNode, JsonValue, kind};
use crate::words::{did_you_mean, quoted};
use crate::workflow::document::tree::{self, DocumentTree};
use crate::workflow::document::yaml_error::NO_ANCHOR;

/// The largest file, in bytes.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

/// A value of a file, with the starting bytes of the values in it whose end was not reached.
pub(super) struct FileValue {
    pub(super) root: JsonNode,
    pub(super) open: BTreeSet<usize>,
}

/// Reads one YAML or JSON value that starts at a byte of the text. Its positions are those of the whole text.
/// `no_anchor` is the hint for an alias without an anchor, where the usual one does not help.
pub(super) fn value_at(
    text: &str,
    start: usize,
    no_anchor: Option<&'static str>,
    found: &mut Diagnostics<'_>,
) -> FileValue {
    let DocumentTree { mut root, open, broken } = tree::read(text);
    for JsonError { at, message, hint } in broken {
        let better = no_anchor.filter(|_| message == NO_ANCHOR);
        found.error(start + at, &message, better.or(hint).map(str::to_owned));
    }
    shift(&mut root, start);
    FileValue { root, open: open.into_iter().map(|at| start + at).collect() }
}

fn shift(node: &mut JsonNode, by: usize) {
    node.at += by;
    match &mut node.value {
        JsonValue::List(items) => items.iter_mut().for_each(|item| shift(item, by)),
        JsonValue::Object(members) => {
            for member in members {
                member.key_at += by;
                shift(&mut member.node, by);
            }
        }
        JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Text(_) => {}
    }
}

/// Returns the members of a mapping, each key once. Reports anything else.
pub(super) fn members<'n>(
    what: &str,
    node: &'n JsonNode,
    found: &mut Diagnostics<'_>,
) -> Vec<&'n JsonMember> {
    let JsonValue::Object(members) = &node.value else {
        let message = format!("{what} must be a mapping, found {}", kind(&node.value));
        found.error(node.at, &message, None);
        return Vec::new();
    };
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for member in members {
        match seen.insert(member.key.as_str()) {
            true => kept.push(member),
            false => found.error(member.key_at, &format!("{} occurs twice", quoted(&member.key)), None),
        }
    }
    kept
}

/// Reports a key that is none of the known ones.
pub(super) fn unknown(what: &str, member: &JsonMember, known: &[&'static str], found: &mut Diagnostics<'_>) {
    let message = format!("{what} has no key {}", quoted(&member.key));
    let hint = did_you_mean(&member.key, known.iter().copied())
        .unwrap_or_else(|| format!("it can have: {}", known.join(", ")));
    found.error(member.key_at, &message, Some(hint));
}

/// Reads a text. A number or a truth value counts as it is written.
pub(super) fn text(what: &str, node: &JsonNode, found: &mut Diagnostics<'_>) -> Option<String> {
    match &node.value {
        JsonValue::Text(text) | JsonValue::Number(text) => Some(text.clone()),
        JsonValue::Boolean(flag) => Some(flag.to_string()),
        value => {
            found.error(node.at, &format!("{what} must be text, found {}", kind(value)), None);
            None
        }
    }
}

/// Reads a whole number from 0 on.
pub(super) fn number(what: &str, most: u64, node: &JsonNode, found: &mut Diagnostics<'_>) -> Option<u64> {
    let read = match &node.value {
        JsonValue::Number(text) => crate::yaml::whole(text).filter(|number| *number <= most),
        _ => None,
    };
    if read.is_none() {
        found.error(node.at, &format!("{what} must be a whole number from 0 to {most}"), None);
    }
    read
}

/// Reads a word of a table.
pub(super) fn word<T: Copy + 'static>(
    what: &str,
    words: &'static [(&'static str, T)],
    node: &JsonNode,
    found: &mut Diagnostics<'_>,
) -> Option<T> {
    let written = text(what, node, found)?;
    let meaning = words.iter().find(|(known, _)| *known == written).map(|(_, meaning)| *meaning);
    if meaning.is_none() {
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let message = format!("{what} must be one of {}, found {}", known.join(", "), quoted(&written));
        found.error(node.at, &message, did_you_mean(&written, known));
    }
    meaning
}
