//! Tests for `tasks.json`: the accepted forms, the message for each mistake, and lossless edits.

mod editing;
mod properties;
mod reading;

use windlass_core::tasks::TaskId;
use windlass_core::time::Moment;

use super::*;
use crate::diagnostic::{Diagnostic, Severity};

const NOON: Moment = Moment(1_770_292_800_123);

const FILE: &str = r##"{
  "version": "1.0",
  "owner": { "zeta": 1.10, "alpha": [1e3, null] },
  "tasks": [
    {
      "id": "1",
      "x-steps": ["a", { "z": 1, "b": 12345678901234567890123 }],
      "name": "Parse",
      "status": "passing",
      "priority": 2
    },
    { "id": "2", "name": "Print", "status": "pending", "dependencies": ["#1"], "metadata": { "b": 1, "a": 2 } }
  ],
  "metadata": { "createdAt": "2026-02-05T00:00:00Z", "updatedAt": "2026-02-05T00:00:00Z", "source": "manual" }
}
"##;

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn line(d: Diagnostic) -> String {
    let place = d.place.map(|place| format!("{}:{} ", place.line, place.column)).unwrap_or_default();
    let hint = d.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    let mark = if d.severity == Severity::Error { "" } else { "warning: " };
    format!("{place}{mark}{}{hint}", d.message)
}

/// The document, and what was said about it.
fn lenient(text: &str) -> (TaskDocument, Vec<String>) {
    let reading = read(text, "tasks.json");
    let said: Vec<String> = reading.problems.into_iter().map(line).collect();
    (reading.document.unwrap_or_else(|| panic!("{text}\n{said:#?}")), said)
}

fn fine(text: &str) -> TaskDocument {
    let (document, said) = lenient(text);
    assert_eq!(said, Vec::<String>::new(), "{text}");
    document
}

/// Returns the problems of a text that Windlass cannot use.
fn complaints(text: &str) -> Vec<String> {
    let reading = read(text, "tasks.json");
    assert_eq!(reading.document, None, "{text}");
    reading.problems.into_iter().map(line).collect()
}

fn flaws_of(text: &str) -> Vec<String> {
    read(text, "tasks.json").diagnostics.into_iter().map(line).collect()
}

fn file(tasks: &str) -> String {
    format!("{{\"version\": \"1.0\", \"tasks\": [\n{tasks}\n]}}")
}
