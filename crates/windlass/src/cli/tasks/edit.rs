//! The `windlass tasks` commands that create or change the file.

use std::path::Path;

use serde_json::json;
use windlass_core::tasks::{Priority, TaskId, TaskStatus, Tasks};
use windlass_runtime::tasks::{
    self, ChangedTasks, NewTask, TaskChange, TaskFilePath, TasksError, change, create, locate, starter,
    take_back, vouch_for,
};

use super::show::object;
use super::{Of, loaded, place, report, tell};
use crate::cli::feed::{envelope, words};
use crate::cli::invocation::{Invocation, print};
use crate::cli::report::{Report, note};
use crate::cli::sanitize::plain_line;
use crate::exit::Exit;

/// Runs `windlass tasks init`.
pub(super) fn init(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let place = place(invocation, of)?;
    begin(&place, &starter(words::now(), "manual"), "--file", of.json)
}

/// Writes a new file. Another one can be chosen with the flag.
fn begin(place: &TaskFilePath, tasks: &Tasks, flag: &str, is_json: bool) -> Result<Exit, Report> {
    create(place, tasks).map_err(|error| match &error {
        TasksError::Exists { .. } => {
            report(error).hint(format!("Windlass left it as it is; choose another with {flag} PATH"))
        }
        _ => report(error),
    })?;
    let count = tasks.tasks.len();
    let line = match is_json {
        true => {
            let data = json!({"file": place.path(), "tasks": count});
            envelope("tasks.created", words::now(), None, data)
        }
        false => format!("{}: {}", plain_line(place.shown()), words::count(count as u64, "task")),
    };
    print(&[line])
}

/// Returns the task to add, or an error if its name is empty.
pub(super) fn new_task(
    name: String,
    description: Option<String>,
    priority: Option<Priority>,
    dependencies: Vec<TaskId>,
) -> Result<NewTask, Report> {
    if name.trim().is_empty() {
        return Err(Report::usage("a task needs a name").hint("say in a few words what to do"));
    }
    Ok(NewTask { name: name.trim().to_owned(), description, priority, dependencies })
}

/// Runs `windlass tasks add`.
pub(super) fn add(invocation: &Invocation, of: &Of, new: NewTask) -> Result<Exit, Report> {
    let loaded = loaded(invocation, of)?;
    let changed = change(&loaded, &TaskChange::Add(new), words::now()).map_err(report)?;
    told(&changed, of, "task.added", |task| format!("{}  {}", task.id, plain_line(&task.name)))
}

/// Runs `windlass tasks set`.
pub(super) fn set(invocation: &Invocation, of: &Of, id: TaskId, to: TaskStatus) -> Result<Exit, Report> {
    let loaded = loaded(invocation, of)?;
    let (state, place) = (&invocation.home.state, &loaded.place);
    // From here on, a run that works on the file trusts this status.
    let known = vouch_for(state, place, &id, to).map_err(report)?;
    let change = change(&loaded, &TaskChange::Status { id: id.clone(), from: None, to }, words::now());
    let changed = change.map_err(|error| {
        take_back(state, place, &id, known);
        report(error)
    })?;
    let before = changed.before.filter(|before| *before != to);
    told(&changed, of, "task.set", |task| match before {
        Some(before) => format!("{}  {} (was {})", plain_line(task.id.as_str()), to.word(), before.word()),
        None => format!("{}  already {}", plain_line(task.id.as_str()), to.word()),
    })
}

fn told(
    changed: &ChangedTasks,
    of: &Of,
    kind: &str,
    line: impl Fn(&windlass_core::tasks::Task) -> String,
) -> Result<Exit, Report> {
    if changed.picked_up {
        note("somebody else changed the file meanwhile; Windlass kept that change");
    }
    let tasks = changed.ids.iter().filter_map(|id| changed.document.tasks().get(id));
    let lines: Vec<String> = match of.json {
        true => tasks
            .map(|task| {
                let data = object(task, changed.before.map(|before| ("before", json!(before))));
                envelope(kind, words::now(), None, data)
            })
            .collect(),
        false => tasks.map(line).collect(),
    };
    print(&lines)
}

/// Runs `windlass tasks migrate`.
pub(super) fn migrate(
    invocation: &Invocation,
    from: &Path,
    out: Option<&Path>,
    is_json: bool,
) -> Result<Exit, Report> {
    let from_place = locate(&invocation.cwd, Some(from)).map_err(report)?;
    if !from_place.path().exists() {
        return Err(Report::new(Exit::Configuration, format!("there is no {}", from.display())));
    }
    let (tasks, problems) = tasks::migrate(&from_place, words::now()).map_err(report)?;
    tell(&problems);
    let beside = from.with_file_name("tasks.json");
    let place = locate(&invocation.cwd, Some(out.unwrap_or(&beside))).map_err(report)?;
    begin(&place, &tasks, "--out", is_json)
}
