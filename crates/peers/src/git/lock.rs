//! Locks between processes: kernel locks on files that stay, so that a crash releases them.
//!
//! Waiting has a deadline, and the error names the holder. The callers decide what to do under a lock.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::files::checkout::drafts_in;
use crate::files::make_private_dir;

/// An error from taking a lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{holder} held the lock {path} for {waited:?}", path = path.display(), holder = named(*pid))]
    Held {
        /// The locked file.
        path: PathBuf,
        /// The process that holds it, if known.
        pid: Option<u32>,
        waited: Duration,
    },
    #[error("could not lock {path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn named(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// A lock that is held as long as this value lives.
#[derive(Debug)]
pub(super) struct RepositoryLock {
    _file: File,
}

/// A creation holds the lock for some milliseconds; fifty at once must all get it on a slow disk.
const METADATA_WAIT: Duration = Duration::from_secs(60);
const LONGEST_NAP: Duration = Duration::from_millis(10);

/// Locks git's metadata of all worktrees of a repository. Concurrent changes, and reads during a change,
/// fail in git itself.
pub(super) fn metadata(common: &Path) -> Result<RepositoryLock, LockError> {
    lock(&ours(common).join("metadata.pid"), METADATA_WAIT)
}

/// Takes the lock under which branches land on a target, one at a time.
pub(super) fn landing(common: &Path, target: &str, wait: Duration) -> Result<RepositoryLock, LockError> {
    lock(&ours(common).join(format!("land-{}.pid", file_name(target))), wait)
}

/// Returns Windlass's own folder in the git folder that all worktrees share.
pub(super) fn ours(common: &Path) -> PathBuf {
    common.join("windlass")
}

/// Returns the folder for drafts of Windlass's files in the git folder.
pub(super) fn drafts(common: &Path) -> PathBuf {
    drafts_in(&ours(common))
}

/// Encodes a branch as a file name.
pub(super) fn file_name(branch: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let name: String = branch
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    match name.get(..150) {
        Some(beginning) => format!("{beginning}%{}", super::digest(branch.as_bytes())),
        None => name,
    }
}

/// Waits for the lock on a file. The file is created if missing and never deleted.
pub(super) fn lock(path: &Path, wait: Duration) -> Result<RepositoryLock, LockError> {
    let failed = |source| LockError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        make_private_dir(folder).map_err(|e| failed(io::Error::other(e)))?;
    }
    let began = Instant::now();
    let mut nap = Duration::from_millis(1);
    loop {
        let file = open(path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            // A lock on a file that was replaced after opening is worthless.
            Ok(()) if is_still(path, &file) => {
                sign(&file).map_err(failed)?;
                return Ok(RepositoryLock { _file: file });
            }
            Ok(()) | Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            Err(e) => return Err(failed(e.into())),
        }
        let waited = began.elapsed();
        if waited >= wait {
            return Err(LockError::Held { path: path.to_owned(), pid: signed(file), waited });
        }
        std::thread::sleep(nap.min(wait.saturating_sub(waited)));
        nap = (nap * 2).min(LONGEST_NAP);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    options.open(path)
}

fn is_still(path: &Path, file: &File) -> bool {
    let (Ok(there), Ok(held)) = (fs::symlink_metadata(path), file.metadata()) else { return false };
    (there.dev(), there.ino()) == (held.dev(), held.ino())
}

fn sign(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

fn signed(file: File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(30);

    #[test]
    fn a_second_one_waits_until_its_deadline_and_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own/lock.pid");
        let held = lock(&path, SHORT).unwrap();
        match lock(&path, SHORT).unwrap_err() {
            LockError::Held { pid, waited, .. } => {
                assert_eq!(pid, Some(std::process::id()));
                assert!(waited >= SHORT);
            }
            other => panic!("{other}"),
        }
        drop(held);
        lock(&path, SHORT).unwrap();
    }

    #[test]
    fn it_is_had_as_soon_as_it_is_free() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock.pid");
        let held = lock(&path, SHORT).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| lock(&path, Duration::from_secs(20)).map(drop));
            drop(held);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock.pid");
        std::os::unix::fs::symlink(dir.path().join("victim"), &path).unwrap();
        assert!(matches!(lock(&path, SHORT), Err(LockError::Io { .. })));
        assert!(!dir.path().join("victim").exists());
    }

    #[test]
    fn every_branch_has_a_file_name_of_its_own() {
        assert_eq!(file_name("work/a-1"), "work%2Fa-1");
        assert_ne!(file_name("a.b"), file_name("a%2Eb"));
        let long = "é".repeat(120);
        assert!(file_name(&long).len() < 200);
        assert_ne!(file_name(&long), file_name(&format!("{long}x")));
    }
}
