//! The lock beside the database: every process that uses it holds a share, a migration all of it.
//!
//! When to take which is left to `open.rs`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::os;

/// An open `windlass.db.lock`. Closing it gives the lock back.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    path: PathBuf,
}

impl Presence {
    /// Opens the lock file without taking the lock.
    pub(crate) fn open(dir: &Path) -> io::Result<Presence> {
        let path = dir.join("windlass.db.lock");
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        Ok(Presence { file, path })
    }

    /// Takes a share; one held exclusively becomes a share.
    pub(crate) fn try_share(&self) -> io::Result<bool> {
        try_lock(&self.file, FlockOperation::NonBlockingLockShared)
    }

    /// Takes all of it. Give back a share first: the kernel does not turn one into the other.
    pub(crate) fn try_own(&self) -> io::Result<bool> {
        try_lock(&self.file, FlockOperation::NonBlockingLockExclusive)
    }

    /// Gives back what is held.
    pub(crate) fn release(&self) -> io::Result<()> {
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }

    /// The other processes that have the database in use, as far as they can be seen.
    pub(crate) fn others(&self) -> Vec<u32> {
        self.path.canonicalize().map(|path| os::others_with(&path)).unwrap_or_default()
    }
}

/// Takes a kernel lock, or says that someone else holds it.
pub(crate) fn try_lock(file: &File, how: FlockOperation) -> io::Result<bool> {
    loop {
        match flock(file, how) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
