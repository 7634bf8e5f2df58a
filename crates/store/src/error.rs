//! Errors of the database itself, sorted by what a person can do about them.
//!
//! Refusals of a single request (stale, fenced, held) are defined in the file of that request. Errors
//! while opening are in `open.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;
use windlass_core::id::RunId;

use crate::witness::LostFile;

/// A database failure. The store kept nothing of the request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("no space is left on the disk of the state folder")]
    DiskFull,
    #[error("the database is damaged: {detail}")]
    Corrupt {
        /// SQLite's message.
        detail: String,
    },
    #[error("another process kept the database locked for too long")]
    Busy,
    #[error("the database cannot be written: {detail}")]
    ReadOnly {
        /// SQLite's message.
        detail: String,
    },
    /// A file of the database is no longer the one that was opened. Nobody reads what this process
    /// writes to it.
    #[error("somebody {how} {} while it was in use", path.display())]
    Lost { path: PathBuf, how: LostFile },
    /// The store was closed, or its writer died.
    #[error("the store is closed")]
    Closed,
    /// Any other error that SQLite reports.
    #[error("the database refused the request")]
    Other(#[source] Arc<rusqlite::Error>),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Corrupt { detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::ReadOnly { detail }
            }
            _ => StoreError::Other(Arc::new(error)),
        }
    }
}

impl StoreError {
    /// Recognises a full disk where SQLite only saw an I/O error, as it does when the shared memory file
    /// cannot grow.
    pub(crate) fn on_disk_of(self, dir: &Path) -> StoreError {
        match self {
            StoreError::Other(error) if is_io(&error) && has_no_space(dir) => StoreError::DiskFull,
            fault => fault,
        }
    }
}

fn is_io(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Decides whether the disk has less space than one shared-memory region of SQLite needs.
fn has_no_space(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < 32 * 1024)
}

/// An error from reading the store.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("no run is named `{run}`")]
    UnknownRun { run: RunId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> ReadError {
        ReadError::Store(error.into())
    }
}
