//! One run at a time works on a file of tasks: two would take each other's tasks for left behind,
//! and put them back.
//!
//! A kernel lock, which death frees at once, on a file of the state folder that is named after the
//! real path of the tasks. What lies there says whose it was last: a run that is taken over after
//! another learns from it that its tasks may be settled already.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;
use windlass_peers::{files, git};

use super::error::TasksError;
use super::place::{Place, io_error};

/// The folder of the locks in the state folder.
const FOLDER: &str = "tasks";
/// No id of a run is longer.
const LONGEST_ID: u64 = 256;

/// The right of a run to work on a file of tasks, until it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The tasks, without links.
    tasks: PathBuf,
    lock: File,
}

impl Hold {
    /// Takes the right for a run, or says who has it. Where another run has had it last, that is told
    /// before it is forgotten: after a crash in between it is told again.
    pub(crate) fn take(
        state: &Path,
        place: &Place,
        run: &RunId,
        after_another: impl FnOnce() -> Result<(), TasksError>,
    ) -> Result<Hold, TasksError> {
        let folder = state.join(FOLDER);
        files::make_private_dir(&folder)
            .map_err(|source| TasksError::File { file: folder.display().to_string(), source })?;
        let path = folder.join(format!("{}.lock", git::digest(place.path().as_os_str().as_encoded_bytes())));
        let failed = |source| io_error(&path.display().to_string(), source);
        let mut lock = open(&path).map_err(failed)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(TasksError::Held { file: place.shown().to_owned(), run: holder(&lock) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        if holder(&lock).is_some_and(|last| last != *run) {
            after_another()?;
        }
        lock.set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| lock.write_all(run.as_str().as_bytes()))
            .map_err(failed)?;
        Ok(Hold { tasks: place.path().to_owned(), lock })
    }

    /// Whether it is for these tasks.
    pub(crate) fn is_for(&self, place: &Place) -> bool {
        self.tasks == place.path()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Said aloud, because a child that is just being started still shares the open file.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Whoever has just taken it may not have said so yet.
fn holder(lock: &File) -> Option<RunId> {
    let mut text = String::new();
    lock.take(LONGEST_ID).read_to_string(&mut text).ok()?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_plain.then(|| RunId::new(text))
}
