//! Reads single values of a document: texts, counts, durations, words and conditions.
//!
//! Each function returns `None` after it reports an error, so that reading continues and finds the
//! next.

use windlass_core::graph::workflow::{Expression, Template};

use super::field_reader::FieldReader;
use crate::json::{JsonNode, JsonValue};
use crate::settings::parse_duration;
use crate::words::{WordTable, quoted};
use crate::yaml;

/// The largest count in a workflow.
const MOST: u64 = 1_000_000;

impl FieldReader<'_> {
    /// Reads a text that is not blank.
    pub(super) fn text(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        let JsonValue::Text(text) = &node.value else {
            let is_scalar = matches!(node.value, JsonValue::Number(_) | JsonValue::Boolean(_));
            let hint = is_scalar.then(|| "put it in quotes".to_owned());
            self.wrong_with(path, "text", node, hint);
            return None;
        };
        if text.trim().is_empty() {
            self.error(node.at, &format!("`{path}` is empty"), None);
            return None;
        }
        Some(text.clone())
    }

    /// Reads a text that fits on one line, trimmed.
    pub(super) fn one_line(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        let text = self.text(path, node)?;
        if text.trim().contains(char::is_control) {
            self.error(node.at, &format!("`{path}` must be on one line"), None);
            return None;
        }
        Some(text.trim().to_owned())
    }

    pub(super) fn template(&mut self, path: &str, node: &JsonNode) -> Option<Template> {
        self.text(path, node).map(Template)
    }

    /// Reads a condition or another expression, which has no braces around it.
    pub(super) fn expression(&mut self, path: &str, node: &JsonNode) -> Option<Expression> {
        if let JsonValue::Boolean(flag) = node.value {
            return Some(Expression(flag.to_string()));
        }
        let text = self.text(path, node)?;
        let bare = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        if let Some(bare) = bare {
            let hint = Some(format!("write {}", quoted(bare.trim())));
            let is_value = path == "gives" || path.ends_with(".in") || path.ends_with(".from");
            let what = if is_value { "an expression" } else { "a condition" };
            self.error(node.at, &format!("`{path}` is {what}, which has no braces"), hint);
            return Some(Expression(bare.to_owned()));
        }
        // Leading blanks stay, so that positions inside the condition are right.
        Some(Expression(text.trim_end().to_owned()))
    }

    /// Reads a text; a number or a boolean becomes its written form.
    pub(super) fn word_of_any_kind(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        match &node.value {
            JsonValue::Number(text) => Some(text.clone()),
            JsonValue::Boolean(flag) => Some(flag.to_string()),
            JsonValue::Text(text) => Some(text.clone()),
            JsonValue::Null | JsonValue::List(_) | JsonValue::Object(_) => {
                self.wrong_with(path, "text", node, None);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, path: &str, node: &JsonNode) -> Option<bool> {
        if let JsonValue::Boolean(flag) = node.value {
            return Some(flag);
        }
        self.wrong_with(path, "true or false", node, meant_flag(node).map(str::to_owned));
        None
    }

    /// Reads a non-negative whole number.
    pub(super) fn count(&mut self, path: &str, node: &JsonNode) -> Option<u32> {
        self.whole(path, node, MOST).and_then(|count| u32::try_from(count).ok())
    }

    /// Reads a whole number of at least one.
    pub(super) fn some(&mut self, path: &str, node: &JsonNode) -> Option<u32> {
        let count = self.count(path, node)?;
        if count == 0 {
            self.error(node.at, &format!("`{path}` must be at least 1"), None);
            return None;
        }
        Some(count)
    }

    pub(super) fn whole(&mut self, path: &str, node: &JsonNode, most: u64) -> Option<u64> {
        let JsonValue::Number(written) = &node.value else {
            let is_quoted = matches!(&node.value, JsonValue::Text(text) if text.parse::<u64>().is_ok());
            let hint = is_quoted.then(|| "write it without quotes".to_owned());
            self.wrong_with(path, "a whole number", node, hint);
            return None;
        };
        let message = match yaml::whole(written) {
            Some(count) if count <= most => return Some(count),
            _ if written.starts_with('-') => format!("must not be negative, found {}", quoted(written)),
            None if written.contains(['.', 'e', 'E']) => {
                format!("must be a whole number, found {}", quoted(written))
            }
            _ => format!("must be at most {most}, found {}", quoted(written)),
        };
        self.error(node.at, &format!("`{path}` {message}"), None);
        None
    }

    /// Reads a number from zero to `most`, which may have a fraction.
    pub(super) fn amount(&mut self, path: &str, node: &JsonNode, most: f64) -> Option<f64> {
        let JsonValue::Number(written) = &node.value else {
            self.mismatch(path, "a number", node);
            return None;
        };
        let amount = written.parse::<f64>().ok().filter(|amount| (0.0..=most).contains(amount));
        if amount.is_none() {
            self.error(
                node.at,
                &format!("`{path}` must be from 0 to {most}, found {}", quoted(written)),
                None,
            );
        }
        amount
    }

    /// Reads a duration and returns milliseconds.
    pub(super) fn duration(&mut self, path: &str, node: &JsonNode) -> Option<u64> {
        let hint = Some("write a number with its unit: 1500ms, 90s, 30m, 2h, 1d".to_owned());
        let text = match &node.value {
            JsonValue::Text(text) => text.as_str(),
            _ => {
                self.wrong_with(path, "a duration", node, hint);
                return None;
            }
        };
        match parse_duration(text) {
            Ok(duration) => u64::try_from(duration.as_millis()).ok(),
            Err(message) => {
                self.error(node.at, &format!("`{path}` must be a duration: {message}"), hint);
                None
            }
        }
    }

    /// Reads a duration longer than zero and returns milliseconds.
    pub(super) fn time(&mut self, path: &str, node: &JsonNode) -> Option<u64> {
        let ms = self.duration(path, node)?;
        if ms == 0 {
            self.error(node.at, &format!("`{path}` must be longer than zero"), None);
            return None;
        }
        Some(ms)
    }

    /// Reads a word from a fixed table.
    pub(super) fn word<T: Copy + PartialEq>(
        &mut self,
        path: &str,
        node: &JsonNode,
        words: &WordTable<T>,
    ) -> Option<T> {
        let word = match &node.value {
            // Quotes alone would not make it one of the words.
            JsonValue::Number(number) if words.meaning(number).is_none() => number.clone(),
            _ => self.text(path, node)?,
        };
        let meaning = words.meaning(&word);
        if meaning.is_none() {
            let (message, hint) = words.unknown(&word);
            self.error(node.at, &format!("`{path}` {message}"), hint);
        }
        meaning
    }

    /// Reads a list that is not empty.
    pub(super) fn list<'n>(
        &mut self,
        path: &str,
        wanted: &str,
        node: &'n JsonNode,
    ) -> Option<&'n [JsonNode]> {
        let JsonValue::List(items) = &node.value else {
            self.mismatch(path, wanted, node);
            return None;
        };
        if items.is_empty() && !self.is_open(node.at) {
            self.error(node.at, &format!("`{path}` is empty"), None);
            return None;
        }
        Some(items)
    }
}

/// Returns a hint for a value that was probably meant as true or false.
pub(super) fn meant_flag(node: &JsonNode) -> Option<&'static str> {
    let JsonValue::Text(text) = &node.value else { return None };
    match text.to_ascii_lowercase().as_str() {
        "true" | "false" => Some("write it without quotes"),
        "yes" | "on" => Some("write `true`"),
        "no" | "off" => Some("write `false`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_have_days_too() {
        let rows = [("1d", 86_400_000), ("1d12h", 129_600_000), ("1500ms", 1500), ("90s", 90_000), ("0d", 0)];
        for (text, ms) in rows {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["d", "1d x", "90", "soon", "-1d", "400d", "99999999999999999999d", ""] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
