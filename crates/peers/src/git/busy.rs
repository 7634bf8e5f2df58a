//! Finds git processes that run in a worktree, and the locks that dead ones left behind.
//!
//! git keeps running when Windlass is killed, and leaves its `*.lock` files when git itself is killed.
//! So code that resumes interrupted work waits for the processes and deletes the locks.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::command::{GitError, git, line};
use super::repository::linked;
use super::worktree::{Worktree, WorktreeError};
use crate::os;

const WAIT: Duration = Duration::from_secs(20);
const A_MOMENT: Duration = Duration::from_millis(300);
const NAP: Duration = Duration::from_millis(10);

/// Waits until no git process works in a folder or is about to create it.
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

/// Waits until no git process works in the worktree, then deletes the locks of dead ones: those of its
/// own index and HEAD, and that of its branch. Locks of the whole repository may belong to anybody.
pub(super) fn clear_locks(worktree: &Worktree) -> Result<(), WorktreeError> {
    let branch = worktree.common.join("refs/heads").join(format!("{}.lock", worktree.branch));
    let entries = fs::read_dir(&worktree.git_dir).into_iter().flatten().flatten();
    let own = entries.map(|entry| entry.path()).filter(|path| path.extension() == Some("lock".as_ref()));
    clear(own.chain([branch]).collect(), &worktree.path)
}

/// Clears locks like [`clear_locks`] for a branch that was being moved. `path` is its checkout, or its
/// git folder if it has none.
pub(super) fn clear_locks_of_move(common: &Path, branch: &str, path: &Path) -> Result<(), WorktreeError> {
    wait_until_idle(path)?;
    clear(locks_of_move(common, branch, path)?, path)
}

/// Decides whether a lock blocks a move.
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
    // A branch can be moved from anywhere, and then its lock disappears soon.
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

/// Time to wait for a lock that is in use.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time to wait for a lock that all worktrees share. A git process that only waits for the lock gives up
/// before this, unlike its holder.
const SHARED_PATIENCE: Duration = Duration::from_secs(20);
/// The tolerated clock difference.
const SKEW: Duration = Duration::from_secs(2);
/// The maximum depth and number of refs that are searched for locks.
const DEPTH: usize = 16;
const MOST: usize = 100_000;

/// Returns git's locks in a repository that would make a commit, a rebase or a branch move fail there.
pub fn locks(dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    let (_, git_dir, common) = folders(dir)?;
    Ok(locks_in(&git_dir, &common))
}

/// Deletes git's locks in a repository that a dead process left: created by this user after `since`,
/// open in no process, and with no git process running anywhere in the repository. Waits for locks in
/// use. Returns the remaining locks.
///
/// git usually closes a lock before it deletes it, so checking for open files is not enough.
pub fn clear_dead_locks(dir: &Path, since: SystemTime) -> Result<Vec<PathBuf>, GitError> {
    let (top, git_dir, common) = folders(dir)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let found = locks_in(&git_dir, &common);
        if found.is_empty() {
            return Ok(found);
        }
        let (ours, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|lock| is_since(lock, since));
        let is_own = |lock: &PathBuf| git_dir != common && lock.starts_with(&git_dir);
        let places = [vec![top.clone(), common.clone()], working_trees(&common)].concat();
        let left: Vec<PathBuf> = ours
            .into_iter()
            .filter(|lock| {
                // Only a process in the worktree locks the worktree's own files.
                let places = if is_own(lock) { std::slice::from_ref(&top) } else { &places };
                is_in_use(lock, places)
                    || fs::remove_file(lock).is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
            })
            .collect();
        if left.is_empty() || Instant::now() >= until {
            return Ok([left, others].concat());
        }
        std::thread::sleep(NAP);
    }
}

/// Clears `packed-refs.lock`, which every branch change in the repository needs. A lock older than the
/// worktrees may belong to anybody and stays. `folder` is the current path of the worktree.
pub(super) fn clear_shared_lock(worktree: &Worktree, folder: &Path) -> Result<(), WorktreeError> {
    let lock = worktree.common.join("packed-refs.lock");
    let begun = began(folder);
    let places = [vec![worktree.common.clone()], working_trees(&worktree.common)].concat();
    let started = Instant::now();
    while lock.symlink_metadata().is_ok() {
        let is_ours = begun.is_some_and(|begun| is_since(&lock, begun));
        if is_ours && !is_in_use(&lock, &places) && fs::remove_file(&lock).is_ok() {
            return Ok(());
        }
        if started.elapsed() >= if is_ours { SHARED_PATIENCE } else { PATIENCE } {
            return Err(WorktreeError::Locked { path: lock });
        }
        std::thread::sleep(NAP);
    }
    Ok(())
}

