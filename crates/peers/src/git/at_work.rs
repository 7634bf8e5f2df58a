//! Which git processes are at work in a worktree, and the locks that dead ones left behind.
//!
//! git goes on when Windlass is killed, and leaves its `*.lock` files when it is killed itself.
//! So whoever takes up interrupted work waits for the one and clears away the other.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::door::{git, line};
use super::worktree::{Worktree, WorktreeError};

const WAIT: Duration = Duration::from_secs(20);
const A_MOMENT: Duration = Duration::from_millis(300);
const NAP: Duration = Duration::from_millis(10);

/// Waits until no git works in a folder, nor was told to make it.
pub(super) fn wait_until_idle(path: &Path) -> Result<(), WorktreeError> {
    let until = Instant::now() + WAIT;
    while let Some(pid) = git_at_work(path) {
        if Instant::now() >= until {
            return Err(WorktreeError::AtWork { path: path.to_owned(), pid });
        }
        std::thread::sleep(NAP);
    }
    Ok(())
}

/// Waits until no git works there, then deletes the locks of dead ones: of the worktree's own
/// index and HEAD, and of its branch. Those of the whole repository may be anybody's.
pub(super) fn clear_locks(worktree: &Worktree) -> Result<(), WorktreeError> {
    let branch = worktree.common.join("refs/heads").join(format!("{}.lock", worktree.branch));
    let entries = fs::read_dir(&worktree.git_dir).into_iter().flatten().flatten();
    let own = entries.map(|entry| entry.path()).filter(|path| path.extension() == Some("lock".as_ref()));
    clear(own.chain([branch]).collect(), &worktree.path)
}

/// The same for a branch that was being moved, with its checkout or, without one, its git folder.
pub(super) fn clear_locks_of_move(common: &Path, branch: &str, path: &Path) -> Result<(), WorktreeError> {
    wait_until_idle(path)?;
    clear(locks_of_move(common, branch, path)?, path)
}

/// Whether anybody has locked what a move needs.
pub(super) fn is_locked(common: &Path, branch: &str, path: &Path) -> Result<bool, WorktreeError> {
    Ok(locks_of_move(common, branch, path)?.iter().any(|lock| lock.symlink_metadata().is_ok()))
}

fn locks_of_move(common: &Path, branch: &str, path: &Path) -> Result<Vec<PathBuf>, WorktreeError> {
    let git_dir = PathBuf::from(line(&git(path, &["rev-parse", "--absolute-git-dir"])?));
    let own = ["index.lock", "HEAD.lock", "ORIG_HEAD.lock"].map(|name| git_dir.join(name));
    let branch = common.join("refs/heads").join(format!("{branch}.lock"));
    Ok(own.into_iter().chain([branch]).collect())
}

fn clear(mut locks: Vec<PathBuf>, path: &Path) -> Result<(), WorktreeError> {
    locks.retain(|lock| lock.symlink_metadata().is_ok());
    if locks.is_empty() {
        return Ok(());
    }
    wait_until_idle(path)?;
    // A branch may be moved from anywhere, and then its lock is gone in a moment.
    let until = Instant::now() + A_MOMENT;
    let is_branch = |lock: &PathBuf| lock.components().any(|part| part.as_os_str() == "refs");
    while locks.iter().any(|lock| is_branch(lock) && lock.exists()) && Instant::now() < until {
        std::thread::sleep(NAP);
    }
    for path in locks {
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(WorktreeError::Io { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

fn git_at_work(path: &Path) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid| is_git(*pid) && works_in(*pid, path))
}

fn is_git(pid: u32) -> bool {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    name == b"git\n" || name.starts_with(b"git-")
}

fn works_in(pid: u32, path: &Path) -> bool {
    if fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(path)) {
        return true;
    }
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|byte| *byte == 0).any(|argument| argument == path.as_os_str().as_bytes())
}
