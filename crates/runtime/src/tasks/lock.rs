//! Allows one writer at a time, by a lock in the git folder, or beside a file that is in no repository. A
//! lock that a killed process leaves behind must not be committed.
//!
//! The lock file is removed after use. A process that was waiting for the removed file notices and waits for
//! the next one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use windlass_peers::files::{checkout, make_private_dir};
use windlass_peers::git::digest;

use super::error::TasksError;
use super::path::{TaskFilePath, io_error};

/// Long, because writing takes only milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to write a task file, until it is dropped.
#[derive(Debug)]
pub(super) struct TaskFileLock {
    path: PathBuf,
    /// Closing it releases the lock.
    _file: File,
}

impl TaskFileLock {
    /// Waits for the right to write a task file.
    pub(super) fn take(place: &TaskFilePath) -> Result<TaskFileLock, TasksError> {
        TaskFileLock::take_within(place, PATIENCE)
    }

    pub(super) fn take_within(place: &TaskFilePath, patience: Duration) -> Result<TaskFileLock, TasksError> {
        let path = path_for(&place.path);
        let begun = Instant::now();
        loop {
            if let Some(lock) = try_take(&path).map_err(|error| io_error(&place.shown, error))? {
                return Ok(lock);
            }
            if begun.elapsed() >= patience {
                return Err(TasksError::Busy { file: place.shown.clone() });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for TaskFileLock {
    fn drop(&mut self) {
        // The lock is still held, so nobody else can own this path. A file left behind does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) fn path_for(path: &Path) -> PathBuf {
    let own = checkout::own_folder(path).filter(|own| make_private_dir(own).is_ok());
    match own {
        Some(own) => own.join(format!("tasks-{}.lock", digest(path.as_os_str().as_encoded_bytes()))),
        None => beside(path),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    path.with_file_name(name)
}

fn try_take(path: &Path) -> io::Result<Option<TaskFileLock>> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::CLOEXEC).bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let held = file.metadata()?;
    let is_it =
        fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (held.dev(), held.ino()));
    Ok(is_it.then(|| TaskFileLock { path: path.to_owned(), _file: file }))
}
