//! Reads a `tasks.json`. Accepts loose notation, but never guesses at meaning.

use windlass_core::tasks::{Task, TaskId, TaskListError, TaskStatus, Tasks, VERSION, list_errors};

use super::edit::TaskDocument;
use super::fields::{TaskFields, value_of};
use super::find::{FoundDocument, find};
use crate::diagnostic::Diagnostic;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::words::{did_you_mean, quoted};

/// The result of reading a task file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedTasks {
    /// The tasks, unless one of the problems is an error.
    pub document: Option<TaskDocument>,
    /// Mistakes in the notation, and warnings about lenient readings.
    pub problems: Vec<Diagnostic>,
    /// Mistakes in the tasks themselves, such as an unknown dependency or a cycle. The tasks can
    /// still be read and shown, and some of them perhaps run.
    pub diagnostics: Vec<Diagnostic>,
}

const FIELDS: &[&str] = &["version", "tasks", "metadata"];
const TASK_FIELDS: &[&str] = &["id", "name", "description", "status", "priority", "dependencies", "metadata"];

/// Hints are computed only for this many; the rest are only counted.
const FLAWS: usize = 60;

/// The positions of the parts of a task.
#[derive(Default)]
struct TaskPositions {
    task: usize,
    id: usize,
    name: usize,
    dependencies: Vec<usize>,
}

#[derive(Default)]
struct TaskListDraft {
    tasks: Tasks,
    positions: Vec<TaskPositions>,
    /// True if the id of some task could not be read.
    is_partial: bool,
}

/// Reads the text of a task file.
pub fn read(text: &str, file: &str) -> ParsedTasks {
    let mut fields = TaskFields::of(text, file);
    let found = match find(text) {
        Ok(found) => found,
        Err(broken) => {
            fields.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
            return ParsedTasks { document: None, problems: fields.finish(), diagnostics: Vec::new() };
        }
    };
    note_form(&mut fields, &found);
    let mut draft = TaskListDraft::default();
    draft.file(&mut fields, &found.node);
    let flaws = note_flaws(&mut fields, &draft, text, file);
    let is_usable = !fields.has_errors();
    let document = is_usable.then(|| TaskDocument::new(tidied(text, &found), draft.tasks));
    let document = match found.is_wrapped {
        true => document.map(TaskDocument::out_of_other_text),
        false => document,
    };
    ParsedTasks { document, problems: fields.finish(), diagnostics: flaws }
}

/// Records the form in which the document was found.
fn note_form(fields: &mut TaskFields<'_>, found: &FoundDocument) {
    if found.is_wrapped {
        let message = "there is other text around the tasks, which Windlass drops when it writes the file";
        fields.liberty("wrapped", found.node.at, message.to_owned(), Some("leave only the JSON in the file"));
    }
    if let Some(at) = found.lax_at {
        let message = "comments and trailing commas are not JSON: other programs may refuse them";
        fields.liberty("lax", at, message.to_owned(), None);
    }
}

/// Returns the text to write back: unchanged, or only the document in the form of version 1.0.
fn tidied(text: &str, found: &FoundDocument) -> String {
    let document = text.get(found.node.at..found.end).unwrap_or_default();
    if matches!(found.node.value, JsonValue::List(_)) {
        let indented = document.replace('\n', "\n  ");
        return format!("{{\n  \"version\": \"{VERSION}\",\n  \"tasks\": {indented}\n}}\n");
    }
    if found.is_wrapped {
        return format!("{document}\n");
    }
    text.to_owned()
}

impl TaskListDraft {
    fn file(&mut self, fields: &mut TaskFields<'_>, root: &JsonNode) {
        if let JsonValue::List(items) = &root.value {
            let message = "expected `{\"version\": \"1.0\", \"tasks\": […]}`, found a list".to_owned();
            fields.liberty("list", root.at, message, Some("Windlass converts it when it writes the file"));
            return self.list(fields, items);
        }
        let Some(members) = fields.members("the file", root) else { return };
        for member in &members {
            self.field(fields, member);
        }
        let has = |key: &str| members.iter().any(|member| member.key == key);
        if !has("tasks") {
            fields.error(root.at, "`tasks` is missing", Some("add `\"tasks\": []`".to_owned()));
        }
        if !has("version") {
            let message = format!("`version` is missing, which is read as \"{VERSION}\"");
            fields.liberty("version", root.at, message, Some("add `\"version\": \"1.0\"`"));
        }
    }

