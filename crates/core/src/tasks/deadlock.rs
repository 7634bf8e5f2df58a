//! Why nothing can go on although something is left to do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cycles::cycles;
use super::select::{Attempts, Index};
use super::task::{TaskId, TaskStatus};

/// What holds the tasks up that are left. A ring is named before a missing id, and that before
/// a failed dependency: it is never solved by doing the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadlock {
    /// Each waits for the one after it, and the last for the first. The shortest there is.
    Cycle(Vec<TaskId>),
    /// A task waits for one that is not in the file.
    Missing {
        /// Who waits.
        task: TaskId,
        /// For what.
        dependency: TaskId,
    },
    /// A task waits for one that failed and may not be tried again.
    Failed {
        /// Who waits.
        task: TaskId,
        /// For what.
        dependency: TaskId,
    },
    /// A task waits for one that is not done and that nobody here may take.
    LeftOut {
        /// Who waits.
        task: TaskId,
        /// For what.
        dependency: TaskId,
    },
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Deadlock::Cycle(ring) => f.write_str(&describe_ring(ring)),
            Deadlock::Missing { task, dependency } => {
                write!(f, "task {task} waits for {dependency}, which is not in the file")
            }
            Deadlock::Failed { task, dependency } => {
                write!(f, "task {task} waits for {dependency}, which has failed")
            }
            Deadlock::LeftOut { task, dependency } => write!(
                f,
                "task {task} waits for {dependency}, which is not done and which `select` leaves out"
            ),
        }
    }
}

impl Deadlock {
    /// What a person can do about it.
    pub fn way_out(&self) -> String {
        match self {
            Deadlock::Cycle(ring) => {
                let first = typed(ring.first().map(TaskId::as_str).unwrap_or_default());
                format!("remove one of these dependencies, or give one up: `windlass tasks set {first} skip`")
            }
            Deadlock::Missing { dependency, .. } => {
                format!("add a task with the id `{dependency}`, or remove that dependency")
            }
            Deadlock::Failed { dependency, .. } => {
                let dependency = typed(dependency.as_str());
                format!("try it again: `windlass tasks set {dependency} pending`; or give it up: `… skip`")
            }
            Deadlock::LeftOut { dependency, .. } => {
                let dependency = typed(dependency.as_str());
                format!("let `select` take it, or give it up: `windlass tasks set {dependency} skip`")
            }
        }
    }
}

/// An id as it has to be typed in a shell.
fn typed(id: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    match id {
        _ if !id.starts_with('-') && id.chars().all(is_plain) => id.to_owned(),
        _ => format!("-- '{}'", id.replace('\'', "'\\''")),
    }
}

/// A ring, told as a way back to where it began.
pub(super) fn describe_ring(ring: &[TaskId]) -> String {
    let [only] = ring else {
        let way: Vec<&str> = ring.iter().chain(ring.first()).map(TaskId::as_str).collect();
        return format!("tasks wait for each other: {}", way.join(" -> "));
    };
    format!("task {only} waits for itself")
}

/// What holds up the tasks that wait. Nothing must be ready or in progress, and something left.
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
    // What is finished or has failed for good waits for nothing any more.
    let waits_for: Vec<Vec<usize>> = (0..index.tasks.len())
        .map(|place| if index.is_open(place, attempts) { index.unmet_places(place) } else { Vec::new() })
        .collect();
    let ring = cycles(&waits_for).into_iter().min_by_key(Vec::len)?;
    let ids = ring.iter().filter_map(|place| index.tasks.get(*place)).map(|task| task.id.clone());
    Some(Deadlock::Cycle(ids.collect()))
}

impl Index<'_> {
    /// Whether a task is still to be done, and may be.
    pub(super) fn is_open(&self, place: usize, attempts: &Attempts) -> bool {
        self.tasks.get(place).is_some_and(|task| match task.status {
            TaskStatus::Pending => true,
            TaskStatus::Failing => attempts.allow(&task.id),
            TaskStatus::InProgress | TaskStatus::Passing | TaskStatus::Skipped => false,
        })
    }

    /// Whether a task failed and may not be tried again.
    fn has_failed(&self, place: usize, attempts: &Attempts) -> bool {
        self.tasks
            .get(place)
            .is_some_and(|task| task.status == TaskStatus::Failing && !attempts.allow(&task.id))
    }

    /// The first dependency of an open task whose places in the file are so.
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
