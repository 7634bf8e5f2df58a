//! Counts the tasks of a run's task file while the run is shown.

use std::path::PathBuf;

use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record};
use windlass_core::run::{Activity, RunState};
use windlass_runtime::handle::Handle;
use windlass_runtime::view::TaskFileTally;

use super::feed::Face;

/// The task file of a run.
pub(crate) struct TaskWatch {
    handle: Handle,
    workspace: PathBuf,
    /// The file that the workflow names, once the run has looked for a task.
    path: Option<Option<String>>,
}

impl TaskWatch {
    /// Watches the file of a run, which may have started before.
    pub(crate) fn new(handle: &Handle, state: &RunState) -> TaskWatch {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        let path = actives.iter().find_map(|active| match &active.activity {
            Activity::Tasks(tasks) => Some(tasks.path.clone()),
            _ => None,
        });
        TaskWatch { handle: handle.clone(), workspace: PathBuf::from(&state.spec.workspace), path }
    }

    /// Counts the tasks for the display.
    pub(crate) fn count(&self, face: &mut Face) {
        if let Some(tally) = self.tally() {
            face.count_tasks(tally.done, tally.all);
        }
    }

    /// Takes a record of the run into account, and counts the tasks again if it changed one.
    pub(crate) fn see(&mut self, face: &mut Face, record: &Record) {
        let claims = record.effects.iter().find_map(|planned| match &planned.effect {
            Effect::ClaimTask { path, .. } => Some(path.clone()),
            _ => None,
        });
        let is_new = claims.is_some() && self.path != claims;
        self.path = claims.or(self.path.take());
        if is_new || matches!(record.event, Event::TaskClaimed { .. } | Event::TaskSettled { .. }) {
            self.count(face);
        }
    }

    /// Counts the tasks, if the run has a task file that can be read.
    pub(crate) fn tally(&self) -> Option<TaskFileTally> {
        self.handle.task_tally(&self.workspace, self.path.as_ref()?.as_deref())
    }
}
