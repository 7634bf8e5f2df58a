//! The lock beside the database. Every process that uses the database holds it shared; a migration holds
//! it exclusively.
//!
//! `open.rs` decides when to take which.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::os;

/// An open `windlass.db.lock`. Closing the file releases the lock.
#[derive(Debug)]
pub(crate) struct Presence {
    file: File,
    path: PathBuf,
}

impl Presence {
    /// Opens the lock file without locking it.
    pub(crate) fn open(dir: &Path) -> io::Result<Presence> {
        let path = dir.join("windlass.db.lock");
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        Ok(Presence { file, path })
    }

    /// Takes a shared lock, or turns an exclusive lock into a shared one.
    pub(crate) fn try_share(&self) -> io::Result<bool> {
        try_lock(&self.file, FlockOperation::NonBlockingLockShared)
    }

    /// Takes the exclusive lock. Release a shared lock first: the kernel does not convert it.
    pub(crate) fn try_own(&self) -> io::Result<bool> {
        try_lock(&self.file, FlockOperation::NonBlockingLockExclusive)
    }

    pub(crate) fn release(&self) -> io::Result<()> {
        Ok(flock(&self.file, FlockOperation::Unlock)?)
    }

    /// Returns the other visible processes that use the database.
    pub(crate) fn others(&self) -> Vec<u32> {
        self.path.canonicalize().map(|path| os::others_with(&path)).unwrap_or_default()
    }
}

/// Takes a kernel lock. Returns false if another process holds it.
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
