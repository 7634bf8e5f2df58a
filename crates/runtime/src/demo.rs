//! Makes the folder of a demo, a throw-away repository that needs only git, and removes the folders of killed
//! demos.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use windlass_core::launch::files::LOCK;
use windlass_peers::git::{GitError, git};

/// The start of the name of a demo folder.
pub const PREFIX: &str = "windlass-demo-";
/// The start of the name of a folder in which the conformance suite plays. It is short, because the paths of
/// sockets have a small limit.
pub const SUITE_PREFIX: &str = "wlsuite-";
/// Marks a demo folder that is removed with its demo. The file is locked while the demo runs.
const MARKER: &str = "playing.lock";
/// The maximum depth at which a demo folder contains host locks.
const DEPTH: u32 = 8;

/// Makes a repository with one commit. Sets an identity in the repository, not in the user's settings.
pub fn make_repository(dir: &Path) -> Result<(), GitError> {
    let readme = dir.join("README.md");
    if std::fs::write(&readme, "# A demonstration\n").is_err() {
        // The error from git explains best what is wrong with the folder.
        git(dir, &["init", "--quiet"])?;
    }
    git(dir, &["init", "--quiet", "--initial-branch=main"])?;
    git(dir, &["config", "user.name", "Windlass demo"])?;
    git(dir, &["config", "user.email", "demo@windlass.invalid"])?;
    git(dir, &["add", "README.md"])?;
    git(dir, &["commit", "--quiet", "--message", "Begin"])?;
    Ok(())
}

/// A guard for a running demo.
#[derive(Debug)]
pub struct RunningDemo {
    _lock: File,
}

/// Marks a folder as one that is removed with its demo.
pub fn mark(stage: &Path) -> io::Result<RunningDemo> {
    let draft = stage.join(format!("{MARKER}.new"));
    let lock = File::create_new(&draft)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    // Locked before it gets its name, so that no process finds it unlocked while the demo runs.
    fs::rename(&draft, stage.join(MARKER))?;
    Ok(RunningDemo { _lock: lock })
}

/// Removes the folders of this user's killed demos and suites. Folders that cannot be removed stay until the next call.
pub fn remove_stale(temp: &Path) {
    let entries = fs::read_dir(temp).into_iter().flatten().flatten();
    let is_named = |name: &str| [PREFIX, SUITE_PREFIX].iter().any(|prefix| name.starts_with(prefix));
    let named = entries.filter(|entry| is_named(&entry.file_name().to_string_lossy()));
    for stage in named.map(|entry| entry.path()) {
        if let Some(_lock) = take_stale(&stage) {
            let _ = fs::remove_dir_all(&stage);
        }
    }
}

/// Returns the lock of a demo folder that no demo uses.
fn take_stale(stage: &Path) -> Option<File> {
    let is_ours = |meta: &Metadata| meta.uid() == rustix::process::geteuid().as_raw();
    fs::symlink_metadata(stage).ok().filter(|meta| meta.is_dir() && is_ours(meta))?;
    let marker = stage.join(MARKER);
    fs::symlink_metadata(&marker).ok().filter(|meta| meta.is_file() && is_ours(meta))?;
    let lock = take(&marker)?;
    // An agent may outlive its demo for a while. Then a later call removes the folder.
    let hosts = host_locks(stage, DEPTH);
    hosts.iter().all(|host| take(host).is_some()).then_some(lock)
}

/// Returns the lock if nobody holds it.
fn take(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

fn host_locks(dir: &Path, depth: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            found.extend(host_locks(&entry.path(), depth - 1));
        } else if entry.file_name() == LOCK {
            found.push(entry.path());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stage with something in it, and whether it is there after a sweep.
    fn stage(temp: &Path, name: &str) -> PathBuf {
        let dir = temp.join(name);
        fs::create_dir_all(dir.join("state/runs/r/e")).unwrap();
        fs::write(dir.join("state/runs/r/e").join(LOCK), "1").unwrap();
        dir
    }

    #[test]
    fn only_a_stage_whose_demo_is_dead_is_removed() {
        let temp = tempfile::tempdir().unwrap();
        let dead = stage(temp.path(), "windlass-demo-1-0");
        drop(mark(&dead).unwrap());
        let alive = stage(temp.path(), "windlass-demo-2-0");
        let playing = mark(&alive).unwrap();
        let kept = stage(temp.path(), "windlass-demo-3-0");
        let other = stage(temp.path(), "other");
        drop(mark(&other).unwrap());
        remove_stale(temp.path());
        assert_eq!([dead.exists(), alive.exists(), kept.exists(), other.exists()], [false, true, true, true]);
        drop(playing);
        remove_stale(temp.path());
        assert!(!alive.exists());
    }

    #[test]
    fn a_stage_on_which_an_agent_still_works_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = stage(temp.path(), "windlass-demo-1-0");
        drop(mark(&dir).unwrap());
        let host = take(&dir.join("state/runs/r/e").join(LOCK)).unwrap();
        remove_stale(temp.path());
        assert!(dir.exists());
        drop(host);
        remove_stale(temp.path());
        assert!(!dir.exists());
    }

    #[test]
    fn a_link_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let target = stage(temp.path(), "elsewhere");
        drop(mark(&target).unwrap());
        std::os::unix::fs::symlink(&target, temp.path().join("windlass-demo-1-0")).unwrap();
        let odd = stage(temp.path(), "windlass-demo-2-0");
        std::os::unix::fs::symlink(target.join(MARKER), odd.join(MARKER)).unwrap();
        remove_stale(temp.path());
        assert!(target.exists() && odd.exists());
    }
}
