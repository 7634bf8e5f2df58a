//! One run at a time works on a file of tasks: two would take each other's tasks for left behind,
//! and put them back.
//!
//! A kernel lock, which death frees at once, on a file of the state folder that is named after the
//! real path of the tasks. What lies there says whose it was last: a run that is taken over after
//! another learns from it that its tasks may be settled already.

use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_peers::{files, git};

use super::error::TasksError;
use super::path::{TaskFilePath, io_error};
use crate::named_lock::{LockAttempt, NamedLock, Share};

/// The folder of the locks in the state folder.
pub(super) const FOLDER: &str = "tasks";

/// The right of a run to work on a file of tasks, until it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct TaskFileClaim {
    /// The tasks, without links.
    tasks: PathBuf,
    _lock: NamedLock,
}

impl TaskFileClaim {
    /// Takes the right for a run, or says who has it. Where another run has had it last, that is told
    /// before it is forgotten: after a crash in between it is told again.
    pub(crate) fn take(
        state: &Path,
        place: &TaskFilePath,
        run: &RunId,
        after_another: impl FnOnce() -> Result<(), TasksError>,
    ) -> Result<TaskFileClaim, TasksError> {
        let folder = state.join(FOLDER);
        files::make_private_dir(&folder)
            .map_err(|source| TasksError::File { file: folder.display().to_string(), source })?;
        let path = folder.join(format!("{}.lock", git::digest(place.path().as_os_str().as_encoded_bytes())));
        let failed = |source| io_error(&path.display().to_string(), source);
        let mut lock = match NamedLock::take(&path, Share::Alone).map_err(failed)? {
            LockAttempt::Taken(lock) => lock,
            LockAttempt::Held(run) => return Err(TasksError::Held { file: place.shown().to_owned(), run }),
        };
        if lock.last().is_some_and(|last| last != *run) {
            after_another()?;
        }
        lock.name(run).map_err(failed)?;
        Ok(TaskFileClaim { tasks: place.path().to_owned(), _lock: lock })
    }

    /// Whether it is for these tasks.
    pub(crate) fn is_for(&self, place: &TaskFilePath) -> bool {
        self.tasks == place.path()
    }
}
