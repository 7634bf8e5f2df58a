//! Selects the next task.
//!
//! Tasks are ordered by priority, lower first, then by their order in the file. A dependency is met when it
//! is passing or skipped. A failing task may be tried again; the caller counts the attempts. If no task is
//! ready but some are left, the result is never "all done" but work in progress, a failure or a deadlock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::deadlock::{self, Deadlock};
use super::task::{Priority, Task, TaskId, TaskStatus};

/// The attempts allowed per task, and the attempts made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// The maximum number of attempts for each task.
    pub allowed: u32,
    /// The number of attempts made so far. A task that is not listed has none.
    pub made: BTreeMap<TaskId, u32>,
}

impl Attempts {
    /// Creates a budget of this many attempts per task, with none made.
    pub fn of(allowed: u32) -> Attempts {
        Attempts { allowed, made: BTreeMap::new() }
    }

    /// Returns true if a task may be tried again.
    pub fn allow(&self, id: &TaskId) -> bool {
        self.made.get(id).copied().unwrap_or(0) < self.allowed
    }

    /// Counts an attempt.
    pub fn count(&mut self, id: &TaskId) {
        let made = self.made.entry(id.clone()).or_default();
        *made = made.saturating_add(1);
    }

    /// Takes back an attempt in which no one worked on the task.
    pub fn take_back(&mut self, id: &TaskId) {
        let Some(made) = self.made.get_mut(id) else { return };
        *made = made.saturating_sub(1);
        if *made == 0 {
            self.made.remove(id);
        }
    }

    /// Uses up all attempts of a task.
    pub fn spend(&mut self, id: &TaskId) {
        self.made.insert(id.clone(), self.allowed);
    }
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts::of(3)
    }
}

/// The result of selecting a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextTask {
    /// The task to do next.
    Task(TaskId),
    /// No task is ready, but some are in progress.
    Working,
    /// Every task is passing or skipped.
    AllDone,
    /// These tasks failed and may not be tried again. All others are done.
    Failed {
        /// The failed tasks, in order of priority.
        ids: Vec<TaskId>,
    },
    /// The remaining tasks can never become ready.
    Deadlock(Deadlock),
}

/// Selects the next task.
pub fn next(tasks: &[Task], attempts: &Attempts) -> NextTask {
    let index = Index::of(tasks);
    if let Some(first) = index.ready(attempts).first() {
        return NextTask::Task(first.id.clone());
    }
    if tasks.iter().any(|task| task.status == TaskStatus::InProgress) {
        return NextTask::Working;
    }
    if is_done(tasks) {
        return NextTask::AllDone;
    }
    match deadlock::diagnose(&index, attempts) {
        Some(deadlock) => NextTask::Deadlock(deadlock),
        None => NextTask::Failed { ids: index.failed() },
    }
}

/// Returns all tasks that can start now, in order of priority.
pub fn ready<'a>(tasks: &'a [Task], attempts: &Attempts) -> Vec<&'a Task> {
    Index::of(tasks).ready(attempts)
}

/// Returns true if nothing is left to do. Tasks in progress and failing tasks count as left.
pub fn is_done(tasks: &[Task]) -> bool {
    tasks.iter().all(|task| task.status.is_met())
}

/// Returns the unmet dependencies of each task, in file order and without repetition.
pub fn waits(tasks: &[Task]) -> Vec<Vec<&TaskId>> {
    let index = Index::of(tasks);
    tasks.iter().map(|task| index.unmet(task)).collect()
}

/// Resets tasks to pending if their worker died while they were in progress. Returns their ids. The caller
/// knows which tasks still have a live worker.
pub fn recover(tasks: &mut [Task], is_held: impl Fn(&TaskId) -> bool) -> Vec<TaskId> {
    let mut recovered = Vec::new();
    for task in tasks.iter_mut().filter(|task| task.status == TaskStatus::InProgress) {
        if is_held(&task.id) {
            continue;
        }
        task.status = TaskStatus::Pending;
        recovered.push(task.id.clone());
    }
    recovered
}

/// The number of tasks with each status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskTally {
    pub pending: usize,
    pub in_progress: usize,
    pub passing: usize,
    pub failing: usize,
    pub skipped: usize,
}

/// Counts tasks by status.
pub fn tally(tasks: &[Task]) -> TaskTally {
    let mut tally = TaskTally::default();
    for task in tasks {
        let count = match task.status {
            TaskStatus::Pending => &mut tally.pending,
            TaskStatus::InProgress => &mut tally.in_progress,
            TaskStatus::Passing => &mut tally.passing,
            TaskStatus::Failing => &mut tally.failing,
            TaskStatus::Skipped => &mut tally.skipped,
        };
        *count += 1;
    }
    tally
}

/// Tasks by their ids.
pub(super) struct Index<'a> {
    pub(super) tasks: &'a [Task],
    places: BTreeMap<&'a TaskId, Vec<usize>>,
}

impl<'a> Index<'a> {
    pub(super) fn of(tasks: &'a [Task]) -> Index<'a> {
        let mut places: BTreeMap<&TaskId, Vec<usize>> = BTreeMap::new();
        for (place, task) in tasks.iter().enumerate() {
            places.entry(&task.id).or_default().push(place);
        }
        Index { tasks, places }
    }

    /// Returns the positions of a task; more than one only in a file with duplicate ids.
    pub(super) fn places(&self, id: &TaskId) -> &[usize] {
        self.places.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn is_met(&self, id: &TaskId) -> bool {
        let is_met = |place: &usize| self.tasks.get(*place).is_some_and(|task| task.status.is_met());
        !self.places(id).is_empty() && self.places(id).iter().all(is_met)
    }

    fn unmet<'t>(&self, task: &'t Task) -> Vec<&'t TaskId> {
        let mut unmet: Vec<&TaskId> = Vec::new();
        for id in task.dependencies.iter().filter(|id| !self.is_met(id)) {
            if !unmet.contains(&id) {
                unmet.push(id);
            }
        }
        unmet
    }

    /// Returns the positions of the unmet dependencies that are in the file.
    pub(super) fn unmet_places(&self, place: usize) -> Vec<usize> {
        let dependencies = self.tasks.get(place).map(|task| task.dependencies.as_slice()).unwrap_or_default();
        let unmet = dependencies.iter().filter(|id| !self.is_met(id));
        unmet.flat_map(|id| self.places(id).iter().copied()).collect()
    }

    /// Returns all positions in order of priority.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        order.sort_by_key(|place| turn(self.tasks.get(*place).and_then(|task| task.priority)));
        order
    }

    fn ready(&self, attempts: &Attempts) -> Vec<&'a Task> {
        let is_ready = |task: &&Task| task.dependencies.iter().all(|id| self.is_met(id));
        let open = self.order().into_iter().filter(|place| self.is_open(*place, attempts));
        open.filter_map(|place| self.tasks.get(place)).filter(is_ready).collect()
    }

    fn failed(&self) -> Vec<TaskId> {
        let tasks = self.order().into_iter().filter_map(|place| self.tasks.get(place));
        tasks.filter(|task| task.status == TaskStatus::Failing).map(|task| task.id.clone()).collect()
    }
}

/// Sorts tasks without a priority last.
fn turn(priority: Option<Priority>) -> (bool, Option<Priority>) {
    (priority.is_none(), priority)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
