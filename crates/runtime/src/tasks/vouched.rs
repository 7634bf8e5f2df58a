//! Records the status of each task that Windlass or a person has vouched for, while runs work on the file.
//!
//! Agents may write the file, so its content proves nothing. A task is passing when Windlass proved it or a
//! person said so with `windlass tasks set`. Only a person may skip or remove a task. The record is in the
//! state folder beside the lock of the file, because the next run needs it, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::id::RunId;
use windlass_core::tasks::{Task, TaskId, TaskStatus};
use windlass_peers::files::{self, FileMode};
use windlass_peers::git;

use super::claim::FOLDER;
use super::error::TasksError;
use super::lock::TaskFileLock;
use super::path::TaskFilePath;

const VERSION: u32 = 1;
const MAX: u64 = 16 << 20;

/// Statuses that nobody vouches for: a `passing` or `skipped` from an unknown writer. None means that the
/// task is gone.
pub(crate) type UnvouchedStatuses = BTreeMap<TaskId, Option<TaskStatus>>;

/// The record of vouched statuses, as one run sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VouchedTasks<'a> {
    pub(crate) state: &'a Path,
    pub(crate) run: &'a RunId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// The run that last started to work on the file.
    run: Option<RunId>,
    /// The vouched status of each task.
    known: BTreeMap<TaskId, TaskStatus>,
    unvouched: UnvouchedStatuses,
}

impl VouchedTasks<'_> {
    /// Compares the file with the record and returns the statuses that nobody vouches for. Leaves out the
    /// tasks that the run is working on, because their status is decided when they are settled. A new run
    /// trusts the file as it finds it, except for statuses that were not vouched for before.
    pub(crate) fn look(
        &self,
        place: &TaskFilePath,
        tasks: &[Task],
        busy: &[TaskId],
    ) -> Result<UnvouchedStatuses, TasksError> {
        let at = |id: &TaskId| tasks.iter().find(|task| task.id == *id).map(|task| task.status);
        update(self.state, place, |note| {
            if note.run.as_ref() != Some(self.run) {
                note.run = Some(self.run.clone());
                note.begin(tasks);
            }
            for task in tasks.iter().filter(|task| !busy.contains(&task.id)) {
                note.see(&task.id, task.status);
            }
            let gone: Vec<(TaskId, TaskStatus)> = note
                .known
                .iter()
                .filter(|(id, _)| at(id).is_none())
                .map(|(id, s)| (id.clone(), *s))
                .collect();
            for (id, status) in gone {
                // A task that was done is not missed.
                if status.is_met() {
                    note.known.remove(&id);
                } else {
                    note.unvouched.insert(id, None);
                }
            }
            note.unvouched.retain(|id, status| at(id) == *status);
            note.unvouched.clone()
        })
    }

    /// Decides whether Windlass or a person vouches for a status.
    pub(crate) fn is_vouched(&self, place: &TaskFilePath, id: &TaskId, status: TaskStatus) -> bool {
        read(&path(self.state, place)).known.get(id) == Some(&status)
    }

    /// Decides whether a status was found in the file and nobody vouched for it.
    pub(crate) fn is_doubted(&self, place: &TaskFilePath, id: &TaskId, status: TaskStatus) -> bool {
        read(&path(self.state, place)).unvouched.get(id) == Some(&Some(status))
    }

    /// Records a status that nobody vouches for.
    pub(crate) fn record_unvouched(
        &self,
        place: &TaskFilePath,
        id: &TaskId,
        status: TaskStatus,
    ) -> Result<(), TasksError> {
        update(self.state, place, |note| {
            note.unvouched.insert(id.clone(), Some(status));
        })
    }

    /// Vouches for a status that Windlass is about to write.
    pub(crate) fn vouch(
        &self,
        place: &TaskFilePath,
        id: &TaskId,
        status: TaskStatus,
    ) -> Result<(), TasksError> {
        update(self.state, place, |note| {
            note.known.insert(id.clone(), status);
        })
    }
}

impl Note {
    fn empty() -> Note {
        Note { v: VERSION, run: None, known: BTreeMap::new(), unvouched: BTreeMap::new() }
    }

    /// Takes over the file as a new run finds it.
    fn begin(&mut self, tasks: &[Task]) {
        // Starting a new run accepts that tasks are gone.
        self.unvouched.retain(|_, status| status.is_some());
        let before = std::mem::take(&mut self.known);
        let was_at =
            |task: &Task| before.get(&task.id) == Some(&TaskStatus::InProgress) && task.status.is_met();
        let is_doubted = |task: &Task| self.unvouched.get(&task.id) == Some(&Some(task.status));
        // The last run died while it worked on these tasks, so their agent's claim was never proven.
        let known = tasks.iter().filter(|task| !was_at(task) && !is_doubted(task));
        self.known = known.map(|task| (task.id.clone(), task.status)).collect();
    }

    fn see(&mut self, id: &TaskId, status: TaskStatus) {
        if !status.is_met() {
            self.known.insert(id.clone(), status);
        } else if self.known.get(id) == Some(&status) {
            self.unvouched.remove(id);
        } else {
            self.unvouched.insert(id.clone(), Some(status));
        }
    }
}

