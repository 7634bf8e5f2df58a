//! A kernel lock, which death frees at once, on a file that says which run had it last.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;

/// No id of a run is longer.
const LONGEST_ID: u64 = 256;

/// The lock, until it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct NamedLock {
    file: File,
}

/// Who else may have it at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// Nobody.
    Alone,
    /// Whoever shares it, too.
    WithOthers,
}

/// What came of trying.
#[derive(Debug)]
pub(crate) enum LockAttempt {
    /// It is ours.
    Taken(NamedLock),
    /// Another has it; whoever has just taken it may not have said so yet.
    Held(Option<RunId>),
}

impl NamedLock {
    /// Takes it, unless another has it. The folder of the file is there.
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

    /// The run that had it last.
    pub(crate) fn last(&mut self) -> Option<RunId> {
        self.file.rewind().ok()?;
        named(&self.file)
    }

    /// The run that had the lock of a file last, or has it now.
    pub(crate) fn last_of(path: &Path) -> Option<RunId> {
        named(&File::open(path).ok()?)
    }

    /// Says that a run has it now.
    pub(crate) fn name(&mut self, run: &RunId) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(run.as_str().as_bytes())
    }
}

impl Drop for NamedLock {
    fn drop(&mut self) {
        // Said aloud, because a child that is just being started still shares the open file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn named(file: &File) -> Option<RunId> {
    let mut text = String::new();
    file.take(LONGEST_ID).read_to_string(&mut text).ok()?;
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    is_plain.then(|| RunId::new(text))
}
