//! Allows one run at a time to work on a task file: two runs would each reset the tasks of the other.
//!
//! The claim is a kernel lock, which ends with its process, on a file in the state folder. The file's name is
//! derived from the real path of the tasks, and its content names the last run. A resumed run learns from it
//! that another run may have settled its tasks.

use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_peers::{files, git};

use super::error::TasksError;
use super::path::{TaskFilePath, io_error};
use crate::named_lock::{LockAttempt, NamedLock, Share};

/// The folder of the locks in the state folder.
pub(super) const FOLDER: &str = "tasks";

/// The right of a run to work on a task file, until it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct TaskFileClaim {
    /// The path of the tasks, without links.
    tasks: PathBuf,
    _lock: NamedLock,
}

impl TaskFileClaim {
    /// Claims the file for a run, or fails with the run that has it. If another run had it last, calls
    /// `after_another` before it records the new one, so that a crash in between repeats the call.
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

    /// Decides whether the claim is for these tasks.
    pub(crate) fn is_for(&self, place: &TaskFilePath) -> bool {
        self.tasks == place.path()
    }
}
