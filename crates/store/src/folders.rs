//! The folders of runs, and the kernel lock in each that marks the owner.
//!
//! Needs no database: a run always has a folder on the machine it runs on, and at most one live owner
//! there. The epoch that fences off former owners is in `lease.rs`.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use windlass_core::id::RunId;

use crate::presence::try_lock;

const LOCK: &str = "owner.lock";
/// Time to retry: a process that only checks the lock holds it for an instant.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// The folders of all runs in a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolders {
    runs: PathBuf,
}

/// The kernel lock of a run. It is released when dropped or when the process dies.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Unlocked explicitly, because a child process that is just starting still shares the open file.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// An error from locking a run.
#[derive(Debug, thiserror::Error)]
pub enum RunLockError {
    #[error("another process holds the lock of run `{run}`")]
    Held {
        run: RunId,
        /// The process id of the owner, if the lock file was readable.
        pid: Option<u32>,
    },
    /// The lock file could not be created or locked.
    #[error("cannot take the lock {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl RunFolders {
    /// Locates the folders below a state folder. Creates nothing.
    pub fn below(state: &Path) -> RunFolders {
        RunFolders { runs: state.join("runs") }
    }

    /// Returns the folder that contains the folders of all runs.
    pub fn all(&self) -> &Path {
        &self.runs
    }

    /// Returns the folder of a run. Only [`lock`](Self::lock) creates it; otherwise the caller does.
    ///
    /// The folder is always directly below `runs`, whatever the id contains.
    pub fn of(&self, run: &RunId) -> PathBuf {
        self.runs.join(folder_name(run))
    }

    /// Decides whether a live process owns the run.
    pub fn is_owned(&self, run: &RunId) -> bool {
        is_locked(&self.of(run).join(LOCK))
    }

    /// Returns the process id of the run's live owner, if it is readable.
    pub fn owner(&self, run: &RunId) -> Option<u32> {
        owner_of(&self.of(run))
    }

    /// Locks a run and writes this process's id into the lock file.
    pub fn lock(&self, run: &RunId) -> Result<RunLock, RunLockError> {
        let dir = self.of(run);
        let path = dir.join(LOCK);
        take_lock(&dir, &path).map_err(|error| match error {
            LockRefusal::Held => RunLockError::Held { run: run.clone(), pid: read_pid(&path) },
            LockRefusal::Io(source) => RunLockError::Io { path, source },
        })
    }
}

/// Returns the process id of the live owner of the run in this folder, if it is readable.
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

/// Decides whether the id can be used as a folder name unchanged.
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
