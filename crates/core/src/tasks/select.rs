//! Which task is next.
//!
//! Lower priority first, then the order of the file. A dependency is met when it is passing or
//! skipped. A failing task is tried again within a budget that the caller counts. Nothing ready
//! while something is left is never "all done": it is work elsewhere, a failure or a deadlock.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::deadlock::{self, Deadlock};
use super::task::{Priority, Task, TaskId, TaskStatus};

/// How often a task may be tried, and how often each was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Tries in total.
    pub allowed: u32,
    /// Tries made so far; a task that is not here was not tried.
    pub made: BTreeMap<TaskId, u32>,
}

impl Attempts {
    /// So many tries for each task, none made yet.
    pub fn of(allowed: u32) -> Attempts {
        Attempts { allowed, made: BTreeMap::new() }
    }

    /// Whether a task may be tried once more.
    pub fn allow(&self, id: &TaskId) -> bool {
        self.made.get(id).copied().unwrap_or(0) < self.allowed
    }

    /// Counts a try.
    pub fn count(&mut self, id: &TaskId) {
        let made = self.made.entry(id.clone()).or_default();
        *made = made.saturating_add(1);
    }

    /// No other try of a task is made.
    pub fn spend(&mut self, id: &TaskId) {
        self.made.insert(id.clone(), self.allowed);
    }
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts::of(3)
    }
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextTask {
    /// This task.
    Task(TaskId),
    /// Nothing: some are in progress, and no other is ready.
    Working,
    /// Nothing: every task is passing or skipped.
    AllDone,
    /// Nothing: these failed and may not be tried again, all others are done.
    Failed {
        /// In the order of their turn.
        ids: Vec<TaskId>,
    },
    /// Nothing: what is left can never be ready.
    Deadlock(Deadlock),
}

/// Chooses.
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

/// All tasks that can be begun now, in the order of their turn.
pub fn ready<'a>(tasks: &'a [Task], attempts: &Attempts) -> Vec<&'a Task> {
    Index::of(tasks).ready(attempts)
}

/// Whether nothing is left to do. What is in progress or failing is left.
pub fn is_done(tasks: &[Task]) -> bool {
    tasks.iter().all(|task| task.status.is_met())
}

/// What each task waits for, in the order of the file; each dependency once, as it is said.
pub fn waits(tasks: &[Task]) -> Vec<Vec<&TaskId>> {
    let index = Index::of(tasks);
    tasks.iter().map(|task| index.unmet(task)).collect()
}

/// Puts back to pending what was in progress when its worker died, and names it. Whoever is
/// still at work is known to the caller.
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

/// How many tasks are how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TaskTally {
    /// Not begun.
    pub pending: usize,
    /// Begun.
    pub in_progress: usize,
    /// Done.
    pub passing: usize,
    /// Tried and not done.
    pub failing: usize,
    /// Not to be done.
    pub skipped: usize,
}

/// Counts them.
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

    /// Where a task stands; more than once only in a file that is wrong.
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

    /// The tasks of the file that a task waits for.
    pub(super) fn unmet_places(&self, place: usize) -> Vec<usize> {
        let dependencies = self.tasks.get(place).map(|task| task.dependencies.as_slice()).unwrap_or_default();
        let unmet = dependencies.iter().filter(|id| !self.is_met(id));
        unmet.flat_map(|id| self.places(id).iter().copied()).collect()
    }

    /// All places in the order of their turn.
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

/// Those without a priority come last.
fn turn(priority: Option<Priority>) -> (bool, Option<Priority>) {
    (priority.is_none(), priority)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
