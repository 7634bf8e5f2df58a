//! Creates a worktree with its own branch at a given commit.
//!
//! git's metadata is written under the repository's lock, because concurrent `git worktree add` fails;
//! the files are written without the lock. After a crash, another call continues with what it finds if
//! Windlass made it, and touches nothing else.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::busy::{clear_locks, wait_until_idle};
use super::command::{GitCall, GitError, again, git};
use super::marker::{Marker, MarkerStage};
use super::repository::{self, branch_commit, common_dir_and_base, git_dir_at, is_branch_name};
use super::worktree::{Worktree, WorktreeError, changes};
use super::{include, interrupted_create, lock};

/// Long enough for a large repository on a slow disk; ends a hook that never finishes.
const CHECKOUT: Duration = Duration::from_secs(600);

/// Creates a worktree at `path` with the new branch `branch` at the commit that `base` names in `repo`,
/// and copies the files that `.worktreeinclude` lists. A worktree from an earlier call with the same
/// path and branch is reused, with its original base.
pub fn create(repo: &Path, path: &Path, branch: &str, base: &str) -> Result<Worktree, WorktreeError> {
    again(WorktreeError::git, || create_once(repo, path, branch, base))
}

fn create_once(repo: &Path, path: &Path, branch: &str, base: &str) -> Result<Worktree, WorktreeError> {
    let (name, place) = std::thread::scope(|scope| {
        let name = scope.spawn(|| is_branch_name(Path::new("/"), branch));
        let place = common_dir_and_base(repo, base);
        (name.join(), place)
    });
    if !name.unwrap_or(Ok(false))? {
        return Err(WorktreeError::BadBranch { branch: branch.to_owned() });
    }
    let (common, base) = place?;
    let path = real_path(path, &common)?;
    let marker = Marker::new(&path, branch, &base, true);
    let (worktree, how) = add(&common, marker)?;
    finish(repo, &worktree, how)?;
    Ok(worktree)
}

/// Creates the parents of the path and resolves their links, so that the path can be compared with
/// git's.
fn real_path(path: &Path, common: &Path) -> Result<PathBuf, WorktreeError> {
    let bad = |why| WorktreeError::BadPath { path: path.to_owned(), why };
    if !path.is_absolute() {
        return Err(bad("it is not absolute"));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(bad("it contains `..`"));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(bad("it has no name"));
    };
    let failed = |source| WorktreeError::Io { path: parent.to_owned(), source };
    fs::create_dir_all(parent).map_err(failed)?;
    let real = parent.canonicalize().map_err(failed)?.join(name);
    if real.starts_with(common) {
        return Err(bad("it is in the repository's git folder"));
    }
    match real.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(real),
        _ => Err(bad("it is not plain UTF-8")),
    }
}

/// The origin of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Made,
    Found,
}

/// Finds or creates git's metadata of the worktree.
fn add(common: &Path, mut wanted: Marker) -> Result<(Worktree, How), WorktreeError> {
    let _lock = lock::metadata(common)?;
    interrupted_create::settle(common)?;
    let entries = repository::entries(common)?;
    let there = entries.iter().find(|entry| entry.path == wanted.path);
    let ours = there.and_then(|_| find_ours(common, &wanted));
    match (there, ours) {
        (Some(entry), Some((marker, _))) if entry.is_missing => return add_again(common, &marker),
        (Some(_), Some((marker, git_dir))) => return Ok((marker.worktree(common, git_dir), How::Found)),
        (Some(_), None) => return Err(taken(&wanted)),
        (None, _) => {}
    }
    if let Some(busy) = entries.iter().find(|entry| entry.branch.as_ref() == Some(&wanted.branch)) {
        return Err(WorktreeError::BranchBusy { branch: wanted.branch, path: busy.path.clone() });
    }
    if wanted.path.symlink_metadata().is_ok() {
        return Err(taken(&wanted));
    }
    wanted.made_branch = match branch_commit(common, &wanted.branch)? {
        None => true,
        Some(at) if at == wanted.base => false,
        Some(at) => {
            return Err(WorktreeError::BranchExists { branch: wanted.branch, at, base: wanted.base });
        }
    };
    // From here on a crash leaves something behind, and the intent identifies its owner.
    wanted.write_intent(common)?;
    let added = git_add(common, &wanted, if wanted.made_branch { NewBranch::New } else { NewBranch::There });
    if added.is_err() {
        // git cleans up after an error, but not after a kill.
        interrupted_create::settle(common)?;
    }
    added?;
    mark(common, &wanted)
}

