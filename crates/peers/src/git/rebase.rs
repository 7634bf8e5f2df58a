//! Updates a branch to its target in its own worktree, and restores it if that fails.
//!
//! A record of the branch's old position is written before anything moves. A record found later means
//! that a landing was interrupted: an unfinished rebase is then undone, after the files were saved under
//! `refs/windlass/saved/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::artifacts::work;
use super::busy::{clear_locks, clear_shared_lock, wait_until_idle};
use super::command::{GitCall, GitError, git, line, names};
use super::head;
use super::lock::drafts;
use super::repository::in_the_middle;
use super::worktree::{Worktree, WorktreeError};
use crate::files::{FileMode, read_bounded, write_atomic_by};

/// The old position of a branch, and its new base.
#[derive(Debug, Serialize, Deserialize)]
struct RebaseRecord {
    v: u32,
    before: String,
    onto: String,
}

fn record_path(worktree: &Worktree) -> PathBuf {
    worktree.git_dir.join("windlass-land.json")
}

fn record(worktree: &Worktree) -> Option<RebaseRecord> {
    let bytes = read_bounded(&record_path(worktree), 4096).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|record: &RebaseRecord| record.v == 1)
}

/// The result of an update.
#[derive(Debug)]
pub(super) enum RebaseResult {
    Done,
    /// The branch and its files are unchanged.
    Conflict {
        files: Vec<String>,
    },
}

/// Moves the commits of the branch, which is at `before`, on top of the commit `onto`.
pub(super) fn update(
    worktree: &Worktree,
    before: &str,
    onto: &str,
    limit: Duration,
) -> Result<RebaseResult, WorktreeError> {
    let text = RebaseRecord { v: 1, before: before.to_owned(), onto: onto.to_owned() };
    let text = serde_json::to_vec(&text).unwrap_or_default();
    write_atomic_by(&drafts(&worktree.common), &record_path(worktree), &text, FileMode::Private)?;
    let merges =
        git(&worktree.path, &["rev-list", "--merges", "--max-count=1", &format!("{onto}..{before}")])?;
    // A rebase would drop merges, and with them their conflict resolutions.
    let done = match merges.is_empty() {
        true => rebase(&worktree.path, onto, limit),
        false => merge(&worktree.path, onto, limit),
    };
    // While another process locks the packed refs, git cannot remove its note about the last commit, and still
    // reports success.
    let verb = if merges.is_empty() { "rebase" } else { "merge" };
    let done = done.and_then(|()| match in_the_middle(&worktree.git_dir) {
        None => Ok(()),
        Some(of) => Err(GitError::Unfinished { verb, of }),
    });
    let Err(error) = done else {
        forget(worktree)?;
        return Ok(RebaseResult::Done);
    };
    let files =
        git(&worktree.path, &["diff", "--name-only", "--diff-filter=U", "-z"]).map(|said| names(&said));
    clear_locks(worktree)?;
    // While the packed refs are locked, git cannot abort its operation.
    clear_shared_lock(worktree, &worktree.path)?;
    take_back(worktree, before, onto)?;
    forget(worktree)?;
    match files {
        Ok(files) if !files.is_empty() => Ok(RebaseResult::Conflict { files }),
        _ => Err(error.into()),
    }
}

fn rebase(path: &Path, onto: &str, limit: Duration) -> Result<(), GitError> {
    // Every option is explicit, so that no user setting changes the result.
    let args = [
        "rebase",
        "--quiet",
        "--merge",
        "--no-stat",
        "--no-autostash",
        "--no-autosquash",
        "--no-update-refs",
        "--no-fork-point",
        "--no-rebase-merges",
        "--no-rerere-autoupdate",
        onto,
    ];
    GitCall::at(path).within(limit).run(&args).map(drop)
}

fn merge(path: &Path, onto: &str, limit: Duration) -> Result<(), GitError> {
    let args = ["merge", "--quiet", "--no-ff", "--no-edit", "--no-stat", "--no-autostash", "--commit", onto];
    GitCall::at(path).within(limit).run(&args).map(drop)
}

fn forget(worktree: &Worktree) -> Result<(), WorktreeError> {
    let path = record_path(worktree);
    match fs::remove_file(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(WorktreeError::Io { path, source })
        }
        _ => Ok(()),
    }
}

/// Recovers from an interrupted landing: restores the branch if git was in the middle of an operation. A
/// finished rebase stays for the next landing.
pub(super) fn recover(worktree: &Worktree) -> Result<(), WorktreeError> {
    let Some(record) = record(worktree) else { return Ok(()) };
    wait_until_idle(&worktree.path)?;
    clear_locks(worktree)?;
    clear_shared_lock(worktree, &worktree.path)?;
    if in_the_middle(&worktree.git_dir).is_some() || !is_on_branch(worktree)? {
        save(worktree)?;
        take_back(worktree, &record.before, &record.onto)?;
    }
    forget(worktree)
}

/// Decides whether HEAD is the branch and not a detached commit.
pub(super) fn is_on_branch(worktree: &Worktree) -> Result<bool, GitError> {
    match git(&worktree.path, &["symbolic-ref", "--quiet", "HEAD"]) {
        Ok(said) => Ok(line(&said).strip_prefix("refs/heads/") == Some(&worktree.branch)),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Aborts the unfinished operation, so that branch and files are as before.
fn take_back(worktree: &Worktree, before: &str, onto: &str) -> Result<(), WorktreeError> {
    let path = &worktree.path;
    let aborted = match in_the_middle(&worktree.git_dir) {
        Some("a merge") => git(path, &["merge", "--abort"]),
        Some(_) => git(path, &["rebase", "--abort"]),
        None if is_on_branch(worktree)? => return Ok(()),
        None => Ok(Vec::new()),
    };
    let is_back = aborted.is_ok()
        && is_on_branch(worktree)?
        && head(path)?.as_deref() == Some(before)
        && work(path)?.is_empty();
    if is_back { Ok(()) } else { restore(worktree, onto) }
}

/// Restores a worktree after git was killed while it wrote files or its notes. Everything was clean
/// before and the branch has not moved, so any difference is a part of the commit that git was switching
/// to. The checkout of that commit is completed first, then the branch is checked out.
fn restore(worktree: &Worktree, onto: &str) -> Result<(), WorktreeError> {
    let path = &worktree.path;
    let notes = worktree.git_dir.join("rebase-merge");
    if notes.exists() && git(path, &["rebase", "--quit"]).is_err() {
        fs::remove_dir_all(&notes).map_err(|source| WorktreeError::Io { path: notes.clone(), source })?;
    }
    git(path, &["checkout", "--quiet", "--force", "--detach", onto])?;
    git(path, &["checkout", "--quiet", "--force", &worktree.branch, "--"])?;
    Ok(())
}

/// Saves the files as a commit that nothing deletes.
fn save(worktree: &Worktree) -> Result<(), WorktreeError> {
    let index = worktree.git_dir.join("windlass-saved.index");
    let text = index.to_string_lossy();
    let env = [("GIT_INDEX_FILE", &*text)];
    let call = GitCall::at(&worktree.path).with(&env).without_hooks();
    let kept = call.run(&["add", "--all"]).and_then(|_| {
        let tree = line(&call.run(&["write-tree"])?);
        let message = "Found in the middle of a landing that was cut off";
        let commit = line(&call.run(&["commit-tree", &tree, "-p", "HEAD", "-m", message])?);
        call.run(&["update-ref", &format!("refs/windlass/saved/{commit}"), &commit])
    });
    let _ = fs::remove_file(&index);
    kept.map(drop).map_err(WorktreeError::Git)
}
