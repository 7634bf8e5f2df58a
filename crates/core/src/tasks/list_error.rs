//! Finds the errors in a list of tasks before any task runs.
//!
//! Reports all errors at once. `forms` adds their positions in the file and suggests ids.

use super::cycles::cycles;
use super::deadlock::describe_ring;
use super::select::Index;
use super::task::{Task, TaskId};

/// An error in a task list. Tasks and dependencies are given by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskListError {
    /// A task has the id of an earlier one.
    DuplicateId {
        /// The later task.
        task: usize,
        /// The earlier task.
        first: usize,
    },
    /// A task has no name.
    EmptyName { task: usize },
    /// A task depends on an unknown id.
    UnknownDependency {
        task: usize,
        /// The index in the task's dependencies.
        dependency: usize,
    },
    /// A task depends on itself.
    SelfDependency {
        task: usize,
        /// The index in the task's dependencies.
        dependency: usize,
    },
    /// Several tasks wait for each other, each for the next.
    Cycle {
        /// The first task of the cycle.
        task: usize,
        /// The ids of all tasks of the cycle.
        ids: Vec<TaskId>,
    },
}

impl TaskListError {
    /// Describes the error for a person.
    pub fn describe(&self, tasks: &[Task]) -> String {
        let id = |place: &usize| tasks.get(*place).map(|task| task.id.as_str()).unwrap_or_default();
        match self {
            TaskListError::DuplicateId { task, .. } => format!("two tasks have the id `{}`", id(task)),
            TaskListError::EmptyName { task } => format!("task `{}` has no name", id(task)),
            TaskListError::UnknownDependency { task, dependency } => {
                let waits = tasks.get(*task).and_then(|task| task.dependencies.get(*dependency));
                let waits = waits.map(TaskId::as_str).unwrap_or_default();
                format!("task `{}` waits for `{waits}`, which is not in the file", id(task))
            }
            TaskListError::SelfDependency { task, .. } => format!("task `{}` waits for itself", id(task)),
            TaskListError::Cycle { ids, .. } => describe_ring(ids),
        }
    }
}

/// Returns all errors in a list of tasks.
pub fn list_errors(tasks: &[Task]) -> Vec<TaskListError> {
    let index = Index::of(tasks);
    let mut found = Vec::new();
    for (place, task) in tasks.iter().enumerate() {
        if let Some(first) = index.places(&task.id).first().copied().filter(|first| *first < place) {
            found.push(TaskListError::DuplicateId { task: place, first });
        }
        if task.name.trim().is_empty() {
            found.push(TaskListError::EmptyName { task: place });
        }
        found.extend(dependency_errors(&index, place, task));
    }
    found.extend(rings(&index));
    found
}

fn dependency_errors(index: &Index<'_>, place: usize, task: &Task) -> Vec<TaskListError> {
    let flaw = |(dependency, id): (usize, &TaskId)| {
        if *id == task.id {
            return Some(TaskListError::SelfDependency { task: place, dependency });
        }
        index.places(id).is_empty().then_some(TaskListError::UnknownDependency { task: place, dependency })
    };
    task.dependencies.iter().enumerate().filter_map(flaw).collect()
}

/// Finds cycles, whatever the status of their tasks: a finished cycle becomes a deadlock once a task is
/// reopened.
fn rings(index: &Index<'_>) -> Vec<TaskListError> {
    let waits = |task: &Task| -> Vec<usize> {
        task.dependencies.iter().flat_map(|id| index.places(id).first().copied()).collect()
    };
    let waits_for: Vec<Vec<usize>> = index.tasks.iter().map(waits).collect();
    let ring = |ring: Vec<usize>| {
        let ids =
            ring.iter().filter_map(|place| index.tasks.get(*place)).map(|task| task.id.clone()).collect();
        Some(TaskListError::Cycle { task: ring.first().copied()?, ids })
    };
    // A cycle of one task is reported as a self dependency.
    cycles(&waits_for).into_iter().filter(|ring| ring.len() > 1).filter_map(ring).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        text.parse().unwrap()
    }

    fn task(name: &str, dependencies: &[&str]) -> Task {
        Task {
            dependencies: dependencies.iter().map(|text| id(text)).collect(),
            ..Task::named(id(name), name)
        }
    }

    #[test]
    fn a_list_without_flaws_has_none() {
        assert_eq!(list_errors(&[task("1", &[]), task("2", &["#1"])]), []);
        assert_eq!(list_errors(&[]), []);
    }

    #[test]
    fn everything_is_found_at_once() {
        let nameless = Task { name: " ".to_owned(), ..task("5", &[]) };
        let tasks = [task("1", &["2"]), task("2", &["1", "9"]), task("3", &["3"]), task("#1", &[]), nameless];
        let found = list_errors(&tasks);
        let expected = [
            TaskListError::UnknownDependency { task: 1, dependency: 1 },
            TaskListError::SelfDependency { task: 2, dependency: 0 },
            TaskListError::DuplicateId { task: 3, first: 0 },
            TaskListError::EmptyName { task: 4 },
            TaskListError::Cycle { task: 0, ids: vec![id("1"), id("2")] },
        ];
        assert_eq!(found, expected);
        let told: Vec<String> = found.iter().map(|flaw| flaw.describe(&tasks)).collect();
        assert_eq!(
            told,
            [
                "task `2` waits for `9`, which is not in the file",
                "task `3` waits for itself",
                "two tasks have the id `1`",
                "task `5` has no name",
                "tasks wait for each other: 1 -> 2 -> 1",
            ]
        );
    }

    #[test]
    fn every_ring_is_named() {
        let tasks =
            [task("a", &["b"]), task("b", &["a"]), task("c", &["d"]), task("d", &["e"]), task("e", &["c"])];
        let rings: Vec<usize> = list_errors(&tasks)
            .into_iter()
            .filter_map(
                |flaw| if let TaskListError::Cycle { ids, .. } = flaw { Some(ids.len()) } else { None },
            )
            .collect();
        assert_eq!(rings, [2, 3]);
    }
}
