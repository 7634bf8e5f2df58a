//! The folders of runs, and the kernel lock in each that says who owns the run.
//!
//! Knows no database: whatever keeps the log, a run has a folder on the machine that it runs on, and at most one
//! living owner there. The epoch that fences off former owners is `lease.rs`.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;

use crate::presence::try_lock;

/// The lock in the folder of a run.
const LOCK: &str = "owner.lock";
/// How long to try: whoever only looks holds the lock for an instant.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// The folders of all runs of a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolders {
    runs: PathBuf,
}

/// The kernel lock of a run. Dropping it, or dying, gives it back.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Said aloud, because a child that is just being started still shares the open file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Why the lock of a run was not given.
#[derive(Debug, thiserror::Error)]
pub enum RunLockError {
    /// Someone else has it.
    #[error("another process holds the lock of run `{run}`")]
    Held {
        /// The run.
        run: RunId,
        /// The owner, if it could be read.
        pid: Option<u32>,
    },
    /// It could not be made or locked.
    #[error("the lock {} cannot be taken", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RunFolders {
    /// Names the folders below a state folder. Makes nothing.
    pub fn below(state: &Path) -> RunFolders {
        RunFolders { runs: state.join("runs") }
    }

    /// The folder of all those folders.
    pub fn all(&self) -> &Path {
        &self.runs
    }

    /// The folder of a run. Making it is left to the caller, except that a lock does.
    ///
    /// Whatever the id says, the folder lies directly below `runs`.
    pub fn of(&self, run: &RunId) -> PathBuf {
        self.runs.join(folder_name(run))
    }

    /// Whether a living process owns the run.
    pub fn is_owned(&self, run: &RunId) -> bool {
        is_locked(&self.of(run).join(LOCK))
    }

    /// Returns the living process that owns the run, where it can be read.
    pub fn owner(&self, run: &RunId) -> Option<u32> {
        owner_of(&self.of(run))
    }

    /// Takes the lock of a run and writes into it who has it.
    pub fn lock(&self, run: &RunId) -> Result<RunLock, RunLockError> {
        let dir = self.of(run);
        let path = dir.join(LOCK);
        take_lock(&dir, &path).map_err(|error| match error {
            LockRefusal::Held => RunLockError::Held { run: run.clone(), pid: read_pid(&path) },
            LockRefusal::Io(source) => RunLockError::Io { path, source },
        })
    }
}

/// Returns the living process that owns the run of a folder, where it can be read.
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

enum LockRefusal {
    Held,
    Io(io::Error),
}

impl From<io::Error> for LockRefusal {
    fn from(error: io::Error) -> LockRefusal {
        LockRefusal::Io(error)
    }
}

fn take_lock(dir: &Path, path: &Path) -> Result<RunLock, LockRefusal> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let deadline = Instant::now() + PATIENCE;
    while !try_lock(&file, FlockOperation::NonBlockingLockExclusive)? {
        if Instant::now() >= deadline {
            return Err(LockRefusal::Held);
        }
        thread::sleep(PAUSE);
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(RunLock { file })
}

fn read_pid(path: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(path).ok()?.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Whether the id can be the name of a folder as it is.
pub(crate) fn is_plain(run: &RunId) -> bool {
    !run.as_str().is_empty() && run.as_str().len() <= 128 && folder_name(run) == run.as_str()
}

fn folder_name(run: &RunId) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = run.as_str().chars().map(|c| if plain(c) { c } else { '_' }).collect();
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if name.is_empty() => "_".to_owned(),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_leads_out_of_the_folder_of_runs() {
        let folders = RunFolders::below(Path::new("/state"));
        for id in ["..", ".", "", "../x", "/etc", "a/b", "a\0b", ".hidden"] {
            let run = RunId::new(id);
            assert_eq!(folders.of(&run).parent(), Some(Path::new("/state/runs")), "{id:?}");
            assert!(!is_plain(&run), "{id:?}");
        }
        assert_eq!(folders.of(&RunId::new("work-12-a1")), Path::new("/state/runs/work-12-a1"));
        assert!(is_plain(&RunId::new("work-12-a1")));
    }

    #[test]
    fn a_run_has_one_owner_without_any_database() {
        let state = tempfile::tempdir().unwrap();
        let folders = RunFolders::below(state.path());
        let run = RunId::new("a");
        assert!(!folders.is_owned(&run) && folders.owner(&run).is_none());
        let lock = folders.lock(&run).unwrap();
        let me = std::process::id();
        assert!(matches!(folders.lock(&run), Err(RunLockError::Held { pid: Some(pid), .. }) if pid == me));
        assert_eq!((folders.is_owned(&run), folders.owner(&run)), (true, Some(me)));
        drop(lock);
        assert!(!folders.is_owned(&run) && folders.lock(&run).is_ok());
        let entries = std::fs::read_dir(state.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(entries.collect::<Vec<_>>(), ["runs"]);
    }
}
