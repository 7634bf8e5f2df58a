//! Removes a worktree, unless that would lose work.
//!
//! The folder is moved aside and the worktree removed from git under the lock; the files are deleted
//! without the lock. The branch is deleted too if Windlass made it and the target contains all of it.
//! Nothing is ever forced.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::artifacts::work;
use super::busy::{clear_locks, clear_shared_lock, wait_until_idle};
use super::command::{again, git, names};
use super::marker::{Marker, MarkerStage, WorktreeBeingRemoved};
use super::repository::{self, branch_commit, git_dir_at, in_the_middle, is_ancestor};
use super::worktree::{Worktree, WorktreeError};
use super::{head, lock};
use crate::files::read_bounded;

/// The result of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    Removed,
    /// The worktree still exists and is intact.
    Kept(KeepReason),
}

/// A reason to keep a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    Uncommitted {
        /// Changed and untracked files.
        files: Vec<String>,
    },
    /// The target lacks some of its commits.
    Unmerged {
        /// The commit that the target lacks.
        commit: String,
    },
    /// A git operation is unfinished there.
    InTheMiddle {
        /// The operation.
        of: &'static str,
    },
    /// Somebody locked it with `git worktree lock`.
    Locked,
    /// It has populated submodules, whose contents are not checked.
    Submodules,
    /// Windlass did not make it, or it is no longer the same worktree.
    NotOurs,
}

/// Removes a worktree unless it has work that the branch `target` lacks. Can be repeated, also after a
/// crash.
pub fn remove(worktree: &Worktree, target: &str) -> Result<Removal, WorktreeError> {
    again(WorktreeError::git, || remove_once(worktree, target))
}

fn remove_once(worktree: &Worktree, target: &str) -> Result<Removal, WorktreeError> {
    if let Some(kept) = find_work(worktree, target)? {
        return Ok(Removal::Kept(kept));
    }
    take_away(worktree, target)?;
    delete_aside(worktree)?;
    WorktreeBeingRemoved::gone(worktree);
    Ok(Removal::Removed)
}

/// Returns the first reason to keep a worktree.
pub(super) fn find_work(worktree: &Worktree, target: &str) -> Result<Option<KeepReason>, WorktreeError> {
    let marker = match Marker::of(&worktree.git_dir).filter(|_| is_ours(worktree)) {
        Some(marker) => marker,
        // Already removed, or now somebody else's.
        None if worktree.path.symlink_metadata().is_err() => return Ok(None),
        None => return Ok(Some(KeepReason::NotOurs)),
    };
    if marker.stage == MarkerStage::Removing && worktree.path.symlink_metadata().is_err() {
        return Ok(None);
    }
    if worktree.git_dir.join("locked").exists() {
        return Ok(Some(KeepReason::Locked));
    }
    if let Some(of) = in_the_middle(&worktree.git_dir) {
        return Ok(Some(KeepReason::InTheMiddle { of }));
    }
    // Before it is handed out, differences are only files that git had not written yet.
    if worktree.path.exists()
        && marker.stage != MarkerStage::CheckingOut
        && let Some(kept) = find_files(worktree)?
    {
        return Ok(Some(kept));
    }
    for commit in [head(&worktree.git_dir)?, branch_commit(&worktree.common, &worktree.branch)?] {
        match commit {
            Some(commit) if commit != marker.base && !is_merged(&worktree.common, &commit, target)? => {
                return Ok(Some(KeepReason::Unmerged { commit }));
            }
            _ => {}
        }
    }
    Ok(None)
}

fn find_files(worktree: &Worktree) -> Result<Option<KeepReason>, WorktreeError> {
    let files = work(&worktree.path)?;
    if !files.is_empty() {
        return Ok(Some(KeepReason::Uncommitted { files }));
    }
    let staged = names(&git(&worktree.path, &["ls-files", "--stage", "-z"])?);
    let links = staged.iter().filter(|entry| entry.starts_with("160000 "));
    let mut folders = links.filter_map(|entry| Some(worktree.path.join(entry.split_once('\t')?.1)));
    let is_filled = |path: PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    if worktree.git_dir.join("modules").exists() || folders.any(is_filled) {
        return Ok(Some(KeepReason::Submodules));
    }
    Ok(None)
}

fn is_merged(common: &Path, commit: &str, target: &str) -> Result<bool, WorktreeError> {
    match branch_commit(common, target)? {
        Some(target) => Ok(is_ancestor(common, commit, &target)?),
        None => Ok(false),
    }
}

