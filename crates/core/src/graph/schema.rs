//! JSON Schema: checks that a session's answer has the requested form.
//!
//! Windlass supports the keywords in [`KEYWORDS`] and ignores no other: [`schema_errors`] reports an
//! unknown keyword, and [`check`](mod@super::check) refuses the workflow.
//!
//! - [`validate`]: finds the errors in a value.
//! - [`schema_errors`], [`unsupported`]: find the errors in a schema.
//! - [`example`]: makes a value that fits a schema, for a dry run.
//! - [`example_in_round`]: makes another one in each round, for a simulated agent.
//! - [`answer`], [`find_value`]: find the value in an agent's message.
//!
//! Values and schemas are untrusted, so depth, work and the number of errors are limited.

mod answer;
mod example;
mod keywords;
mod numbers;
#[cfg(test)]
mod tests;
mod validate;
mod variation;

use std::fmt;

use serde_json::Value;

pub use answer::{NoValue, answer, find_value};
pub use example::example;
pub use keywords::{KEYWORDS, KeywordShape, SchemaError, SchemaErrorKind, schema_errors, unsupported};
pub(super) use validate::admits_in;
pub use validate::{MAX_VALIDATION_ERRORS, validate};
pub use variation::example_in_round;

/// An error in a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// The place in the value: `$.steps[0]`.
    pub path: String,
    /// The problem, in words for the agent and for people.
    pub what: String,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The deepest nesting of schemas, references included. The JSON parser allows 128 levels.
const MAX_DEPTH: usize = 200;

/// The number of times that Windlass asks again for an answer that does not fit.
pub const ASKED_AGAIN: u32 = 2;

/// A path into a value. It becomes text only for an error.
enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// Joins the names of the path with `/`.
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

/// The most characters of an untrusted text that a message repeats.
const SHOWN: usize = 60;

fn short(text: &str) -> impl Iterator<Item = char> {
    let more = text.chars().nth(SHOWN).map(|_| '…');
    text.chars().take(SHOWN).chain(more)
}

/// Formats a value for a message: short, and without terminal control characters.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    let harmless = |letter: char| match letter {
        '"' | '\\' | '\'' => letter.to_string(),
        _ => letter.escape_debug().to_string(),
    };
    short(&text).map(harmless).collect()
}

/// Finds the target of a reference: `#`, or a schema below `#/$defs/` or `#/definitions/`.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let is_ours = pointer.is_empty() || ["/$defs/", "/definitions/"].iter().any(|at| pointer.starts_with(at));
    let target = root.pointer(pointer).filter(|_| is_ours)?;
    (target.is_object() || target.is_boolean()).then_some(target)
}
