//! Reads typed fields from JSON and reports each one of the wrong type.
//!
//! Each function returns `None` after it reports an error, so that reading continues and finds the
//! next.

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::json::{self, JsonMember, JsonNode, JsonValue};
use crate::words::{WordTable, did_you_mean, quoted};

/// The largest count that a workflow may give.
const MOST: u32 = 1_000_000;

/// A reader for the fields of a JSON text.
pub(crate) struct JsonFields<'a> {
    findings: Diagnostics<'a>,
}

impl<'a> JsonFields<'a> {
    /// Reads a text and returns its outermost value, unless the JSON is broken.
    pub(crate) fn open(text: &'a str, file: &'a str) -> (JsonFields<'a>, Option<JsonNode>) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut findings = Diagnostics::in_text(text, Some(file));
        let root = match json::read(text) {
            Ok(root) => Some(root),
            Err(broken) => {
                findings.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
                None
            }
        };
        (JsonFields { findings }, root)
    }

    pub(crate) fn error(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.findings.error(at, message, hint);
    }

    pub(crate) fn warn(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.findings.warn(at, message, hint);
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.findings.has_errors()
    }

    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        self.findings.finish()
    }

    fn mismatch(&mut self, path: &str, wanted: &str, node: &JsonNode) {
        let found = json::kind(&node.value);
        let hint = match node.value {
            JsonValue::Null => Some("leave the field out instead".to_owned()),
            _ => None,
        };
        self.error(node.at, &format!("`{path}` must be {wanted}, found {found}"), hint);
    }

    pub(crate) fn unknown(&mut self, path: &str, member: &JsonMember, known: &[&str]) {
        let path = quoted(path);
        let hint = did_you_mean(&member.key, known.iter().copied());
        self.warn(member.key_at, &format!("unknown field {path} is ignored"), hint);
    }

    /// Returns the fields of an object and reports repeated keys.
    pub(crate) fn members<'n>(&mut self, path: &str, node: &'n JsonNode) -> Option<Vec<&'n JsonMember>> {
        let JsonValue::Object(members) = &node.value else {
            let path = if path.is_empty() { "the document".to_owned() } else { format!("`{path}`") };
            self.error(
                node.at,
                &format!("{path} must be an object, found {}", json::kind(&node.value)),
                None,
            );
            return None;
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut unique = Vec::new();
        for member in members {
            if seen.insert(member.key.as_str()) {
                unique.push(member);
                continue;
            }
            let key = quoted(&join(path, &member.key));
            self.error(member.key_at, &format!("{key} is given twice"), Some("remove one of them".into()));
        }
        Some(unique)
    }

    pub(crate) fn text(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        if let JsonValue::Text(text) = &node.value {
            return Some(text.clone());
        }
        self.mismatch(path, "a string", node);
        None
    }

    /// Returns a text that is not blank.
    pub(crate) fn filled(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        let text = self.text(path, node)?;
        if text.trim().is_empty() {
            self.error(node.at, &format!("`{path}` is empty"), None);
            return None;
        }
        Some(text)
    }

    /// Returns a text that fits on one line, trimmed.
    pub(crate) fn one_line(&mut self, path: &str, node: &JsonNode) -> Option<String> {
        let text = self.filled(path, node)?;
        if text.trim().contains(['\n', '\r']) {
            self.error(node.at, &format!("`{path}` must be on one line"), None);
            return None;
        }
        Some(text.trim().to_owned())
    }

    pub(crate) fn flag(&mut self, path: &str, node: &JsonNode) -> Option<bool> {
        match &node.value {
            JsonValue::Boolean(flag) => Some(*flag),
            JsonValue::Text(text) if text == "true" || text == "false" => {
                let message = format!("`{path}` must be true or false, found a string");
                self.error(node.at, &message, Some("write it without quotes".into()));
                None
            }
            _ => {
                self.mismatch(path, "true or false", node);
                None
            }
        }
    }

    /// Returns a non-negative whole number.
    pub(crate) fn count(&mut self, path: &str, node: &JsonNode) -> Option<u32> {
        let written = match &node.value {
            JsonValue::Number(written) => written,
            JsonValue::Text(text) if text.parse::<u32>().is_ok() => {
                let message = format!("`{path}` must be a whole number, found a string");
                self.error(node.at, &message, Some("write it without quotes".into()));
                return None;
            }
            _ => {
                self.mismatch(path, "a whole number", node);
                return None;
            }
        };
        let message = match written.parse::<u32>() {
            Ok(count) if count <= MOST => return Some(count),
            _ if written.contains(['.', 'e', 'E']) => {
                format!("must be a whole number, found {}", quoted(written))
            }
            _ if written.starts_with('-') => format!("must not be negative, found {}", quoted(written)),
            _ => format!("must be at most {MOST}, found {}", quoted(written)),
        };
        self.error(node.at, &format!("`{path}` {message}"), None);
        None
    }

    /// Returns the meaning of a word from a fixed table.
    pub(crate) fn word<T: Copy + PartialEq>(
        &mut self,
        path: &str,
        node: &JsonNode,
        words: &WordTable<T>,
    ) -> Option<T> {
        let word = self.text(path, node)?;
        let meaning = words.meaning(&word);
        if meaning.is_none() {
            let (message, hint) = words.unknown(&word);
            self.error(node.at, &format!("`{path}` {message}"), hint);
        }
        meaning
    }

    pub(crate) fn list<'n>(&mut self, path: &str, node: &'n JsonNode) -> Option<&'n [JsonNode]> {
        if let JsonValue::List(items) = &node.value {
            return Some(items);
        }
        self.mismatch(path, "a list", node);
        None
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