/// Returns when work on a worktree and its siblings started. A lock that any of them left is younger.
fn began(folder: &Path) -> Option<SystemTime> {
    let made = fs::metadata(folder.join(".git")).and_then(|meta| meta.modified()).ok();
    let beside = folder.parent().and_then(|beside| fs::metadata(beside).ok()?.created().ok());
    made.into_iter().chain(beside).min()
}

/// Decides whether a live process may hold a lock: it has the file open, or is a git process in one of
/// these folders.
fn is_in_use(lock: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| git_at_work(place).is_some()) || is_open(lock)
}

/// Returns the top of a working tree, its git folder and the shared git folder.
fn folders(dir: &Path) -> Result<(PathBuf, PathBuf, PathBuf), GitError> {
    let asked = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-cdup"];
    let said = line(&git(dir, &asked)?);
    let mut said = said.split('\n');
    let mut next = || PathBuf::from(said.next().unwrap_or_default());
    let (git_dir, common, up) = (next(), next(), next());
    let top = dir.join(up);
    Ok((top.canonicalize().unwrap_or(top), git_dir, common))
}

fn working_trees(common: &Path) -> Vec<PathBuf> {
    let main = common.parent().map(Path::to_owned);
    linked(common).into_iter().map(|(_, path)| path).chain(main).collect()
}

fn locks_in(git_dir: &Path, common: &Path) -> Vec<PathBuf> {
    let mut found = locks_below(git_dir, 0);
    found.retain(|lock| lock.file_name().and_then(|name| name.to_str()).is_some_and(is_gits_lock));
    if git_dir != common {
        // The other locks there belong to the main checkout.
        let shared = ["packed-refs.lock", "config.lock"].map(|name| common.join(name));
        found.extend(shared.into_iter().filter(|lock| lock.symlink_metadata().is_ok()));
        found.extend(locks_below(&git_dir.join("refs"), DEPTH));
    }
    found.extend(locks_below(&common.join("refs"), DEPTH));
    found.extend(locks_below(&common.join("reftable"), 0));
    found
}

/// Decides whether git made a lock. Other tools keep their own locks in the git folder.
fn is_gits_lock(name: &str) -> bool {
    const NAMES: [&str; 5] = ["config", "config.worktree", "index", "packed-refs", "shallow"];
    let Some(name) = name.strip_suffix(".lock") else { return false };
    let is_ref = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_ref || NAMES.contains(&name) || name.starts_with("next-index-")
}

fn locks_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![(folder.to_owned(), depth)];
    let mut seen = 0;
    while let Some((folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            match entry.file_type() {
                _ if seen > MOST => return found,
                Ok(kind) if kind.is_dir() && depth > 0 => waiting.push((entry.path(), depth - 1)),
                Ok(kind) if kind.is_file() && entry.path().extension() == Some("lock".as_ref()) => {
                    found.push(entry.path());
                }
                _ => {}
            }
        }
    }
    found
}

/// Decides whether this user created a lock after `since`.
fn is_since(lock: &Path, since: SystemTime) -> bool {
    let Ok(meta) = lock.symlink_metadata() else { return false };
    let Ok(made) = meta.modified() else { return false };
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    is_ours && made >= since && made <= SystemTime::now() + SKEW
}

/// Decides whether a visible process has a lock open.
fn is_open(lock: &Path) -> bool {
    os::processes().into_iter().any(|pid| os::open_files(pid).any(|at| at == lock))
}

fn git_at_work(path: &Path) -> Option<u32> {
    let found = os::processes().into_iter().find(|pid| is_git(*pid) && works_in(*pid, path));
    found.and_then(|pid| u32::try_from(pid).ok())
}

fn is_git(pid: i32) -> bool {
    let name = os::program_name(pid);
    name == b"git\n" || name.starts_with(b"git-")
}

fn works_in(pid: i32, path: &Path) -> bool {
    if os::working_folder(pid).is_some_and(|cwd| cwd.starts_with(path)) {
        return true;
    }
    let bytes = path.as_os_str().as_bytes();
    let names =
        |word: &[u8], before: &[u8]| word.strip_prefix(before).is_some_and(|at| at.starts_with(bytes));
    os::arguments(pid).split(|byte| *byte == 0).any(|word| word == bytes || names(word, b"--git-dir="))
        || os::environment(pid)
            .unwrap_or_default()
            .split(|byte| *byte == 0)
            .any(|word| names(word, b"GIT_DIR="))
}
