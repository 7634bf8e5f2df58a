//! Prints a new `tasks.json`. Existing files are edited, never printed again.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};
use windlass_core::tasks::{Task, Tasks, VERSION};
use windlass_core::time::Moment;

#[derive(Serialize)]
struct File<'a> {
    version: &'static str,
    tasks: &'a [Task],
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
    #[serde(flatten)]
    other: &'a Map<String, Value>,
}

/// Returns the text of a new file.
pub fn print(tasks: &Tasks) -> String {
    let Tasks { tasks, metadata, other } = tasks;
    pretty(&File { version: VERSION, tasks, metadata, other }) + "\n"
}

/// Returns an empty list of tasks, created at `at`.
pub fn starter(at: Moment, source: &str) -> Tasks {
    Tasks { metadata: origin(at, source), ..Tasks::default() }
}

/// Returns metadata with the time of creation and the source.
pub(super) fn origin(at: Moment, source: &str) -> Map<String, Value> {
    let time: Value = stamp(at).into();
    let fields = [("createdAt", time.clone()), ("updatedAt", time), ("source", source.into())];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) fn task_text(task: &Task) -> String {
    pretty(task)
}

/// Formats a moment in UTC, to the second.
pub(super) fn stamp(at: Moment) -> String {
    let seconds = Timestamp::from_second(at.0.div_euclid(1000)).unwrap_or(Timestamp::UNIX_EPOCH);
    seconds.to_string()
}

fn pretty(value: &impl Serialize) -> String {
    // Serializing text, numbers and lists of them cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
