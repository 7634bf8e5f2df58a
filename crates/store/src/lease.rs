//! Who owns a run: a kernel lock (`folders.rs`), which death frees at once, and an epoch, which fences off
//! whoever owned it before.
//!
//! Comparing the epoch is part of each append (`log.rs`).

use std::io;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::id::RunId;

use crate::error::{ReadError, StoreError};
use crate::folders::{RunLock, RunLockError};
use crate::log::unsigned;
use crate::projection;
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// Ownership of a run. Dropping it, or dying, gives it back.
#[derive(Debug)]
pub struct Lease {
    _lock: RunLock,
    epoch: u64,
}

impl Lease {
    pub(crate) fn new(lock: RunLock, epoch: u64) -> Lease {
        Lease { _lock: lock, epoch }
    }

    /// The number of this ownership, to be given with each append.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Why a run could not be owned.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Someone else owns it.
    #[error("run `{run}` is owned by {}", name_owner(*pid))]
    Held {
        /// The run.
        run: RunId,
        /// The owner, if it could be read.
        pid: Option<u32>,
    },
    /// There is no such run.
    #[error("no run is named `{run}`")]
    UnknownRun {
        /// The name given.
        run: RunId,
    },
    /// The lock file could not be made or locked.
    #[error("the lock {} cannot be taken", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The database itself.
    #[error(transparent)]
    Fault(#[from] StoreError),
}

refusal!(LeaseError);

impl From<RunLockError> for LeaseError {
    fn from(error: RunLockError) -> LeaseError {
        match error {
            RunLockError::Held { run, pid } => LeaseError::Held { run, pid },
            RunLockError::Io { path, source } => LeaseError::Lock { path, source },
        }
    }
}

fn name_owner(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl Store {
    /// Makes this process the owner of a run and fences off every owner before it.
    pub fn acquire(&self, run: &RunId) -> Result<Lease, LeaseError> {
        // Asked first, so that a mistyped name leaves no folder behind.
        let known = self.read(|conn| Ok(projection::number(conn, run)?));
        let run_no = match known {
            Ok(Some(run_no)) => run_no,
            Ok(None) | Err(ReadError::UnknownRun { .. }) => {
                return Err(LeaseError::UnknownRun { run: run.clone() });
            }
            Err(ReadError::Fault(fault)) => return Err(fault.into()),
        };
        let lock = self.folders().lock(run)?;
        let epoch = self
            .writer()
            .wait(Durability::Normal, move |conn| claim(conn, run_no).map_err(LeaseError::from))?;
        Ok(Lease::new(lock, epoch))
    }
}

/// The epoch of the last owner; 0 if there never was one.
pub(crate) fn epoch(conn: &Connection, run_no: i64) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT epoch FROM lease WHERE run_no = ?1")?
        .query_row([run_no], |row| row.get(0).map(unsigned))
        .optional()
        .map(Option::unwrap_or_default)
}

/// Begins the next epoch of a run, in one statement.
pub(crate) fn claim(conn: &Connection, run_no: i64) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "INSERT INTO lease (run_no, owner, machine, epoch) VALUES (?1, ?2, ?3, 1)
         ON CONFLICT (run_no) DO UPDATE
             SET owner = excluded.owner, machine = excluded.machine, epoch = epoch + 1
         RETURNING epoch",
    )?
    .query_row(params![run_no, format!("pid {}", std::process::id()), machine()], |row| {
        row.get(0).map(unsigned)
    })
}

fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
