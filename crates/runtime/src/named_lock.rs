//! A kernel lock on a file that names its last owner. The kernel releases the lock when its process dies.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;

/// The limit for reading a run id.
const LONGEST_ID: u64 = 256;

/// A lock that lasts until it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct NamedLock {
    file: File,
}

/// The mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Alone,
    /// Shared with other holders of this mode.
    WithOthers,
}

/// The result of trying to take a lock.
#[derive(Debug)]
pub(crate) enum LockAttempt {
    Taken(NamedLock),
    /// Another run has the lock. `None` if it took the lock just now and has not written its name yet.
    Held(Option<RunId>),
}

impl NamedLock {
    /// Tries to take the lock. The folder of the file must exist.
    pub(crate) fn take(path: &Path, share: Share) -> io::Result<LockAttempt> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let how = match share {
            Share::Alone => FlockOperation::NonBlockingLockExclusive,
            Share::WithOthers => FlockOperation::NonBlockingLockShared,
        };
        match flock(&file, how) {
            Ok(()) => Ok(LockAttempt::Taken(NamedLock { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(LockAttempt::Held(named(&file))),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the last run that wrote its name.
    pub(crate) fn last(&mut self) -> Option<RunId> {
        self.file.rewind().ok()?;
        named(&self.file)
    }

    /// Returns the last run that wrote its name into a lock file, without taking the lock.
    pub(crate) fn last_of(path: &Path) -> Option<RunId> {
        named(&File::open(path).ok()?)
    }

    /// Writes the name of the run that has the lock now.
    pub(crate) fn name(&mut self, run: &RunId) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(run.as_str().as_bytes())
    }
}

impl Drop for NamedLock {
    fn drop(&mut self) {
        // An explicit unlock, because a child that is just starting still shares the open file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn named(file: &File) -> Option<RunId> {
    let mut text = String::new();
    file.take(LONGEST_ID).read_to_string(&mut text).ok()?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_plain.then(|| RunId::new(text))
}
