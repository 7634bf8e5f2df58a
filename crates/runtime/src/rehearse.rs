//! Rehearses a plan with stubs: starts nothing. Reads the stub results of a file, and writes such a file to
//! fill in.

use std::path::Path;

use serde_json::Value;
use windlass_core::engine;
use windlass_core::engine::rehearsal::{self, Rehearsal, RehearsalOptions, Stubs, check_stubs, stub_targets};
use windlass_core::graph::template::render;
use windlass_core::graph::workflow::{Expression, Node, NodeKind, TaskLoopNode, Template};
use windlass_core::id::RunId;
use windlass_core::spec::Spec;
use windlass_core::tasks::{Attempts, Claim, NextTask, Task, TaskStatus, next, ready, recover};
use windlass_core::time::Moment;

use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::rehearsal::{read_stubs, stub_file_text};
use windlass_peers::files::{FileMode, checkout};

use crate::config::text_of;
use crate::effect::{task_value, tasks_place};
use crate::tasks::load;
use crate::user_error::{UserError, UserErrorKind};

/// Rehearses a run with stubs, using the tasks from its task file.
pub fn rehearse(spec: &Spec, options: &RehearsalOptions) -> Rehearsal {
    let (tasks, left) = tasks_of(spec).unwrap_or((Vec::new(), Claim::AllDone));
    rehearsal::rehearse(spec, &RehearsalOptions { tasks, left, ..options.clone() })
}

/// Reads the stub results of a file, and refuses those that do not fit the workflow.
pub fn stubs_in(spec: &Spec, file: &Path) -> Result<Stubs, UserError> {
    let shown = file.display().to_string();
    let Some(text) = text_of(file)? else {
        return Err(UserError::new(UserErrorKind::Usage, format!("there is no file `{shown}`"))
            .hint(format!("`--stubs-init={shown}` writes one to fill in")));
    };
    let (read, found) = read_stubs(&text, &shown);
    if let Some(problem) = UserError::of(&found) {
        return Err(problem);
    }
    let Some(read) = read else { return Ok(Stubs::new()) };
    let misfits: Vec<Diagnostic> =
        check_stubs(spec, &read.stubs).iter().map(|problem| read.diagnose(problem)).collect();
    UserError::of(&misfits).map_or(Ok(read.stubs), Err)
}

/// Returns a file of stub results to fill in, with one that fits for each node.
pub fn stubs_text(spec: &Spec) -> String {
    stub_file_text(&spec.workflow, &stub_targets(spec))
}

/// Writes a file of stub results to fill in. Never overwrites a file.
pub fn begin_stubs(spec: &Spec, file: &Path) -> Result<(), UserError> {
    let shown = file.display();
    let wrong = |text: String| UserError::new(UserErrorKind::Configuration, text);
    match checkout::create_new(file, stubs_text(spec).as_bytes(), FileMode::Shared) {
        Ok(true) => Ok(()),
        Ok(false) => Err(wrong(format!("{shown} already exists")).hint("edit that file, or move it away")),
        Err(error) => Err(wrong(format!("{shown} cannot be written: {}", error.why()))),
    }
}

/// Returns the tasks that a task loop would find, in order, and the result after the last one. Returns `None`
/// without a task file.
fn tasks_of(spec: &Spec) -> Option<(Vec<Value>, Claim)> {
    let (path, select) = loop_of(&spec.body)?;
    let (state, _) = engine::start(RunId::new("rehearsal"), spec.clone(), Moment(0));
    // A path that depends on the output of a node is not known before the run.
    let path = path.and_then(|path| render(path, &engine::scope(&state)).ok());
    let path = path.filter(|path| !path.trim().is_empty());
    let place = tasks_place(Path::new(&spec.workspace), path.as_deref()).ok()?;
    let loaded = load(&place).ok()?;
    let (found, left) = in_order(loaded.document.tasks().tasks.clone());
    // The condition cannot be evaluated before the run, so a blocked task may be one that the loop ignores.
    let left = if select.is_none() { left } else { Claim::AllDone };
    // An empty list would make the rehearsal invent a task, which is wrong for a file whose tasks are all
    // done.
    Some((if found.is_empty() { vec![Value::Null] } else { found }, left))
}

/// Returns the path and the condition of the first task loop.
fn loop_of(body: &[Node]) -> Option<(Option<&Template>, Option<&Expression>)> {
    body.iter().find_map(|node| match &node.kind {
        NodeKind::TaskLoop(TaskLoopNode { path, select, .. }) => Some((path.as_ref(), select.as_ref())),
        kind => kind.blocks().iter().find_map(|block| loop_of(block.body)),
    })
}

/// Returns the tasks in the order in which they become ready, if all succeed, and the result after them.
fn in_order(mut tasks: Vec<Task>) -> (Vec<Value>, Claim) {
    recover(&mut tasks, |_| false);
    let attempts = Attempts::default();
    let mut found = Vec::new();
    while let Some(first) = ready(&tasks, &attempts).first().map(|task| (*task).clone()) {
        found.push(task_value(&first));
        for task in tasks.iter_mut().filter(|task| task.id == first.id) {
            task.status = TaskStatus::Passing;
        }
    }
    let left = match next(&tasks, &attempts) {
        NextTask::Deadlock(deadlock) => Claim::Deadlock(deadlock),
        NextTask::Task(_) | NextTask::Working | NextTask::AllDone | NextTask::Failed { .. } => Claim::AllDone,
    };
    (found, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_come_as_they_become_ready() {
        let named = |id: &str, waits: &[&str]| Task {
            dependencies: waits.iter().map(|id| id.parse().unwrap()).collect(),
            ..Task::named(id.parse().unwrap(), id)
        };
        let mut done = named("d", &[]);
        done.status = TaskStatus::Passing;
        let mut begun = named("c", &["a"]);
        begun.status = TaskStatus::InProgress;
        let (found, left) = in_order(vec![named("b", &["c"]), begun, named("a", &["d"]), done]);
        assert_eq!(left, Claim::AllDone);
        let ids: Vec<&str> = found.iter().filter_map(|task| task["id"].as_str()).collect();
        assert_eq!(ids, ["a", "c", "b"]);
        assert_eq!(found[0]["description"], "", "every template can name it");
        let (found, left) = in_order(vec![named("a", &[]), named("b", &["c"]), named("c", &["b"])]);
        assert_eq!(found.len(), 1);
        assert!(matches!(left, Claim::Deadlock(_)), "what holds up the rest is found after them: {left:?}");
    }
}
