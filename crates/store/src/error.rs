//! What can go wrong with the database itself, sorted by what a person can do about it.
//!
//! Refusals of one request (stale, fenced, held) are in the file of that request; what can go
//! wrong while opening is in `open.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;
use windlass_core::id::RunId;

use crate::witness::LostFile;

/// The database could not do what it was asked. Nothing of the request was kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// No room for the change.
    #[error("no space is left where the state folder is")]
    DiskFull,
    /// The file is damaged.
    #[error("the database is damaged: {detail}")]
    Corrupt {
        /// In SQLite's words.
        detail: String,
    },
    /// Another process wrote for too long.
    #[error("another process kept the database locked for too long")]
    Busy,
    /// The file or its folder may not be written.
    #[error("the database may not be written: {detail}")]
    ReadOnly {
        /// In SQLite's words.
        detail: String,
    },
    /// A file of the database is not the one that was opened. Nobody reads what is written to that one.
    #[error("somebody {how} {} while it was in use", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
        /// What became of it.
        how: LostFile,
    },
    /// The writer is gone, because the store was closed or its thread died.
    #[error("the store is closed")]
    Closed,
    /// Anything else SQLite reports.
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
    /// Names a full disk where SQLite only saw an I/O error: it does so when the shared memory
    /// file cannot grow.
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

/// Less than one shared-memory region of SQLite is left.
fn has_no_space(dir: &Path) -> bool {
    rustix::fs::statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < 32 * 1024)
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such run.
    #[error("no run is named `{run}`")]
    UnknownRun {
        /// The name asked for.
        run: RunId,
    },
    /// The database itself.
    #[error(transparent)]
    Fault(#[from] StoreError),
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> ReadError {
        ReadError::Fault(error.into())
    }
}
