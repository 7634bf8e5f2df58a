//! Writes YAML as a person would: plain words if possible, blocks for several lines, quotes
//! otherwise.

use crate::json::JsonValue;
use crate::yaml::plain;

/// A value to write.
pub(crate) enum YamlOutput {
    /// Written as it is: a number or a boolean.
    Plain(String),
    Text(String),
    List(Vec<YamlOutput>),
    /// Members in the order given.
    Map(Vec<(String, YamlOutput)>),
}

impl YamlOutput {
    pub(crate) fn text(text: impl Into<String>) -> YamlOutput {
        YamlOutput::Text(text.into())
    }

    pub(crate) fn plain(value: impl ToString) -> YamlOutput {
        YamlOutput::Plain(value.to_string())
    }

    pub(crate) fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> YamlOutput {
        YamlOutput::List(texts.into_iter().map(YamlOutput::text).collect())
    }

    pub(crate) fn json(value: &serde_json::Value) -> YamlOutput {
        match value {
            serde_json::Value::String(text) => YamlOutput::text(text),
            serde_json::Value::Array(items) => YamlOutput::List(items.iter().map(YamlOutput::json).collect()),
            serde_json::Value::Object(map) => YamlOutput::Map(
                map.iter().map(|(key, value)| (key.clone(), YamlOutput::json(value))).collect(),
            ),
            other => YamlOutput::plain(other),
        }
    }

    /// Returns the value unless it is an empty list or mapping.
    pub(crate) fn filled(self) -> Option<YamlOutput> {
        self.is_nested().then_some(self)
    }

    fn is_nested(&self) -> bool {
        match self {
            YamlOutput::Plain(_) | YamlOutput::Text(_) => false,
            YamlOutput::List(items) => !items.is_empty(),
            YamlOutput::Map(members) => !members.is_empty(),
        }
    }
}

pub(crate) fn write(out: &YamlOutput) -> String {
    let mut text = String::new();
    value(&mut text, out, 0);
    text
}

/// Writes a value at the end of the current line, and indents further lines.
fn value(text: &mut String, out: &YamlOutput, indent: usize) {
    match out {
        YamlOutput::Plain(word) => text.push_str(word),
        YamlOutput::Text(words) => scalar(text, words, indent),
        YamlOutput::List(items) if items.is_empty() => text.push_str("[]"),
        YamlOutput::Map(members) if members.is_empty() => text.push_str("{}"),
        YamlOutput::List(items) => {
            for (index, item) in items.iter().enumerate() {
                begin(text, index, indent);
                text.push_str("- ");
                value(text, item, indent + 2);
                end(text);
            }
        }
        YamlOutput::Map(members) => {
            for (index, (key, member)) in members.iter().enumerate() {
                begin(text, index, indent);
                scalar(text, key, usize::MAX);
                text.push(':');
                if member.is_nested() {
                    text.push('\n');
                    text.push_str(&" ".repeat(indent + 2));
                } else {
                    text.push(' ');
                }
                value(text, member, indent + 2);
                end(text);
            }
        }
    }
}

/// Indents every line of a block but the first, which continues its owner's line.
fn begin(text: &mut String, index: usize, indent: usize) {
    if index > 0 {
        text.push_str(&" ".repeat(indent));
    }
}

fn end(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Writes text. `usize::MAX` as indent forbids a block.
fn scalar(text: &mut String, words: &str, indent: usize) {
    if is_plain(words) {
        text.push_str(words);
    } else if indent != usize::MAX && is_block(words) {
        block(text, words, indent);
    } else {
        quoted(text, words);
    }
}

fn is_plain(words: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || " _-./()|+=<>$;~^\\".contains(c);
    let starts_well = words.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/');
    let is_text = matches!(plain(words.to_owned()), JsonValue::Text(_));
    starts_well && is_text && !words.ends_with(' ') && words.chars().all(|c| c.is_ascii() && is_word(c))
}

/// Decides whether text reads back the same from a `|` block.
fn is_block(words: &str) -> bool {
    let starts_well = !words.starts_with([' ', '\n', '\t', '\u{feff}']);
    let is_fine = |line: &str| line.is_empty() || !line.trim().is_empty();
    let is_shown = |c: char| c == '\n' || !(c.is_control() || is_odd(c));
    words.contains('\n') && starts_well && words.chars().all(is_shown) && words.split('\n').all(is_fine)
}

fn block(text: &mut String, words: &str, indent: usize) {
    let end = match words.strip_suffix('\n') {
        None => "|-",
        Some(inner) if inner.ends_with('\n') => "|+",
        Some(_) => "|",
    };
    text.push_str(end);
    text.push('\n');
    let body = words.strip_suffix('\n').unwrap_or(words);
    for line in body.split('\n') {
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
        text.push('\n');
    }
}

/// Decides whether a YAML reader may treat a character as a line break or refuse it.
fn is_odd(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn quoted(text: &mut String, words: &str) {
    text.push('"');
    for c in words.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() || is_odd(c) => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}
