//! Makes tasks out of a `feature-list.json`: a list of `{category, description, steps, passes}`.
//!
//! Everything a feature says is kept: what has no place of its own is in the task's metadata.

use serde_json::Map;
use windlass_core::tasks::{Status, Task, TaskId, Tasks};
use windlass_core::time::Moment;

use super::fields::{Fields, value_of};
use super::find::find;
use super::print::origin;
use crate::diagnostic::Diagnostic;
use crate::json::{self, Member, Node, Value};

/// Where a list of features may stand in an object.
const LISTS: [&str; 3] = ["features", "feature_list", "featureList"];

/// Reads the features. There are tasks unless there is an error.
pub fn migrate(text: &str, file: &str, at: Moment) -> (Option<Tasks>, Vec<Diagnostic>) {
    let mut fields = Fields::of(text, file);
    let tasks = match find(text) {
        Ok(found) => features(&mut fields, &found.node),
        Err(broken) => {
            fields.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
            None
        }
    };
    let tasks = tasks.filter(|_| !fields.has_errors());
    let metadata = origin(at, "migrated");
    (tasks.map(|tasks| Tasks { tasks, metadata, ..Tasks::default() }), fields.finish())
}

fn features(fields: &mut Fields<'_>, root: &Node) -> Option<Vec<Task>> {
    let items = list_of(fields, root)?;
    let mut tasks: Vec<Task> = Vec::new();
    for item in items {
        let id = TaskId::following(&tasks);
        // One that is wrong was noted; the others are looked at all the same.
        tasks.extend(feature(fields, item, id));
    }
    Some(tasks)
}

fn list_of<'n>(fields: &mut Fields<'_>, root: &'n Node) -> Option<&'n [Node]> {
    let Value::Object(members) = &root.value else { return fields.list("the file", root) };
    if let Some(member) = members.iter().find(|member| LISTS.contains(&member.key.as_str())) {
        return fields.list(&format!("`{}`", member.key), &member.node);
    }
    if let Some(tasks) = members.iter().find(|member| member.key == "tasks") {
        let hint = Some("`windlass tasks check` says whether it is fine".to_owned());
        fields.error(tasks.key_at, "this is a file of tasks already", hint);
        return None;
    }
    fields.error(root.at, "a list of features is expected, found an object", None);
    None
}

fn feature(fields: &mut Fields<'_>, node: &Node, id: TaskId) -> Option<Task> {
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
        None => Status::Pending,
    };
    let name = description.trim().lines().next().unwrap_or_default().to_owned();
    if name.is_empty() {
        fields.error(node.at, "the `description` of this feature is empty", None);
        return None;
    }
    let description = told(&description, &name, category.as_deref());
    Some(Task { description, status, metadata: kept(&members), ..Task::named(id, name) })
}

fn passes(fields: &mut Fields<'_>, node: &Node) -> Option<Status> {
    match node.value {
        Value::Boolean(true) => Some(Status::Passing),
        Value::Boolean(false) | Value::Null => Some(Status::Pending),
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

/// What the name does not say.
fn told(description: &str, name: &str, category: Option<&str>) -> Option<String> {
    let whole = Some(description.trim()).filter(|text| *text != name).map(str::to_owned);
    let category = category.map(|category| format!("Category: {category}"));
    let parts: Vec<String> = whole.into_iter().chain(category).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn kept(members: &[&Member]) -> Map<String, serde_json::Value> {
    let has_place = |member: &&&Member| ["description", "passes"].contains(&member.key.as_str());
    let kept = members.iter().filter(|member| !has_place(member));
    kept.map(|member| (member.key.clone(), value_of(&member.node))).collect()
}