fn taken(wanted: &Marker) -> WorktreeError {
    WorktreeError::PathTaken { path: wanted.path.clone(), branch: wanted.branch.clone() }
}

/// Returns our own worktree at that path with that branch.
fn find_ours(common: &Path, wanted: &Marker) -> Option<(Marker, PathBuf)> {
    let git_dir = git_dir_at(common, &wanted.path)?;
    let marker = Marker::of(&git_dir)?;
    let is_ours = marker.path == wanted.path && marker.branch == wanted.branch;
    is_ours.then_some((marker, git_dir))
}

/// Recreates a worktree of ours whose folder somebody deleted. Its commits are in its branch.
fn add_again(common: &Path, marker: &Marker) -> Result<(Worktree, How), WorktreeError> {
    if marker.path.symlink_metadata().is_ok() {
        return Err(taken(marker));
    }
    let again = marker.at(MarkerStage::CheckingOut);
    again.write_intent(common)?;
    git(common, &["worktree", "remove", &path_text(&again)])?;
    git_add(common, &again, NewBranch::There)?;
    mark(common, &again)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewBranch {
    New,
    There,
}

fn git_add(common: &Path, marker: &Marker, branch: NewBranch) -> Result<Vec<u8>, GitError> {
    let path = path_text(marker);
    let mut args = vec!["worktree", "add", "--quiet", "--no-checkout", "--no-guess-remote"];
    match branch {
        NewBranch::New => args.extend(["--no-track", "-b", &marker.branch, &path, &marker.base]),
        NewBranch::There => args.extend([path.as_str(), &marker.branch]),
    }
    git(common, &args)
}

fn path_text(marker: &Marker) -> String {
    marker.path.to_string_lossy().into_owned()
}

fn mark(common: &Path, marker: &Marker) -> Result<(Worktree, How), WorktreeError> {
    let Some(git_dir) = git_dir_at(common, &marker.path) else { return Err(taken(marker)) };
    marker.write(common, &git_dir)?;
    marker.drop_intent(common)?;
    Ok((marker.worktree(common, git_dir), How::Made))
}

/// Writes the files of a worktree that was not handed out yet.
fn finish(repo: &Path, worktree: &Worktree, how: How) -> Result<(), WorktreeError> {
    // Another process with the same request may be writing them.
    let _lock = lock::lock(&worktree.git_dir.join("windlass.pid"), CHECKOUT)?;
    let Some(marker) = Marker::of(&worktree.git_dir) else {
        return Err(WorktreeError::PathTaken {
            path: worktree.path.clone(),
            branch: worktree.branch.clone(),
        });
    };
    match marker.stage {
        MarkerStage::CheckingOut => {}
        MarkerStage::Ready => return Ok(()),
        // It was about to be removed, and is requested again before anything was deleted.
        MarkerStage::Removing => {
            return marker.at(MarkerStage::Ready).write(&worktree.common, &worktree.git_dir);
        }
    }
    if how == How::Found {
        wait_until_idle(&worktree.path)?;
        clear_locks(worktree)?;
    }
    check_out(&worktree.path)?;
    include::copy(repo, &worktree.path)?;
    marker.at(MarkerStage::Ready).write(&worktree.common, &worktree.git_dir)
}

/// Checks out the files. Forced, because a crash may have left half of them, and nobody has worked here
/// yet.
fn check_out(path: &Path) -> Result<(), WorktreeError> {
    match GitCall::at(path).within(CHECKOUT).run(&["checkout", "--quiet", "--force"]) {
        Ok(_) => Ok(()),
        // A failing or hanging hook makes git fail although the files are complete.
        Err(_) if changes(path).is_ok_and(|changes| changes.is_empty()) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