    fn field(&mut self, fields: &mut TaskFields<'_>, member: &JsonMember) {
        match member.key.as_str() {
            "version" => version(fields, &member.node),
            "tasks" => {
                if let Some(items) = fields.list("`tasks`", &member.node) {
                    self.list(fields, items);
                }
            }
            "metadata" if fields.is_null(member) => {}
            "metadata" => self.tasks.metadata = fields.map("`metadata`", &member.node).unwrap_or_default(),
            _ => {
                fields.unknown(member, FIELDS);
                self.tasks.other.insert(member.key.clone(), value_of(&member.node));
            }
        }
    }

    fn list(&mut self, fields: &mut TaskFields<'_>, items: &[JsonNode]) {
        for item in items {
            let Some((task, places)) = task(fields, item) else {
                self.is_partial = true;
                continue;
            };
            self.tasks.tasks.push(task);
            self.positions.push(places);
        }
    }
}

fn version(fields: &mut TaskFields<'_>, node: &JsonNode) {
    match &node.value {
        JsonValue::Text(version) if version == VERSION => {}
        JsonValue::Text(version) | JsonValue::Number(version) if ["1", "1.0"].contains(&version.as_str()) => {
            let message = format!("version {version} is read as \"{VERSION}\"");
            fields.liberty("version", node.at, message, None);
        }
        JsonValue::Text(version) | JsonValue::Number(version) => {
            let message = format!("version {} of `tasks.json` is not known", quoted(version));
            fields.error(node.at, &message, Some(format!("this windlass reads version {VERSION}")));
        }
        _ => fields.mismatch("`version`", "a string", node),
    }
}

/// The fields of a task read so far.
#[derive(Default)]
struct TaskDraft {
    positions: TaskPositions,
    id: Option<TaskId>,
    name: Option<String>,
    status: Option<TaskStatus>,
}

fn task(fields: &mut TaskFields<'_>, node: &JsonNode) -> Option<(Task, TaskPositions)> {
    let members = fields.members("a task", node)?;
    let places = TaskPositions { task: node.at, name: node.at, ..TaskPositions::default() };
    let mut draft = TaskDraft { positions: places, ..TaskDraft::default() };
    // Collects the optional fields. [`TaskDraft::settle`] sets the id and name.
    let mut rest = Task::named(TaskId::following(&[]), "");
    for member in members {
        // A wrong field has been reported; the others may have mistakes of their own.
        let _ = draft.field(fields, member, &mut rest);
    }
    draft.settle(fields, rest)
}

impl TaskDraft {
    /// Reads one field. Returns `None` after reporting a mistake.
    fn field(&mut self, fields: &mut TaskFields<'_>, member: &JsonMember, rest: &mut Task) -> Option<()> {
        let node = &member.node;
        let key = known_as(fields, member);
        if TASK_FIELDS.contains(&key) && key != "id" && fields.is_null(member) {
            return Some(());
        }
        match key {
            "id" => {
                self.positions.id = node.at;
                self.id = Some(fields.id("an id", node)?);
            }
            "name" => {
                self.positions.name = node.at;
                self.name = Some(fields.text("`name`", node)?);
            }
            "description" => rest.description = Some(fields.text("`description`", node)?),
            "status" => {
                // An unreadable status is not a missing one.
                self.status = Some(TaskStatus::default());
                self.status = Some(fields.status(node)?);
            }
            "priority" => rest.priority = Some(fields.priority(node)?),
            "dependencies" => {
                let (ids, places) = dependencies(fields, node)?;
                rest.dependencies.extend(ids);
                self.positions.dependencies.extend(places);
            }
            "metadata" => rest.metadata = fields.map("`metadata`", node)?,
            _ => {
                fields.unknown(member, TASK_FIELDS);
                rest.other.insert(member.key.clone(), value_of(node));
            }
        }
        Some(())
    }

