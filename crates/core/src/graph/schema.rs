//! JSON Schema: whether an answer is what a session was asked for.
//!
//! The common part of it: [`KEYWORDS`] lists what is known. A keyword that is not there is never
//! passed over in silence: [`flaws`] names it, and [`check`](super::check) refuses the workflow.
//!
//! - [`validate`]: what is wrong with a value.
//! - [`flaws`], [`unsupported`]: what is wrong with a schema.
//! - [`example`]: a value that fits, for a rehearsal.
//! - [`answer`], [`find_value`]: the value in what an agent said.
//!
//! Values and schemas are strangers': depth, work and the number of faults are bounded.

mod answer;
mod example;
mod keywords;
mod numbers;
#[cfg(test)]
mod tests;
mod validate;

use std::fmt;

use serde_json::Value;

pub use answer::{NoValue, answer, find_value};
pub use example::example;
pub use keywords::{KEYWORDS, KeywordShape, SchemaError, SchemaErrorKind, schema_errors, unsupported};
pub(super) use validate::admits_in;
pub use validate::{MAX_FAULTS, validate};

/// Something that is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// Where in the value: `$.steps[0]`.
    pub path: String,
    /// What, in words.
    pub what: String,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// So deep are schemas followed, references included. JSON itself is read 128 deep.
const MAX_DEPTH: usize = 200;

/// How often an answer that does not fit is asked for again.
pub const ASKED_AGAIN: u32 = 2;

/// A way into a value, made into text only where something is wrong.
enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// The names on the way, with `/` between them.
    fn names(&self) -> String {
        let (before, name) = match self {
            Path::Root => return String::new(),
            Path::Member(before, key) => (before, (*key).to_owned()),
            Path::Item(before, index) => (before, index.to_string()),
        };
        match before.names() {
            empty if empty.is_empty() => name,
            names => format!("{names}/{name}"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => f.write_str("$"),
            Path::Item(before, index) => write!(f, "{before}[{index}]"),
            Path::Member(before, key) if is_word(key) => write!(f, "{before}.{key}"),
            Path::Member(before, key) => {
                write!(f, "{before}[\"")?;
                short(key).try_for_each(|letter| write!(f, "{}", letter.escape_debug()))?;
                f.write_str("\"]")
            }
        }
    }
}

fn is_word(key: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$' | '-');
    !key.is_empty() && key.len() <= SHOWN && key.chars().all(is_plain)
}

/// So much of a stranger's text is repeated in a message.
const SHOWN: usize = 60;

fn short(text: &str) -> impl Iterator<Item = char> {
    let more = text.chars().nth(SHOWN).map(|_| '…');
    text.chars().take(SHOWN).chain(more)
}

/// A value as it is repeated in a message: short, and nothing a terminal would obey.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    let harmless = |letter: char| match letter {
        '"' | '\\' | '\'' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    };
    short(&text).map(harmless).collect()
}

/// What a reference means: `#`, or something below `#/$defs/` or `#/definitions/`.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let is_ours = pointer.is_empty() || ["/$defs/", "/definitions/"].iter().any(|at| pointer.starts_with(at));
    let target = root.pointer(pointer).filter(|_| is_ours)?;
    (target.is_object() || target.is_boolean()).then_some(target)
}
