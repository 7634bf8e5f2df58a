//! Makes a worktree with a branch of its own at a given commit.
//!
//! What git keeps about it is made under the repository's lock, one at a time, as git itself
//! fails there otherwise; the files are written outside of it. Called again after a crash it goes
//! on with what it finds, if that is ours; it never touches what is not.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::busy::{clear_locks, wait_until_idle};
use super::command::{GitCall, GitError, again, git};
use super::marker::{Marker, MarkerStage};
use super::repository::{self, branch_commit, common_dir_and_base, git_dir_at, is_branch_name};
use super::worktree::{Worktree, WorktreeError, changes};
use super::{include, lock, stale_lock};

/// For a large repository on a slow disk, or a hook that never ends.
const CHECKOUT: Duration = Duration::from_secs(600);

/// Makes a worktree at `path` with the new branch `branch` at the commit that `base` names in
/// `repo`, and copies what `.worktreeinclude` there lists. What was made before for the same
/// path and branch is taken up again, with the base it had.
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

/// The path with its parents made and every link in them resolved, so that it can be compared
/// with what git says.
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

/// How a worktree came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Made,
    Found,
}

/// What git keeps about the worktree: found, or made.
fn add(common: &Path, mut wanted: Marker) -> Result<(Worktree, How), WorktreeError> {
    let _lock = lock::metadata(common)?;
    stale_lock::settle(common)?;
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
    // From here on a crash leaves something behind, and this says whose it is.
    wanted.write_intent(common)?;
    let added = git_add(common, &wanted, if wanted.made_branch { NewBranch::New } else { NewBranch::There });
    if added.is_err() {
        // git cleans up after itself when it says no, but not when it was killed.
        stale_lock::settle(common)?;
    }
    added?;
    mark(common, &wanted)
}

fn taken(wanted: &Marker) -> WorktreeError {
    WorktreeError::PathTaken { path: wanted.path.clone(), branch: wanted.branch.clone() }
}

/// Our own worktree at that path, with that branch.
fn find_ours(common: &Path, wanted: &Marker) -> Option<(Marker, PathBuf)> {
    let git_dir = git_dir_at(common, &wanted.path)?;
    let marker = Marker::of(&git_dir)?;
    let is_ours = marker.path == wanted.path && marker.branch == wanted.branch;
    is_ours.then_some((marker, git_dir))
}

/// Makes a worktree of ours again whose folder somebody deleted: its commits are in its branch.
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

/// Writes the files of a worktree that nobody was given yet.
fn finish(repo: &Path, worktree: &Worktree, how: How) -> Result<(), WorktreeError> {
    // Somebody else may be writing them, having been asked for the same.
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
        // It was to go, and is wanted again before anything was taken away.
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

/// Forced, as a crash may have left half of the files, and nobody has worked here yet.
fn check_out(path: &Path) -> Result<(), WorktreeError> {
    match GitCall::at(path).within(CHECKOUT).run(&["checkout", "--quiet", "--force"]) {
        Ok(_) => Ok(()),
        // A hook that fails or hangs makes git fail, but not the files.
        Err(_) if changes(path).is_ok_and(|changes| changes.is_empty()) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
