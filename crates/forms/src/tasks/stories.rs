//! Converts the `userStories` of a `prd.json`, `{id, title, description, acceptanceCriteria, priority, passes}`, to
//! tasks.

use windlass_core::tasks::{Task, TaskStatus};

use super::fields::{TaskFields, value_of};
use super::migrate::passes;
use crate::json::{JsonMember, JsonNode};

/// The fields of a story that a task has too.
const PLACED: [&str; 5] = ["id", "title", "description", "priority", "passes"];

/// Reads the stories. Returns tasks unless there is no list.
pub(super) fn read(fields: &mut TaskFields<'_>, node: &JsonNode) -> Option<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    for item in fields.list("`userStories`", node)? {
        // A wrong story has been reported; the others are still checked.
        let Some(task) = story(fields, item) else { continue };
        if tasks.iter().any(|other| other.id == task.id) {
            let hint = Some("give each story an id of its own".to_owned());
            fields.error(item.at, &format!("another story has the id `{}` too", task.id), hint);
        }
        tasks.push(task);
    }
    Some(tasks)
}

fn story(fields: &mut TaskFields<'_>, node: &JsonNode) -> Option<Task> {
    let members = fields.members("a story", node)?;
    let get = |key: &str| members.iter().find(|member| member.key == key).map(|member| &member.node);
    let (Some(id), Some(title)) = (get("id"), get("title")) else {
        let hint = Some("a story needs both".to_owned());
        fields.error(node.at, "this story has no `id` or no `title`", hint);
        return None;
    };
    let id = fields.id("`id`", id)?;
    let title = fields.text("`title`", title)?;
    let title = title.trim().lines().next().unwrap_or_default();
    if title.is_empty() {
        fields.error(node.at, "the `title` of this story is empty", None);
        return None;
    }
    let description = match get("description") {
        Some(node) => Some(fields.text("`description`", node)?).filter(|text| !text.trim().is_empty()),
        None => None,
    };
    let priority = match get("priority") {
        Some(node) => Some(fields.priority(node)?),
        None => None,
    };
    let status = match get("passes") {
        Some(node) => passes(fields, node)?,
        None => TaskStatus::Pending,
    };
    let others = members.iter().filter(|member| !PLACED.contains(&member.key.as_str()));
    let metadata = others.map(|member: &&JsonMember| (member.key.clone(), value_of(&member.node))).collect();
    Some(Task { description, priority, status, metadata, ..Task::named(id, title) })
}
