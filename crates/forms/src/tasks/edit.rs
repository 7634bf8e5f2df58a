//! A `tasks.json` that can be edited. An edit changes as few bytes as possible, so that unknown
//! fields, their order, comments and layout stay as the author wrote them.

use windlass_core::tasks::{Task, TaskId, TaskStatus, Tasks};
use windlass_core::time::Moment;

use super::print::{stamp, task_text};
use super::read::read;
use super::span;
use crate::json::{self, JsonNode, JsonValue};

/// The text of a task file, with the parsed tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDocument {
    text: String,
    tasks: Tasks,
    is_excerpt: bool,
}

/// The reason that an edit fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("there is no task `{0}`")]
    NoSuchTask(TaskId),
    #[error("task `{0}` already exists")]
    Taken(TaskId),
    /// The edited text would be unreadable. No known text causes this.
    #[error("the text cannot be changed without breaking it")]
    Unreadable,
}

impl TaskDocument {
    pub(super) fn new(text: String, tasks: Tasks) -> TaskDocument {
        TaskDocument { text, tasks, is_excerpt: false }
    }

    /// Marks the document as taken from a larger text.
    pub(super) fn out_of_other_text(self) -> TaskDocument {
        TaskDocument { is_excerpt: true, ..self }
    }

    /// Decides whether the document was read from a larger text, whose other parts are not written
    /// back.
    pub fn is_excerpt(&self) -> bool {
        self.is_excerpt
    }

    /// Returns the text to write to the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the document with a new status for one task.
    pub fn set_status(&self, id: &TaskId, status: TaskStatus) -> Result<TaskDocument, EditError> {
        let task = self.tasks.get(id).ok_or_else(|| EditError::NoSuchTask(id.clone()))?;
        if task.status == status {
            return Ok(self.clone());
        }
        let root = self.root()?;
        let node = task_node(&root, id).ok_or(EditError::Unreadable)?;
        reread(set_member(&self.text, node, "status", &format!("\"{}\"", status.word())))
    }

    /// Returns the document with a task appended.
    pub fn add(&self, task: &Task) -> Result<TaskDocument, EditError> {
        if self.tasks.get(&task.id).is_some() {
            return Err(EditError::Taken(task.id.clone()));
        }
        let root = self.root()?;
        let list = member(&root, "tasks").ok_or(EditError::Unreadable)?;
        reread(append(&self.text, list, &task_text(task)))
    }

    /// Returns the document with the time of its last change set to `at`.
    pub fn touch(&self, at: Moment) -> Result<TaskDocument, EditError> {
        let root = self.root()?;
        let time = format!("\"{}\"", stamp(at));
        let metadata = member(&root, "metadata").filter(|node| matches!(node.value, JsonValue::Object(_)));
        reread(match metadata {
            Some(metadata) => set_member(&self.text, metadata, "updatedAt", &time),
            None => set_member(&self.text, &root, "metadata", &format!("{{ \"updatedAt\": {time} }}")),
        })
    }

    fn root(&self) -> Result<JsonNode, EditError> {
        json::read_commented(&self.text).map_err(|_| EditError::Unreadable)
    }
}

fn reread(text: Option<String>) -> Result<TaskDocument, EditError> {
    text.and_then(|text| read(&text, "").document).ok_or(EditError::Unreadable)
}

fn member<'n>(node: &'n JsonNode, key: &str) -> Option<&'n JsonNode> {
    let JsonValue::Object(members) = &node.value else { return None };
    members.iter().find(|member| member.key == key).map(|member| &member.node)
}

fn task_node<'n>(root: &'n JsonNode, id: &TaskId) -> Option<&'n JsonNode> {
    let JsonValue::List(items) = &member(root, "tasks")?.value else { return None };
    let is_it = |item: &&JsonNode| match member(item, "id").map(|node| &node.value) {
        Some(JsonValue::Text(written) | JsonValue::Number(written)) => {
            written.parse::<TaskId>().as_ref() == Ok(id)
        }
        _ => false,
    };
    items.iter().find(is_it)
}

/// Returns the text with one field of an object set.
fn set_member(text: &str, object: &JsonNode, key: &str, value: &str) -> Option<String> {
    if let Some(old) = member(object, key) {
        return Some(splice(text, old.at, span::end(text, old.at)?, value));
    }
    let JsonValue::Object(members) = &object.value else { return None };
    let last = members.last().map(|member| (member.key_at, member.node.at));
    insert(text, object, last, &format!("\"{key}\": {value}"))
}

/// Returns the text with a value appended to a list.
fn append(text: &str, list: &JsonNode, value: &str) -> Option<String> {
    let JsonValue::List(items) = &list.value else { return None };
    insert(text, list, items.last().map(|item| (item.at, item.at)), value)
}

/// Returns the text with an entry appended to an object or list, in the layout of the last entry.
/// `last` gives the bytes of that entry's start and of its value.
fn insert(text: &str, holder: &JsonNode, last: Option<(usize, usize)>, entry: &str) -> Option<String> {
    let Some((begins, value)) = last else { return insert_first(text, holder, entry) };
    let end = span::end(text, value)?;
    let added = match indent_before(text, begins) {
        Some(indent) => format!(",\n{indent}{}", entry.replace('\n', &format!("\n{indent}"))),
        None => format!(", {}", on_one_line(entry)),
    };
    Some(splice(text, end, end, &ended_as(text, added)))
}

/// Uses the line endings of the text for new lines.
fn ended_as(text: &str, added: String) -> String {
    if text.contains("\r\n") { added.replace('\n', "\r\n") } else { added }
}

fn insert_first(text: &str, holder: &JsonNode, entry: &str) -> Option<String> {
    let (open, end) = (holder.at + 1, span::end(text, holder.at)?);
    let line = text.get(..holder.at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let indent: String = text.get(line..)?.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
    let inner = format!("{indent}  ");
    let entry = format!("\n{inner}{}", entry.replace('\n', &format!("\n{inner}")));
    let close = end.checked_sub(1)?;
    if text.get(open..close)?.trim().is_empty() {
        return Some(splice(text, open, close, &ended_as(text, format!("{entry}\n{indent}"))));
    }
    // The holder contains comments, which stay after the new entry.
    Some(splice(text, open, open, &ended_as(text, format!("{entry}\n{inner}"))))
}

/// Returns the blanks before a value if it is the first on its line.
fn indent_before(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n')? + 1..)?;
    line.bytes().all(|byte| byte == b' ' || byte == b'\t').then_some(line)
}

/// Joins the lines of JSON. Strings never contain a line break, so this does not change them.
fn on_one_line(json: &str) -> String {
    json.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}

fn splice(text: &str, from: usize, to: usize, new: &str) -> String {
    let (before, after) = (text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default());
    format!("{before}{new}{after}")
}
