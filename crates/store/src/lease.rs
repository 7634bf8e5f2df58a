//! Who owns a run: a kernel lock, which death frees at once, and an epoch, which fences off
//! whoever owned it before.
//!
//! Comparing the epoch is part of each append (`log.rs`).

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;

use crate::fault::{Fault, ReadError};
use crate::log::unsigned;
use crate::presence::try_lock;
use crate::projection;
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// The lock in the folder of a run.
const LOCK: &str = "owner.lock";
/// How long to try: whoever only looks holds the lock for an instant.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// Ownership of a run. Dropping it, or dying, gives it back.
#[derive(Debug)]
pub struct Lease {
    lock: File,
    epoch: u64,
}

impl Lease {
    pub(crate) fn new(lock: File, epoch: u64) -> Lease {
        Lease { lock, epoch }
    }

    /// The number of this ownership, to be given with each append.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Said aloud, because a child that is just being started still shares the open file.
        let _ = flock(&self.lock, FlockOperation::Unlock);
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
    Fault(#[from] Fault),
}

refusal!(LeaseError);

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
        let lock = lock(&self.run_dir(run), run)?;
        let epoch = self
            .writer()
            .wait(Durability::Normal, move |conn| claim(conn, run_no).map_err(LeaseError::from))?;
        Ok(Lease::new(lock, epoch))
    }

    /// The living process that owns the run, where it can be read.
    pub fn owner(&self, run: &RunId) -> Option<u32> {
        owner_of(&self.run_dir(run))
    }

    /// Whether a living process owns the run.
    pub fn is_owned(&self, run: &RunId) -> bool {
        is_locked(&self.run_dir(run).join(LOCK))
    }
}

/// The living process that owns the run of a folder, where it can be read. The database is not asked.
pub fn owner_of(run_dir: &Path) -> Option<u32> {
    let path = run_dir.join(LOCK);
    is_locked(&path).then(|| read_pid(&path)).flatten()
}

fn is_locked(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    match try_lock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(free) => !free,
        Err(_) => false,
    }
}

/// Takes the kernel lock of a run and writes into it who has it.
pub(crate) fn lock(dir: &Path, run: &RunId) -> Result<File, LeaseError> {
    let path = dir.join(LOCK);
    take_lock(dir, &path).map_err(|error| match error {
        Refused::Held => LeaseError::Held { run: run.clone(), pid: read_pid(&path) },
        Refused::Io(source) => LeaseError::Lock { path, source },
    })
}

enum Refused {
    Held,
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::Io(error)
    }
}

fn take_lock(dir: &Path, path: &Path) -> Result<File, Refused> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let deadline = Instant::now() + PATIENCE;
    while !try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
        if Instant::now() >= deadline {
            return Err(Refused::Held);
        }
        thread::sleep(PAUSE);
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

fn read_pid(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
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
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
