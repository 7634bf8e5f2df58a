//! Reads typed fields from JSON, reports mistakes and warns about lenient readings.
//!
//! Each kind of lenient reading ("liberty") gives one warning, where it first occurs: a file with a
//! hundred numbers as ids shows one habit of its author and does not deserve a hundred warnings.

use std::collections::BTreeMap;

use serde_json::Map;
use windlass_core::tasks::{Priority, TaskId, TaskStatus};

use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::json::{self, JsonMember, JsonNode, JsonValue};
use crate::words::{did_you_mean, quoted};

/// A reader for the fields of a task file.
pub(super) struct TaskFields<'a> {
    findings: Diagnostics<'a>,
    liberties: BTreeMap<&'static str, Liberty>,
}

struct Liberty {
    at: usize,
    message: String,
    hint: Option<String>,
    more: usize,
}

impl<'a> TaskFields<'a> {
    pub(super) fn of(text: &'a str, file: &'a str) -> TaskFields<'a> {
        TaskFields { findings: Diagnostics::in_text(text, Some(file)), liberties: BTreeMap::new() }
    }

    pub(super) fn error(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.findings.error(at, message, hint);
    }

    pub(super) fn warn(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.findings.warn(at, message, hint);
    }

    pub(super) fn has_errors(&self) -> bool {
        self.findings.has_errors()
    }

    /// Records that a value was accepted although it is not in the expected form.
    pub(super) fn liberty(&mut self, kind: &'static str, at: usize, message: String, hint: Option<&str>) {
        let liberty = Liberty { at, message, hint: hint.map(str::to_owned), more: 0 };
        self.liberties.entry(kind).and_modify(|known| known.more += 1).or_insert(liberty);
    }

    pub(super) fn finish(mut self) -> Vec<Diagnostic> {
        for Liberty { at, mut message, hint, more } in self.liberties.into_values() {
            if more > 0 {
                message.push_str(&format!(" (and {more} more like it)"));
            }
            self.findings.warn(at, &message, hint);
        }
        self.findings.finish()
    }

    pub(super) fn mismatch(&mut self, what: &str, wanted: &str, node: &JsonNode) {
        let message = format!("{what} must be {wanted}, found {}", json::kind(&node.value));
        self.error(node.at, &message, None);
    }

    /// Returns the fields of an object and reports repeated keys.
    pub(super) fn members<'n>(&mut self, what: &str, node: &'n JsonNode) -> Option<Vec<&'n JsonMember>> {
        let JsonValue::Object(members) = &node.value else {
            self.mismatch(what, "an object", node);
            return None;
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut unique = Vec::new();
        for member in members {
            if !seen.insert(member.key.as_str()) {
                let message = format!("{} is given twice", quoted(&member.key));
                self.error(member.key_at, &message, Some("remove one of them".to_owned()));
                continue;
            }
            unique.push(member);
        }
        Some(unique)
    }

    /// Decides whether a known field is null, and records that as a liberty.
    pub(super) fn is_null(&mut self, member: &JsonMember) -> bool {
        let is_null = member.node.value == JsonValue::Null;
        if is_null {
            let message = format!("{} is null, which is read as not given", quoted(&member.key));
            self.liberty("null", member.node.at, message, Some("leave the field out instead"));
        }
        is_null
    }

    /// Warns about an unknown field if it resembles a known one. Unknown fields are kept.
    pub(super) fn unknown(&mut self, member: &JsonMember, known: &[&str]) {
        if let Some(hint) = did_you_mean(&member.key, known.iter().copied()) {
            let message = format!("unknown field {} is kept, but has no effect", quoted(&member.key));
            self.warn(member.key_at, &message, Some(hint));
        }
    }

    pub(super) fn text(&mut self, what: &str, node: &JsonNode) -> Option<String> {
        if let JsonValue::Text(text) = &node.value {
            return Some(text.clone());
        }
        self.mismatch(what, "a string", node);
        None
    }

    pub(super) fn list<'n>(&mut self, what: &str, node: &'n JsonNode) -> Option<&'n [JsonNode]> {
        if let JsonValue::List(items) = &node.value {
            return Some(items);
        }
        self.mismatch(what, "a list", node);
        None
    }

    pub(super) fn map(&mut self, what: &str, node: &JsonNode) -> Option<Map<String, serde_json::Value>> {
        let members = self.members(what, node)?;
        Some(members.into_iter().map(|member| (member.key.clone(), value_of(&member.node))).collect())
    }

    pub(super) fn id(&mut self, what: &str, node: &JsonNode) -> Option<TaskId> {
        let written = match &node.value {
            JsonValue::Text(text) => text,
            JsonValue::Number(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                let message = format!("{what} is the number {number}, which is read as \"{number}\"");
                self.liberty("number", node.at, message, Some("an id is a string"));
                number
            }
            _ => {
                self.mismatch(what, "a string", node);
                return None;
            }
        };
        match written.parse() {
            Ok(id) => Some(id),
            Err(bad) => {
                self.error(node.at, &bad.to_string(), None);
                None
            }
        }
    }

    pub(super) fn status(&mut self, node: &JsonNode) -> Option<TaskStatus> {
        let word = self.text("`status`", node)?;
        let Some(status) = TaskStatus::parse(&word) else {
            let known: Vec<String> =
                TaskStatus::ALL.iter().map(|status| format!("`{}`", status.word())).collect();
            let message = format!("`status` must be one of {}, found {}", known.join(", "), quoted(&word));
            self.error(node.at, &message, did_you_mean(&word, TaskStatus::ALL.map(TaskStatus::word)));
            return None;
        };
        if word != status.word() {
            let message = format!("status {} is read as `{}`", quoted(&word), status.word());
            self.liberty("status", node.at, message, None);
        }
        Some(status)
    }

    pub(super) fn priority(&mut self, node: &JsonNode) -> Option<Priority> {
        let JsonValue::Number(written) = &node.value else {
            self.mismatch("`priority`", "a number", node);
            return None;
        };
        match written.parse() {
            Ok(priority) => Some(priority),
            Err(_) => {
                let message = format!("`priority` is too large a number: {}", quoted(written));
                self.error(node.at, &message, None);
                None
            }
        }
    }
}

/// Converts a value for templates, without positions. A number that does not fit becomes text; the
/// file itself keeps it as written.
pub(super) fn value_of(node: &JsonNode) -> serde_json::Value {
    match &node.value {
        JsonValue::Null => serde_json::Value::Null,
        JsonValue::Boolean(flag) => (*flag).into(),
        JsonValue::Number(written) => {
            serde_json::from_str(written).unwrap_or_else(|_| written.clone().into())
        }
        JsonValue::Text(text) => text.clone().into(),
        JsonValue::List(items) => items.iter().map(value_of).collect(),
        JsonValue::Object(members) => members.iter().map(|m| (m.key.clone(), value_of(&m.node))).collect(),
    }
}