/// Decides whether the folder belongs to the git folder with our marker.
fn is_ours(worktree: &Worktree) -> bool {
    let points_back = git_dir_at(&worktree.common, &worktree.path).as_ref() == Some(&worktree.git_dir);
    points_back && Marker::of(&worktree.git_dir).is_some_and(|marker| marker.branch == worktree.branch)
}

/// Removes git's metadata and the branch.
fn take_away(worktree: &Worktree, target: &str) -> Result<(), WorktreeError> {
    let common = &worktree.common;
    let _lock = lock::metadata(common)?;
    if WorktreeBeingRemoved::is(worktree) {
        wait_until_idle(&worktree.path)?;
        clear_locks(worktree)?;
    }
    if WorktreeBeingRemoved::is(worktree) && worktree.path.symlink_metadata().is_err() {
        take_rest_away(worktree)?;
    } else if let Some(marker) = Marker::of(&worktree.git_dir).filter(|_| is_ours(worktree)) {
        WorktreeBeingRemoved::write(worktree, &marker)?;
        marker.at(MarkerStage::Removing).write(common, &worktree.git_dir)?;
        move_aside(worktree)?;
        git(common, &["worktree", "remove", &worktree.path.to_string_lossy()])?;
    }
    if !worktree.made_branch {
        return Ok(());
    }
    let Some(commit) = branch_commit(common, &worktree.branch)? else { return Ok(()) };
    let entries = repository::entries(common)?;
    let is_elsewhere = entries.iter().any(|entry| entry.branch.as_ref() == Some(&worktree.branch));
    if is_elsewhere || !is_merged(common, &commit, target)? {
        return Ok(());
    }
    // Like `git branch -d`, but compared with the target, and only if the branch has not moved.
    let name = format!("refs/heads/{}", worktree.branch);
    let delete = || git(common, &["update-ref", "-d", &name, &commit]);
    if delete().is_err() {
        // A git that was killed meanwhile may have locked the branch or the packed refs.
        clear_locks(worktree)?;
        clear_shared_lock(worktree, &aside(worktree))?;
        delete()?;
    }
    Ok(())
}

/// Removes git's metadata of a worktree whose folder is already gone. git may have been killed while it
/// deleted the metadata, in any order, and cannot continue by itself.
fn take_rest_away(worktree: &Worktree) -> Result<(), WorktreeError> {
    let git_dir = &worktree.git_dir;
    let all = worktree.common.join("worktrees");
    let is_there = git_dir.parent() == Some(&all)
        && git_dir.file_name().is_some()
        && git_dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let is_ours = match git_dir.join("gitdir").exists() {
        true => git_dir_at(&worktree.common, &worktree.path).as_ref() == Some(git_dir),
        // git locks a worktree that it has only started to create.
        false => !git_dir.join("locked").exists(),
    };
    if is_there && is_ours {
        let failed = |source| WorktreeError::Io { path: git_dir.clone(), source };
        fs::remove_dir_all(git_dir).map_err(failed)?;
        // As git does; fails unless the folder is empty.
        let _ = fs::remove_dir(all);
    }
    Ok(())
}

/// Returns the path to which the folder is moved: beside it, so that a rename suffices, under a name
/// that can be found again after a crash.
fn aside(worktree: &Worktree) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(worktree.path.file_name().unwrap_or_default());
    name.push(".windlass-removed");
    worktree.path.with_file_name(name)
}

fn move_aside(worktree: &Worktree) -> Result<(), WorktreeError> {
    if worktree.path.symlink_metadata().is_err() {
        return Ok(());
    }
    delete_aside(worktree)?;
    let failed = |source| WorktreeError::Io { path: worktree.path.clone(), source };
    fs::rename(&worktree.path, aside(worktree)).map_err(failed)
}

/// Deletes the folder that was moved aside, after verifying that it is the right one.
fn delete_aside(worktree: &Worktree) -> Result<(), WorktreeError> {
    let path = aside(worktree);
    let said = read_bounded(&path.join(".git"), 16 * 1024).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let git_dir = said.trim_end().strip_prefix("gitdir: ").map(Path::new);
    let is_folder = path.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let is_ours = is_folder && git_dir == Some(&worktree.git_dir);
    if !is_ours {
        return Ok(());
    }
    // `.git` is deleted last, so that a half-deleted folder can still be identified.
    let failed = |path: &Path, source| WorktreeError::Io { path: path.to_owned(), source };
    for entry in fs::read_dir(&path).map_err(|e| failed(&path, e))?.flatten() {
        if entry.file_name() == ".git" {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let at = entry.path();
        let deleted = if is_folder { fs::remove_dir_all(&at) } else { fs::remove_file(&at) };
        match deleted {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(&at, e)),
            _ => {}
        }
    }
    fs::remove_dir_all(&path).map_err(|e| failed(&path, e))
}
