//! Explains why no task can start although some are left.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cycles::cycles;
use super::select::{Attempts, Index};
use super::task::{TaskId, TaskStatus};

/// The obstacle for the remaining tasks. A cycle is reported before a missing id, and a missing id before a
/// failed dependency, because other tasks cannot resolve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadlock {
    /// Each task waits for the next, and the last for the first. This is the shortest cycle.
    Cycle(Vec<TaskId>),
    /// A task waits for one that is not in the file.
    Missing { task: TaskId, dependency: TaskId },
    /// A task waits for one that failed and may not be tried again.
    Failed { task: TaskId, dependency: TaskId },
    /// A task waits for one that is not done and that this run may not take.
    LeftOut { task: TaskId, dependency: TaskId },
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deadlock::Cycle(ring) => f.write_str(&describe_ring(ring)),
            Deadlock::Missing { task, dependency } => {
                write!(f, "task {task} waits for {dependency}, which is not in the file")
            }
            Deadlock::Failed { task, dependency } => {
                write!(f, "task {task} waits for task {dependency}, which failed")
            }
            Deadlock::LeftOut { task, dependency } => write!(
                f,
                "task {task} waits for {dependency}, which is not done and which `select` leaves out"
            ),
        }
    }
}

impl Deadlock {
    /// Suggests what a person can do about it.
    pub fn way_out(&self) -> String {
        match self {
            Deadlock::Cycle(ring) => {
                let first = typed(ring.first().map(TaskId::as_str).unwrap_or_default());
                format!("remove one of these dependencies, or skip a task: `windlass tasks set {first} skip`")
            }
            Deadlock::Missing { dependency, .. } => {
                format!("add a task with the id `{dependency}`, or remove that dependency")
            }
            Deadlock::Failed { dependency, .. } => {
                let dependency = typed(dependency.as_str());
                format!(
                    "retry it: `windlass tasks set {dependency} pending`, or skip it: \
                     `windlass tasks set {dependency} skip`"
                )
            }
            Deadlock::LeftOut { dependency, .. } => {
                let dependency = typed(dependency.as_str());
                format!("change `select` to include it, or skip it: `windlass tasks set {dependency} skip`")
            }
        }
    }
}

/// Quotes an id for a shell.
fn typed(id: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    match id {
        _ if !id.starts_with('-') && id.chars().all(is_plain) => id.to_owned(),
        _ => format!("-- '{}'", id.replace('\'', "'\\''")),
    }
}

/// Describes a cycle as a path back to its start.
pub(super) fn describe_ring(ring: &[TaskId]) -> String {
    let [only] = ring else {
        let way: Vec<&str> = ring.iter().chain(ring.first()).map(TaskId::as_str).collect();
        return format!("tasks wait for each other: {}", way.join(" -> "));
    };
    format!("task {only} waits for itself")
}

/// Finds the obstacle for the waiting tasks. Expects that some tasks are left, but none is ready or in
/// progress.
pub(super) fn diagnose(index: &Index<'_>, attempts: &Attempts) -> Option<Deadlock> {
    ring(index, attempts)
        .or_else(|| {
            index.first_unmet(
                attempts,
                |found| found.is_empty(),
                |task, dependency| Deadlock::Missing { task, dependency },
            )
        })
        .or_else(|| {
            let has_failed = |found: &[usize]| found.iter().any(|place| index.has_failed(*place, attempts));
            index.first_unmet(attempts, has_failed, |task, dependency| Deadlock::Failed { task, dependency })
        })
}

fn ring(index: &Index<'_>, attempts: &Attempts) -> Option<Deadlock> {
    // Finished tasks, and tasks that failed for good, no longer wait.
    let waits_for: Vec<Vec<usize>> = (0..index.tasks.len())
        .map(|place| if index.is_open(place, attempts) { index.unmet_places(place) } else { Vec::new() })
        .collect();
    let ring = cycles(&waits_for).into_iter().min_by_key(Vec::len)?;
    let ids = ring.iter().filter_map(|place| index.tasks.get(*place)).map(|task| task.id.clone());
    Some(Deadlock::Cycle(ids.collect()))
}

impl Index<'_> {
    /// Returns true if a task is still to be done and may be tried.
    pub(super) fn is_open(&self, place: usize, attempts: &Attempts) -> bool {
        self.tasks.get(place).is_some_and(|task| match task.status {
            TaskStatus::Pending => true,
            TaskStatus::Failing => attempts.allow(&task.id),
            TaskStatus::InProgress | TaskStatus::Passing | TaskStatus::Skipped => false,
        })
    }

    /// Returns true if a task failed and may not be tried again.
    fn has_failed(&self, place: usize, attempts: &Attempts) -> bool {
        self.tasks
            .get(place)
            .is_some_and(|task| task.status == TaskStatus::Failing && !attempts.allow(&task.id))
    }

    /// Finds the first unmet dependency of an open task for which `is_so` is true. `is_so` gets the
    /// dependency's places in the file.
    fn first_unmet(
        &self,
        attempts: &Attempts,
        is_so: impl Fn(&[usize]) -> bool,
        told: impl Fn(TaskId, TaskId) -> Deadlock,
    ) -> Option<Deadlock> {
        let open = self.order().into_iter().filter(|place| self.is_open(*place, attempts));
        let mut unmet = open.filter_map(|place| self.tasks.get(place)).flat_map(|task| {
            task.dependencies.iter().filter(|id| !self.is_met(id)).map(move |id| (&task.id, id))
        });
        let (task, dependency) = unmet.find(|(_, id)| is_so(self.places(id)))?;
        Some(told(task.clone(), dependency.clone()))
    }
}
