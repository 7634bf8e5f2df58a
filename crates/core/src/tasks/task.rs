//! A task, and a file of tasks, as values.
//!
//! Different spellings of an id or a status are equal: `#3` is `3`, `done` is `passing`.

use std::fmt;
use std::str::FromStr;

use crate::words;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the schema.
pub const VERSION: &str = "1.0";

/// Longer ids do not fit in a table or a branch name.
const LONGEST_ID: usize = 60;

/// The id of a task in its file: one line, never empty, without surrounding blanks or a leading `#`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId(String);

/// The reason why a text is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    #[error("an id must not be empty")]
    Empty,
    #[error("an id must not contain control characters")]
    Control,
    #[error("an id must have at most {LONGEST_ID} characters")]
    Long,
}

impl TaskId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the next number after all numeric ids of these tasks.
    pub fn following(tasks: &[Task]) -> TaskId {
        let numbers = tasks.iter().filter_map(|task| task.id.0.parse::<u64>().ok());
        TaskId(numbers.max().unwrap_or(0).saturating_add(1).to_string())
    }
}

impl FromStr for TaskId {
    type Err = BadId;

    fn from_str(written: &str) -> Result<TaskId, BadId> {
        let id = written.trim().trim_start_matches('#').trim();
        if id.is_empty() {
            return Err(BadId::Empty);
        }
        if id.contains(char::is_control) {
            return Err(BadId::Control);
        }
        if id.chars().nth(LONGEST_ID).is_some() {
            return Err(BadId::Long);
        }
        Ok(TaskId(id.to_owned()))
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadId;

    fn try_from(written: String) -> Result<TaskId, BadId> {
        written.parse()
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> String {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

words! {
    /// The status of a task.
    #[derive(PartialOrd, Ord, Hash, Default)]
    pub enum TaskStatus {
        /// Not started.
        #[default]
        Pending = "pending",
        /// Someone works on it.
        InProgress = "in_progress",
        /// Proven done.
        Passing = "passing",
        /// Tried, but not done.
        Failing = "failing",
        /// Not to be done. Tasks that depend on it need not wait.
        Skipped = "skipped",
    }
}

/// Other words that people and agents write.
const ALIASES: &[(TaskStatus, &[&str])] = &[
    (TaskStatus::Pending, &["todo", "to_do", "open", "not_started", "notstarted"]),
    (TaskStatus::InProgress, &["inprogress", "doing", "wip", "started"]),
    (TaskStatus::Passing, &["done", "complete", "completed", "passed", "pass", "ok"]),
    (TaskStatus::Failing, &["fail", "failed", "broken"]),
    (TaskStatus::Skipped, &["skip", "wontfix", "wont_fix", "won't_fix", "cancelled", "canceled"]),
];

impl TaskStatus {
    /// Reads a status word or an alias.
    pub fn parse(written: &str) -> Option<TaskStatus> {
        let word = written.trim().to_lowercase().replace(['-', ' '], "_");
        let means = |status: &TaskStatus| {
            status.word() == word
                || ALIASES.iter().any(|(known, words)| known == status && words.contains(&word.as_str()))
        };
        TaskStatus::ALL.into_iter().find(means)
    }

    /// Returns true if tasks that depend on this one need not wait.
    pub fn is_met(self) -> bool {
        match self {
            TaskStatus::Passing | TaskStatus::Skipped => true,
            TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Failing => false,
        }
    }
}

/// The priority of a task: lower comes first. Fractions are allowed, so that a task fits between two others.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "Value")]
pub struct Priority(f64);

/// The error for a number that is not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a priority must be a finite number")]
pub struct BadPriority;

impl Priority {
    pub fn number(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Priority {
    type Error = BadPriority;

    fn try_from(number: f64) -> Result<Priority, BadPriority> {
        // Adding zero turns negative zero into zero.
        if number.is_finite() { Ok(Priority(number + 0.0)) } else { Err(BadPriority) }
    }
}

impl FromStr for Priority {
    type Err = BadPriority;

    fn from_str(written: &str) -> Result<Priority, BadPriority> {
        written.trim().parse::<f64>().map_err(|_| BadPriority)?.try_into()
    }
}

impl From<Priority> for Value {
    /// Writes a whole number without a fraction.
    fn from(priority: Priority) -> Value {
        match priority.to_string().parse::<i64>() {
            Ok(whole) => whole.into(),
            Err(_) => priority.0.into(),
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Ord for Priority {
    fn cmp(&self, other: &Priority) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Priority) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Priority {
    fn eq(&self, other: &Priority) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Priority {}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    /// A description on one line.
    pub name: String,
    /// A longer description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default)]
    pub status: TaskStatus,
    /// The priority. Tasks without one come last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskId>,
    /// Anything that the author wants to keep.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Unknown fields, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Task {
    /// Creates a pending task with only an id and a name.
    pub fn named(id: TaskId, name: impl Into<String>) -> Task {
        Task {
            id,
            name: name.into(),
            description: None,
            status: TaskStatus::Pending,
            priority: None,
            dependencies: Vec::new(),
            metadata: Map::new(),
            other: Map::new(),
        }
    }
}

/// A file of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tasks {
    pub tasks: Vec<Task>,
    /// The times of creation and change, and the origin.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Unknown fields, which are kept.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Tasks {
    /// Returns the task with this id.
    pub fn get(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(written: &str) -> TaskId {
        written.parse().unwrap()
    }

    #[test]
    fn an_id_is_one_thing_however_it_is_written() {
        for written in ["3", "#3", " 3 ", "# 3", " #3\n"] {
            assert_eq!(id(written).as_str(), "3", "{written:?}");
        }
        assert_ne!(id("3"), id("03"));
        assert_eq!(id("setup db").as_str(), "setup db");
    }

    #[test]
    fn what_cannot_be_an_id_says_why() {
        assert_eq!("".parse::<TaskId>(), Err(BadId::Empty));
        assert_eq!(" # ".parse::<TaskId>(), Err(BadId::Empty));
        assert_eq!("a\nb".parse::<TaskId>(), Err(BadId::Control));
        assert_eq!("x".repeat(61).parse::<TaskId>(), Err(BadId::Long));
        assert!("x".repeat(60).parse::<TaskId>().is_ok());
        assert!(serde_json::from_str::<TaskId>("\"#\"").is_err());
    }

    #[test]
    fn a_status_is_one_thing_however_it_is_written() {
        let cases = [
            (TaskStatus::Pending, "pending Pending todo TODO to-do open not_started not-started"),
            (TaskStatus::InProgress, "in_progress in-progress inProgress doing WIP started"),
            (TaskStatus::Passing, "passing done Done complete completed passed pass OK"),
            (TaskStatus::Failing, "failing fail failed FAILED broken"),
            (TaskStatus::Skipped, "skipped skip wontfix won't-fix cancelled canceled"),
        ];
        for (status, words) in cases {
            for word in words.split(' ') {
                assert_eq!(TaskStatus::parse(word), Some(status), "{word}");
            }
        }
        assert_eq!(TaskStatus::parse(" In Progress "), Some(TaskStatus::InProgress));
        assert_eq!(["", "maybe", "1", "not done"].map(TaskStatus::parse), [None; 4]);
    }

    #[test]
    fn only_passing_and_skipped_are_met() {
        assert_eq!(TaskStatus::ALL.map(TaskStatus::is_met), [false, false, true, false, true]);
    }

    #[test]
    fn priorities_are_ordered_as_numbers_and_written_as_they_were_meant() {
        let priority = |text: &str| text.parse::<Priority>().unwrap();
        assert!(priority("2") < priority("10") && priority("-1") < priority("0"));
        assert!(priority("1") < priority("1.5") && priority("1.5") < priority("2"));
        assert_eq!(priority("-0"), priority("0"));
        let written = |text: &str| serde_json::to_string(&priority(text)).unwrap();
        assert_eq!([written("2"), written("2.0"), written("1.5"), written("-3")], ["2", "2", "1.5", "-3"]);
        for text in ["", "high", "inf", "NaN", "1e999"] {
            assert!(text.parse::<Priority>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_new_id_follows_the_numbers_there_are() {
        let tasks = ["7", "setup", "#12", "3"].map(|text| Task::named(id(text), "x"));
        assert_eq!(TaskId::following(&tasks), id("13"));
        assert_eq!(TaskId::following(&[]), id("1"));
    }

    #[test]
    fn a_task_keeps_the_fields_it_does_not_know() {
        let text = r##"{"id":"#1","name":"x","status":"failing","priority":2,"owner":"me","steps":[1]}"##;
        let task: Task = serde_json::from_str(text).unwrap();
        assert_eq!((task.id.as_str(), task.other.len()), ("1", 2));
        let again: Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        assert_eq!(again, task);
    }
}
