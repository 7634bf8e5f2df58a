//! Walks a plan with stubs: nothing is started, and nothing is written.

use std::path::Path;

use serde_json::Value;
use windlass_core::engine;
use windlass_core::engine::rehearsal::{self, Rehearsal};
use windlass_core::graph::template::render;
use windlass_core::graph::workflow::{Act, Step, Template};
use windlass_core::id::RunId;
use windlass_core::spec::Spec;
use windlass_core::tasks::{Attempts, Status, Task, ready, recover};
use windlass_core::time::Moment;

use crate::effect::{task_value, tasks_place};
use crate::tasks::load;

/// Walks a run with stubs, on the tasks of the file that it would take them from.
pub fn rehearse(spec: &Spec) -> Rehearsal {
    let tasks = tasks_of(spec).unwrap_or_default();
    rehearsal::rehearse(spec, &tasks)
}

/// What a task loop would find, in the order in which it would; nothing where there is no file.
fn tasks_of(spec: &Spec) -> Option<Vec<Value>> {
    let path = path_of(&spec.body)?;
    let (state, _) = engine::start(RunId::new("rehearsal"), spec.clone(), Moment(0));
    // A path that depends on what a node gives is not known before.
    let path = path.and_then(|path| render(path, &engine::scope(&state)).ok());
    let path = path.filter(|path| !path.trim().is_empty());
    let place = tasks_place(Path::new(&spec.workspace), path.as_deref()).ok()?;
    let loaded = load(&place).ok()?;
    let found = in_order(loaded.document.tasks().tasks.clone());
    // Without any the rehearsal has one of its own, which is wrong for a file that is done.
    Some(if found.is_empty() { vec![Value::Null] } else { found })
}

/// The file of the first task loop; nothing where there is none.
fn path_of(body: &[Step]) -> Option<Option<&Template>> {
    body.iter().find_map(|step| match &step.act {
        Act::TaskLoop { path, .. } => Some(path.as_ref()),
        act => act.blocks().iter().find_map(|block| path_of(block.body)),
    })
}

/// Each as it becomes ready, where all go well.
fn in_order(mut tasks: Vec<Task>) -> Vec<Value> {
    recover(&mut tasks, |_| false);
    let attempts = Attempts::default();
    let mut found = Vec::new();
    while let Some(next) = ready(&tasks, &attempts).first().map(|task| (*task).clone()) {
        found.push(task_value(&next));
        for task in tasks.iter_mut().filter(|task| task.id == next.id) {
            task.status = Status::Passing;
        }
    }
    found
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
        done.status = Status::Passing;
        let mut begun = named("c", &["a"]);
        begun.status = Status::InProgress;
        let found = in_order(vec![named("b", &["c"]), begun, named("a", &["d"]), done]);
        let ids: Vec<&str> = found.iter().filter_map(|task| task["id"].as_str()).collect();
        assert_eq!(ids, ["a", "c", "b"]);
        assert_eq!(found[0]["description"], "", "every template can name it");
    }
}
