//! Converts a `feature-list.json`, a list of `{category, description, steps, passes}`, to tasks, or a
//! `prd.json`, an object with `userStories`.
//!
//! Keeps every field; those that a task does not have go into its metadata.

use serde_json::Map;
use windlass_core::tasks::{Task, TaskId, TaskStatus, Tasks};
use windlass_core::time::Moment;

use super::fields::{TaskFields, value_of};
use super::find::find;
use super::print::origin;
use super::stories;
use crate::diagnostic::Diagnostic;
use crate::json::{self, JsonMember, JsonNode, JsonValue};

/// The keys of an object that may contain the list of features.
const LISTS: [&str; 3] = ["features", "feature_list", "featureList"];
/// The key of a `prd.json` that contains the list of stories.
const STORIES: &str = "userStories";

/// Reads the features. Returns tasks unless there is an error.
pub fn migrate(text: &str, file: &str, at: Moment) -> (Option<Tasks>, Vec<Diagnostic>) {
    let mut fields = TaskFields::of(text, file);
    let mut metadata = origin(at, "migrated");
    let tasks = match find(text) {
        Ok(found) => match stories_of(&found.node) {
            Some((stories, others)) => {
                // What Windlass writes about the file itself counts.
                for (key, value) in others {
                    metadata.entry(key).or_insert(value);
                }
                stories::read(&mut fields, stories)
            }
            None => features(&mut fields, &found.node),
        },
        Err(broken) => {
            fields.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
            None
        }
    };
    let tasks = tasks.filter(|_| !fields.has_errors());
    (tasks.map(|tasks| Tasks { tasks, metadata, ..Tasks::default() }), fields.finish())
}

/// Returns the list of stories of a `prd.json`, and the other fields of the file.
fn stories_of(root: &JsonNode) -> Option<(&JsonNode, Map<String, serde_json::Value>)> {
    let JsonValue::Object(members) = &root.value else { return None };
    let stories = members.iter().find(|member| member.key == STORIES)?;
    let others = members.iter().filter(|member| member.key != STORIES);
    Some((&stories.node, others.map(|member| (member.key.clone(), value_of(&member.node))).collect()))
}

fn features(fields: &mut TaskFields<'_>, root: &JsonNode) -> Option<Vec<Task>> {
    let items = list_of(fields, root)?;
    let mut tasks: Vec<Task> = Vec::new();
    for item in items {
        let id = TaskId::following(&tasks);
        // A wrong feature has been reported; the others are still checked.
        tasks.extend(feature(fields, item, id));
    }
    Some(tasks)
}

fn list_of<'n>(fields: &mut TaskFields<'_>, root: &'n JsonNode) -> Option<&'n [JsonNode]> {
    let JsonValue::Object(members) = &root.value else { return fields.list("the file", root) };
    if let Some(member) = members.iter().find(|member| LISTS.contains(&member.key.as_str())) {
        return fields.list(&format!("`{}`", member.key), &member.node);
    }
    if let Some(tasks) = members.iter().find(|member| member.key == "tasks") {
        let hint = Some("`windlass tasks check` finds mistakes in it".to_owned());
        fields.error(tasks.key_at, "this is already a task file", hint);
        return None;
    }
    if ["description", "passes"].iter().all(|key| members.iter().any(|member| member.key == *key)) {
        return Some(std::slice::from_ref(root));
    }
    let hint = Some(format!("the list may be the file itself, or below `features` or `{STORIES}`"));
    fields.error(root.at, "expected a list of features, found an object", hint);
    None
}

fn feature(fields: &mut TaskFields<'_>, node: &JsonNode, id: TaskId) -> Option<Task> {
    let members = fields.members("a feature", node)?;
    let get = |key: &str| members.iter().find(|member| member.key == key).map(|member| &member.node);
    let Some(description) = get("description") else {
        fields.error(node.at, "this feature has no `description`", None);
        return None;
    };
    let description = fields.text("`description`", description)?;
    let category = match get("category") {
        Some(node) => Some(fields.text("`category`", node)?),
        None => None,
    };
    let status = match get("passes") {
        Some(node) => passes(fields, node)?,
        None => TaskStatus::Pending,
    };
    let name = description.trim().lines().next().unwrap_or_default().to_owned();
    if name.is_empty() {
        fields.error(node.at, "the `description` of this feature is empty", None);
        return None;
    }
    let description = join_description(&description, &name, category.as_deref());
    Some(Task { description, status, metadata: kept(&members), ..Task::named(id, name) })
}

pub(super) fn passes(fields: &mut TaskFields<'_>, node: &JsonNode) -> Option<TaskStatus> {
    match node.value {
        JsonValue::Boolean(true) => Some(TaskStatus::Passing),
        JsonValue::Boolean(false) | JsonValue::Null => Some(TaskStatus::Pending),
        _ => {
            fields.error(
                node.at,
                &format!("`passes` must be true or false, found {}", json::kind(&node.value)),
                None,
            );
            None
        }
    }
}

/// Returns the parts of the description that the name does not include.
fn join_description(description: &str, name: &str, category: Option<&str>) -> Option<String> {
    let whole = Some(description.trim()).filter(|text| *text != name).map(str::to_owned);
    let category = category.map(|category| format!("Category: {category}"));
    let parts: Vec<String> = whole.into_iter().chain(category).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn kept(members: &[&JsonMember]) -> Map<String, serde_json::Value> {
    let has_place = |member: &&&JsonMember| ["description", "passes"].contains(&member.key.as_str());
    let kept = members.iter().filter(|member| !has_place(member));
    kept.map(|member| (member.key.clone(), value_of(&member.node))).collect()
}