    /// Fills in or reports missing fields. Returns `None` for a task without an id.
    fn settle(self, fields: &mut TaskFields<'_>, rest: Task) -> Option<(Task, TaskPositions)> {
        let TaskDraft { positions: places, id, mut name, status } = self;
        let Some(id) = id else {
            let hint = "give it an id of its own: `\"id\": \"1\"`".to_owned();
            if places.id == 0 {
                fields.error(places.task, "this task has no `id`", Some(hint));
            }
            return None;
        };
        if name.is_none() && places.name != places.task {
            // The name is there but wrong, and has been reported.
            name = Some(id.to_string());
        }
        let told = rest.description.as_deref().and_then(|text| text.trim().lines().next());
        if let (None, Some(told)) = (&name, told) {
            let message =
                format!("task {} has no `name`: Windlass uses its description", quoted(id.as_str()));
            fields.liberty("nameless", places.task, message, None);
            name = Some(told.to_owned());
        }
        let Some(name) = name else {
            let message = format!("task {} has no `name`", quoted(id.as_str()));
            fields.error(places.task, &message, Some("describe the task in a few words".to_owned()));
            let named = Task { name: id.to_string(), id, ..rest };
            return Some((named, places));
        };
        if status.is_none() {
            let message = format!("task {} has no `status`, which is read as `pending`", quoted(id.as_str()));
            fields.liberty("statusless", places.task, message, None);
        }
        Some((Task { id, name, status: status.unwrap_or_default(), ..rest }, places))
    }
}

/// Returns the intended field for a known alias. An alias of `dependencies` must be read as such,
/// or the order of the tasks would be lost.
fn known_as<'m>(fields: &mut TaskFields<'_>, member: &'m JsonMember) -> &'m str {
    let meant = match member.key.as_str() {
        "title" => "name",
        "depends_on" | "dependsOn" | "depends" | "deps" | "blocked_by" | "blockedBy" => "dependencies",
        key => return key,
    };
    let message = format!("`{}` is read as `{meant}`", member.key);
    fields.liberty(meant, member.key_at, message, None);
    meant
}

fn dependencies(fields: &mut TaskFields<'_>, node: &JsonNode) -> Option<(Vec<TaskId>, Vec<usize>)> {
    let items = match &node.value {
        JsonValue::Text(_) | JsonValue::Number(_) => {
            let message = "expected a list of ids, found one id".to_owned();
            fields.liberty("single", node.at, message, Some("put it in brackets"));
            std::slice::from_ref(node)
        }
        _ => fields.list("`dependencies`", node)?,
    };
    let ids: Option<Vec<TaskId>> = items.iter().map(|item| fields.id("a dependency", item)).collect();
    Some((ids?, items.iter().map(|item| item.at).collect()))
}

/// Reports mistakes in the tasks. A repeated id is an error of the file, because the two tasks
/// cannot be distinguished.
fn note_flaws(fields: &mut TaskFields<'_>, draft: &TaskListDraft, text: &str, file: &str) -> Vec<Diagnostic> {
    let tasks = &draft.tasks.tasks;
    let place = |task: &usize| draft.positions.get(*task);
    let mut apart = TaskFields::of(text, file);
    for (count, flaw) in list_errors(tasks).iter().enumerate() {
        let message = flaw.describe(tasks);
        let dependency_at =
            |task, dependency: &usize| place(task).and_then(|p| p.dependencies.get(*dependency)).copied();
        match flaw {
            TaskListError::DuplicateId { task, first } => {
                let at = |task| place(task).map(|place| place.id).unwrap_or_default();
                let line = text.get(..at(first)).unwrap_or_default().matches('\n').count() + 1;
                fields.error(at(task), &message, Some(format!("the other is in line {line}")));
            }
            TaskListError::EmptyName { task } => {
                apart.error(place(task).map(|place| place.name).unwrap_or_default(), &message, None);
            }
            // A missing task may be one that could not be read.
            TaskListError::UnknownDependency { .. } if draft.is_partial => {}
            TaskListError::UnknownDependency { task, dependency } => {
                let wanted = tasks.get(*task).and_then(|task| task.dependencies.get(*dependency));
                // A task is no suggestion for its own dependency.
                let others = tasks.iter().enumerate().filter(|(place, _)| place != task);
                let known = others.map(|(_, task)| task.id.as_str());
                let hint =
                    wanted.filter(|_| count < FLAWS).and_then(|wanted| did_you_mean(wanted.as_str(), known));
                apart.error(dependency_at(task, dependency).unwrap_or_default(), &message, hint);
            }
            TaskListError::SelfDependency { task, dependency } => {
                apart.error(dependency_at(task, dependency).unwrap_or_default(), &message, None);
            }
            TaskListError::Cycle { task, .. } => {
                let hint = Some("remove one of these dependencies".to_owned());
                apart.error(place(task).map(|place| place.id).unwrap_or_default(), &message, hint);
            }
        }
    }
    apart.finish()
}
