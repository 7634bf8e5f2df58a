//! Moves a target branch forward to a commit that contains it.
//!
//! If the branch is checked out, the files there move with it, and only if nobody changed them.
//! Otherwise the branch moves if it is still at the expected commit. It never moves back.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{GitCall, GitError, git, names};
use super::interrupted_move::{self, BranchMove};
use super::lock;
use super::repository::{self, branch_commit, linked, rebasing};
use super::worktree::{Worktree, WorktreeError, changes};

/// The result of a move.
#[derive(Debug)]
pub(super) enum MoveResult {
    Done,
    /// The target has moved in the meantime.
    Elsewhere,
    /// These files of the checkout are in the way; nothing was touched.
    Dirty {
        path: PathBuf,
        files: Vec<String>,
    },
    /// The target is being rebased there, or its folder is gone.
    Busy {
        path: PathBuf,
    },
}

/// Moves `target` of a worktree's repository from `old` to `new`.
pub(super) fn advance(
    worktree: &Worktree,
    target: &str,
    old: &str,
    new: &str,
    limit: Duration,
) -> Result<MoveResult, WorktreeError> {
    let (common, branch) = (&worktree.common, &worktree.branch);
    if let Some(path) = rebased_at(common, target) {
        return Ok(MoveResult::Busy { path });
    }
    let entries = {
        let _lock = lock::metadata(common)?;
        repository::entries(common)?
    };
    let checked_out = entries.into_iter().find(|entry| entry.branch.as_deref() == Some(target));
    let moved = match checked_out {
        Some(entry) if entry.is_missing => return Ok(MoveResult::Busy { path: entry.path }),
        Some(entry) => {
            let files = in_the_way(&entry.path, old, new)?;
            if !files.is_empty() {
                return Ok(MoveResult::Dirty { path: entry.path, files });
            }
            BranchMove::new(&entry.path, old, new).begin(common, target)?;
            merge_forward(GitCall::at(&entry.path), new, limit)
        }
        None => {
            BranchMove::new(common, old, new).begin(common, target)?;
            let said = format!("windlass: land {branch}");
            git(common, &["update-ref", "-m", &said, &format!("refs/heads/{target}"), new, old])
        }
    };
    if moved.is_err() {
        interrupted_move::put_back(common, target)?;
    }
    interrupted_move::end(common, target);
    match branch_commit(common, target)? {
        // A hook that failed or hung afterwards does not undo the move.
        Some(at) if at == new => Ok(MoveResult::Done),
        Some(at) if at == old => moved.map(|_| MoveResult::Elsewhere).map_err(WorktreeError::Git),
        _ => Ok(MoveResult::Elsewhere),
    }
}

/// Moves the branch of a worktree and its files from `old` to `new`, without the hooks of the repository.
pub(super) fn forward(
    worktree: &Worktree,
    old: &str,
    new: &str,
    limit: Duration,
) -> Result<MoveResult, WorktreeError> {
    let (common, branch, path) = (&worktree.common, &worktree.branch, &worktree.path);
    let files = in_the_way(path, old, new)?;
    if !files.is_empty() {
        return Ok(MoveResult::Dirty { path: path.clone(), files });
    }
    BranchMove::new(path, old, new).begin(common, branch)?;
    let moved = merge_forward(GitCall::at(path).without_hooks(), new, limit);
    if moved.is_err() {
        interrupted_move::put_back(common, branch)?;
    }
    interrupted_move::end(common, branch);
    match branch_commit(common, branch)? {
        Some(at) if at == new => Ok(MoveResult::Done),
        Some(at) if at == old => moved.map(|_| MoveResult::Elsewhere).map_err(WorktreeError::Git),
        _ => Ok(MoveResult::Elsewhere),
    }
}

fn merge_forward(call: GitCall<'_>, new: &str, limit: Duration) -> Result<Vec<u8>, GitError> {
    let args = ["merge", "--quiet", "--ff-only", "--no-stat", "--no-autostash", "--no-overwrite-ignore", new];
    call.within(limit).run(&args)
}

/// Returns the files of a checkout that the commit changes and that are not as committed there. Includes
/// ignored files that git would overwrite.
pub(super) fn in_the_way(path: &Path, old: &str, new: &str) -> Result<Vec<String>, GitError> {
    let differ = ["diff", "--name-only", "--no-renames", "-z", old, new];
    let coming: HashSet<String> = names(&git(path, &differ)?).into_iter().collect();
    let mut files: Vec<String> = changes(path)?.into_iter().filter(|name| coming.contains(name)).collect();
    files.extend(overwritten(path, old, new)?);
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the existing files at paths that are in `new` but not in `old`.
pub(super) fn overwritten(path: &Path, old: &str, new: &str) -> Result<Vec<String>, GitError> {
    let added = ["diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", old, new];
    let mut added = names(&git(path, &added)?);
    added.retain(|name| is_there(path, name));
    Ok(added)
}

/// Decides whether a file exists at the path. A folder counts only if it is not empty.
fn is_there(path: &Path, name: &str) -> bool {
    let at = path.join(name);
    match at.symlink_metadata() {
        Ok(meta) if meta.is_dir() => std::fs::read_dir(&at).is_ok_and(|mut entries| entries.next().is_some()),
        found => found.is_ok(),
    }
}

fn rebased_at(common: &Path, target: &str) -> Option<PathBuf> {
    let main = common.parent().unwrap_or(common).to_owned();
    let mut all = linked(common);
    all.push((common.to_owned(), main));
    all.into_iter().find(|(git_dir, _)| rebasing(git_dir).as_deref() == Some(target)).map(|(_, path)| path)
}
