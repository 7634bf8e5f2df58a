//! The world outside: everything that was really started, and how often. It outlives every executor.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::{EffectId, RunId};
use windlass_core::tasks::{self, Attempts, Claim, NextTask, StatusWriter, Task, TaskId, TaskStatus};
use windlass_forms::tasks::claimed;

use super::story::Story;

/// The world outside of an executor.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    begun: BTreeMap<String, Begun>,
    /// The task files.
    tasks: BTreeMap<String, Vec<Task>>,
}

/// Something that was started.
#[derive(Debug, Clone, PartialEq)]
struct Begun {
    times: u32,
    /// Its input, to prove that a second life starts the same and nothing else.
    what: String,
    /// True if it may start again when its outcome is unknown.
    may_repeat: bool,
}

/// The answer to an attempt to start something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It starts now.
    Nothing,
    /// It was started before.
    It,
}

/// Names an effect among those of all runs.
pub(super) fn name(run: &RunId, id: &EffectId) -> String {
    format!("{run}/{id}")
}

impl World {
    /// Returns the world before a story.
    pub(super) fn of(story: &Story) -> World {
        World { tasks: story.tasks.clone(), ..World::default() }
    }

    /// Starts something, unless it was started before.
    pub(super) fn begin(&mut self, name: String, what: impl Into<String>) -> Found {
        if self.begun.contains_key(&name) {
            return Found::It;
        }
        self.begun.insert(name, Begun { times: 1, what: what.into(), may_repeat: false });
        Found::Nothing
    }

    /// Starts something that may start again.
    pub(super) fn begin_again(&mut self, name: String, what: impl Into<String>) {
        let new = || Begun { times: 0, what: what.into(), may_repeat: true };
        self.begun.entry(name).or_insert_with(new).times += 1;
    }

    pub(super) fn has_begun(&self, name: &str) -> bool {
        self.begun.contains_key(name)
    }

    /// Returns everything that was started, with its input. Fails if something was started twice that may not
    /// be.
    pub(super) fn once(&self) -> BTreeMap<String, String> {
        let twice: BTreeSet<&String> = self
            .begun
            .iter()
            .filter(|(_, begun)| begun.times != 1 && !begun.may_repeat)
            .map(|(name, _)| name)
            .collect();
        assert!(twice.is_empty(), "begun more than once: {twice:?}");
        self.begun.iter().map(|(name, begun)| (name.clone(), begun.what.clone())).collect()
    }

    /// Returns the status of every task.
    pub(super) fn statuses(&self) -> BTreeMap<String, Vec<(TaskId, TaskStatus)>> {
        let of = |tasks: &Vec<Task>| tasks.iter().map(|task| (task.id.clone(), task.status)).collect();
        self.tasks.iter().map(|(file, tasks)| (file.clone(), of(tasks))).collect()
    }

    /// Chooses the next task of a file and marks it as in progress. Tasks that nobody works on become pending
    /// first.
    pub(super) fn claim(&mut self, file: &str, busy: &[TaskId], attempts: &Attempts) -> Claim {
        let list = self.tasks.get_mut(file).expect("a file of tasks");
        tasks::recover(list, |id| busy.contains(id));
        let ready = tasks::ready(list, attempts).into_iter().find(|task| !busy.contains(&task.id));
        let Some(id) = ready.map(|task| task.id.clone()) else { return nothing(list, busy, attempts) };
        let task = list.iter_mut().find(|task| task.id == id).unwrap();
        task.status = TaskStatus::InProgress;
        let told = serde_json::to_value(&*task).unwrap();
        let made = attempts.made.get(&id).copied().unwrap_or(0) + 1;
        self.begin_again(format!("{file}/{id}/try {made}"), "");
        Claim::Task { id, task: told }
    }

    /// Writes the outcome of a task into the file.
    pub(super) fn settle(
        &mut self,
        file: &str,
        task: &TaskId,
        ok: bool,
        said: Option<&str>,
    ) -> (TaskStatus, Option<String>) {
        let list = self.tasks.get_mut(file).expect("a file of tasks");
        let task = list.iter_mut().find(|other| other.id == *task).expect("a task of the file");
        let (status, why) =
            tasks::settle(ok, said.is_some(), said.and_then(claimed), task.status, StatusWriter::Person);
        task.status = status;
        (status, why.map(str::to_owned))
    }

    /// Marks a task that nobody works on any more as pending.
    pub(super) fn release(&mut self, file: &str, task: &TaskId) -> TaskStatus {
        let list = self.tasks.get_mut(file).expect("a file of tasks");
        let task = list.iter_mut().find(|other| other.id == *task).expect("a task of the file");
        if task.status == TaskStatus::InProgress {
            task.status = TaskStatus::Pending;
        }
        task.status
    }
}

fn nothing(list: &[Task], busy: &[TaskId], attempts: &Attempts) -> Claim {
    if !busy.is_empty() {
        return Claim::Working;
    }
    match tasks::next(list, attempts) {
        NextTask::Task(id) => panic!("task {id} is ready and was not"),
        NextTask::Working => Claim::Working,
        NextTask::AllDone => Claim::AllDone,
        NextTask::Failed { ids } => Claim::Failed { ids },
        NextTask::Deadlock(deadlock) => Claim::Deadlock(deadlock),
    }
}