/// Vouches for a status in the name of a person. Returns the status recorded before.
pub fn vouch_for(
    state: &Path,
    place: &TaskFilePath,
    id: &TaskId,
    status: TaskStatus,
) -> Result<Option<TaskStatus>, TasksError> {
    // No run has worked on the file yet, and the first one trusts the file as it finds it.
    if !path(state, place).exists() {
        return Ok(None);
    }
    update(state, place, |note| {
        note.unvouched.remove(id);
        note.known.insert(id.clone(), status)
    })
}

/// Undoes [`vouch_for`] after the file could not be written.
pub fn take_back(state: &Path, place: &TaskFilePath, id: &TaskId, before: Option<TaskStatus>) {
    if !path(state, place).exists() {
        return;
    }
    // If this write fails, too, the file still does not contain the vouched status.
    let _ = update(state, place, |note| match before {
        Some(before) => note.known.insert(id.clone(), before),
        None => note.known.remove(id),
    });
}

/// Describes an unvouched status and what to do about it.
pub(crate) fn describe(file: &str, id: &TaskId, status: Option<TaskStatus>) -> String {
    match status {
        Some(TaskStatus::Passing) => format!(
            "task `{id}` is `passing` in {file}, and neither Windlass nor a person wrote that: it counts as pending"
        ),
        Some(status) => format!(
            "task `{id}` is `{}` in {file}, and no person decided that: skip it with `windlass tasks set {id} skip`, \
             or have it done with `windlass tasks set {id} pending`",
            status.word()
        ),
        None => format!(
            "task `{id}` was removed from {file} during the run, and only a person decides that: put it back, or start a new run \
             without it"
        ),
    }
}

fn path(state: &Path, place: &TaskFilePath) -> PathBuf {
    state.join(FOLDER).join(format!("{}.json", git::digest(place.path().as_os_str().as_encoded_bytes())))
}

fn read(path: &Path) -> Note {
    let bytes = files::read_bounded(path, MAX).unwrap_or_default();
    let note = serde_json::from_slice(&bytes).ok().filter(|note: &Note| note.v == VERSION);
    note.unwrap_or_else(Note::empty)
}

/// Changes the record under the lock of the task file.
fn update<T>(state: &Path, place: &TaskFilePath, act: impl FnOnce(&mut Note) -> T) -> Result<T, TasksError> {
    let path = path(state, place);
    let failed = |source| TasksError::File { file: path.display().to_string(), source };
    let _lock = TaskFileLock::take(place)?;
    let before = read(&path);
    let mut note = before.clone();
    let result = act(&mut note);
    if note != before {
        let folder = state.join(FOLDER);
        files::make_private_dir(&folder).map_err(failed)?;
        files::clear_dead(&folder);
        let text = serde_json::to_vec(&note).unwrap_or_default();
        files::write_atomic(&path, &text, FileMode::Private).map_err(failed)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::locate;

    fn task(id: &str, status: TaskStatus) -> Task {
        Task { status, ..Task::named(id.parse().unwrap(), id.to_owned()) }
    }

    #[test]
    fn only_what_windlass_or_a_person_wrote_is_believed_and_the_next_run_knows_it() {
        use TaskStatus::{InProgress, Passing, Pending, Skipped};
        let dir = tempfile::tempdir().unwrap();
        let place = locate(dir.path(), None).unwrap();
        let (first, second) = (RunId::new("a"), RunId::new("b"));
        let book = VouchedTasks { state: dir.path(), run: &first };
        let id = |text: &str| text.parse::<TaskId>().unwrap();
        let begun = [task("1", Pending), task("2", Passing), task("3", Skipped), task("4", Pending)];
        assert_eq!(
            book.look(&place, &begun, &[]).unwrap(),
            UnvouchedStatuses::new(),
            "it begins with what it finds"
        );
        book.vouch(&place, &id("1"), InProgress).unwrap();
        let forged = [task("1", Passing), task("2", Passing), task("4", Skipped), task("5", Passing)];
        let busy = [id("1")];
        let doubts = UnvouchedStatuses::from([(id("4"), Some(Skipped)), (id("5"), Some(Passing))]);
        assert_eq!(
            book.look(&place, &forged, &busy).unwrap(),
            doubts,
            "a removed one that was done is no loss"
        );
        let lost = [task("2", Passing)];
        let gone = UnvouchedStatuses::from([(id("4"), None), (id("1"), None)]);
        assert_eq!(book.look(&place, &lost, &[]).unwrap(), gone);
        assert_eq!(book.look(&place, &forged, &busy).unwrap(), doubts, "and back again");
        // A run that died, and the next one.
        let next = VouchedTasks { state: dir.path(), run: &second };
        let died = UnvouchedStatuses::from([
            (id("1"), Some(Passing)),
            (id("4"), Some(Skipped)),
            (id("5"), Some(Passing)),
        ]);
        assert_eq!(next.look(&place, &forged, &[]).unwrap(), died);
        vouch_for(dir.path(), &place, &id("4"), Skipped).unwrap();
        next.vouch(&place, &id("1"), Passing).unwrap();
        assert_eq!(
            next.look(&place, &forged, &[]).unwrap(),
            UnvouchedStatuses::from([(id("5"), Some(Passing))])
        );
        assert!(next.is_vouched(&place, &id("4"), Skipped) && !next.is_vouched(&place, &id("5"), Passing));
        take_back(dir.path(), &place, &id("4"), Some(Pending));
        assert!(!next.is_vouched(&place, &id("4"), Skipped));
    }
}
