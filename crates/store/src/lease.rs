//! Ownership of a run: a kernel lock (`folders.rs`), which the kernel frees when the owner dies, and an
//! epoch, which fences off former owners.
//!
//! Each append compares the epoch (`log.rs`).

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

/// Ownership of a run. It ends when the lease is dropped or the process dies.
#[derive(Debug)]
pub struct Lease {
    _lock: RunLock,
    epoch: u64,
}

impl Lease {
    pub(crate) fn new(lock: RunLock, epoch: u64) -> Lease {
        Lease { _lock: lock, epoch }
    }

    /// Returns the number of this ownership. Each append must carry it.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// An error from acquiring a run.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("run {run} is already running, in {}", name_owner(*pid))]
    Held {
        run: RunId,
        /// The process id of the owner, if its lock file was readable.
        pid: Option<u32>,
    },
    #[error("no run is named `{run}`")]
    UnknownRun { run: RunId },
    /// The lock file could not be created or locked.
    #[error("cannot take the lock {}", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// Makes this process the owner of a run and fences off every former owner.
    pub fn acquire(&self, run: &RunId) -> Result<Lease, LeaseError> {
        // Checked before locking, so that a mistyped name leaves no folder behind.
        let known = self.read(|conn| Ok(projection::number(conn, run)?));
        let run_no = match known {
            Ok(Some(run_no)) => run_no,
            Ok(None) | Err(ReadError::UnknownRun { .. }) => {
                return Err(LeaseError::UnknownRun { run: run.clone() });
            }
            Err(ReadError::Store(fault)) => return Err(fault.into()),
        };
        let lock = self.folders().lock(run)?;
        let epoch = self
            .writer()
            .wait(Durability::Normal, move |conn| claim(conn, run_no).map_err(LeaseError::from))?;
        Ok(Lease::new(lock, epoch))
    }
}

/// Returns the epoch of the last owner, or 0 if the run never had one.
pub(crate) fn epoch(conn: &Connection, run_no: i64) -> rusqlite::Result<u64> {
    conn.prepare_cached("SELECT epoch FROM lease WHERE run_no = ?1")?
        .query_row([run_no], |row| row.get(0).map(unsigned))
        .optional()
        .map(Option::unwrap_or_default)
}

/// Starts the next epoch of a run, in one statement.
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
