//! Lands the commits of a worktree on a target branch: rebases, checks, then moves the target forward.
//!
//! Only one landing per target runs at a time. An obstacle is an outcome that leaves branch and files as
//! they were. The callers resolve conflicts and decide when to retry.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::artifacts::{checks_begin, checks_end, put_aside, work};
use super::busy::{clear_locks, clear_shared_lock};
use super::command::{GitError, again};
use super::rebase::{RebaseResult, is_on_branch, recover, update};
use super::repository::{branch_commit, in_the_middle, is_ancestor, is_branch_name};
use super::target::{MoveResult, advance, overwritten};
use super::worktree::{Worktree, WorktreeError};
use super::{head, interrupted_move, lock};

/// The outcome of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The target and the branch are both at this commit.
    Landed { commit: String },
    /// The target already contains everything.
    NothingToLand,
    /// Both sides changed the same lines. The branch is unchanged.
    Conflict { files: Vec<String> },
    /// The checks failed. The branch is now on top of the target, where the failures can be fixed.
    ChecksFailed {
        /// The commit that was checked.
        commit: String,
    },
    /// The worktree has uncommitted files, so the checks would not test the commit.
    Uncommitted {
        /// Changed and untracked files.
        files: Vec<String>,
    },
    /// The target has files at paths where the worktree has ignored ones, which would be overwritten.
    InTheWay {
        /// The ignored files.
        files: Vec<String>,
    },
    /// The target moved during every attempt.
    TargetMoved,
    /// The checkout of the target has changes in files that would change, or ignored files at paths of
    /// new ones. Nothing was touched there.
    TargetDirty {
        /// The checkout of the target.
        path: PathBuf,
        files: Vec<String>,
    },
    /// The target is being rebased there, or its checkout is gone.
    TargetBusy {
        /// The checkout of the target.
        path: PathBuf,
    },
}

/// An error that prevents an outcome.
#[derive(Debug, thiserror::Error)]
pub enum LandError<E> {
    #[error("there is no branch `{target}`")]
    NoSuchTarget { target: String },
    /// The worktree has a detached HEAD or another branch.
    #[error("{path} is not on branch `{branch}`", path = path.display())]
    NotOnBranch {
        path: PathBuf,
        /// The branch that it was made for.
        branch: String,
    },
    /// Somebody left a git operation unfinished there.
    #[error("{path} is in the middle of {of}", path = path.display())]
    InTheMiddle {
        path: PathBuf,
        /// The operation.
        of: &'static str,
    },
    /// The branch got other commits during the checks.
    #[error("branch `{branch}` changed while it was checked")]
    ChangedMeanwhile { branch: String },
    #[error("the checks could not be run")]
    Checks(#[source] E),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
}

impl<E> LandError<E> {
    /// Returns the error of git, if it is one.
    pub(super) fn git(&self) -> Option<&GitError> {
        match self {
            LandError::Worktree(error) => error.git(),
            _ => None,
        }
    }
}

impl<E> From<GitError> for LandError<E> {
    fn from(error: GitError) -> LandError<E> {
        LandError::Worktree(error.into())
    }
}

/// The time limits of a landing.
#[derive(Debug, Clone, Copy)]
pub struct LandingTimeouts {
    /// For other landings on the same target.
    pub turn: Duration,
    /// For git to rebase or to move a checkout, including the hooks of the repository.
    pub git: Duration,
}

impl Default for LandingTimeouts {
    fn default() -> LandingTimeouts {
        LandingTimeouts { turn: Duration::from_secs(3600), git: Duration::from_secs(600) }
    }
}

const TRIES: usize = 5;

/// Lands a worktree's branch on the branch `target`. `checks` gets the folder to run in and returns
/// whether it passed; it runs on exactly the commit that lands. Blocks while the checks and earlier
/// landings run.
pub fn land<E>(
    worktree: &Worktree,
    target: &str,
    checks: impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Landing, LandError<E>> {
    land_within(LandingTimeouts::default(), worktree, target, checks)
}

/// Lands like [`land`], with other time limits.
pub fn land_within<E>(
    patience: LandingTimeouts,
    worktree: &Worktree,
    target: &str,
    mut checks: impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Landing, LandError<E>> {
    // Each attempt first repairs what the previous one left.
    again(LandError::git, || land_once(patience, worktree, target, &mut checks))
}

fn land_once<E>(
    patience: LandingTimeouts,
    worktree: &Worktree,
    target: &str,
    checks: &mut impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Landing, LandError<E>> {
    if !is_branch_name(&worktree.common, target)? {
        return Err(LandError::NoSuchTarget { target: target.to_owned() });
    }
    let turn = lock::landing(&worktree.common, target, patience.turn);
    let _turn = turn.map_err(WorktreeError::from)?;
    interrupted_move::put_back(&worktree.common, target)?;
    recover(worktree)?;
    clear_locks(worktree)?;
    clear_shared_lock(worktree, &worktree.path)?;
    for _ in 0..TRIES {
        if let Some(landing) = try_once(patience, worktree, target, checks)? {
            return Ok(landing);
        }
    }
    Ok(Landing::TargetMoved)
}

/// Attempts to land once. Returns `None` if the target moved in the meantime.
fn try_once<E>(
    patience: LandingTimeouts,
    worktree: &Worktree,
    target: &str,
    checks: &mut impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Option<Landing>, LandError<E>> {
    let path = &worktree.path;
    let before = commit_to_land(worktree)?;
    let Some(old) = branch_commit(path, target)? else {
        return Err(LandError::NoSuchTarget { target: target.to_owned() });
    };
    if is_ancestor(path, &before, &old)? {
        return Ok(Some(Landing::NothingToLand));
    }
    let files = work(path)?;
    if !files.is_empty() {
        return Ok(Some(Landing::Uncommitted { files }));
    }
    if !is_ancestor(path, &old, &before)? {
        let files = overwritten(path, &before, &old)?;
        if !files.is_empty() {
            return Ok(Some(Landing::InTheWay { files }));
        }
        put_aside(path)?;
        if let RebaseResult::Conflict { files } = update(worktree, &before, &old, patience.git)? {
            return Ok(Some(Landing::Conflict { files }));
        }
    }
    let commit = commit_to_land(worktree)?;
    if commit == old {
        // The target already contained each of its commits.
        return Ok(Some(Landing::NothingToLand));
    }
    checks_begin(path, &commit)?;
    let is_green = checks(path).map_err(LandError::Checks)?;
    checks_end(path)?;
    if !is_green {
        return Ok(Some(Landing::ChecksFailed { commit }));
    }
    if commit_to_land(worktree)? != commit {
        return Err(LandError::ChangedMeanwhile { branch: worktree.branch.clone() });
    }
    Ok(match advance(worktree, target, &old, &commit, patience.git)? {
        MoveResult::Done => Some(Landing::Landed { commit }),
        MoveResult::Elsewhere => None,
        MoveResult::Dirty { path, files } => Some(Landing::TargetDirty { path, files }),
        MoveResult::Busy { path } => Some(Landing::TargetBusy { path }),
    })
}

/// Returns the commit of the branch, if the worktree is on it and has no unfinished git operation.
pub(super) fn commit_to_land<E>(worktree: &Worktree) -> Result<String, LandError<E>> {
    let path = worktree.path.clone();
    if let Some(of) = in_the_middle(&worktree.git_dir) {
        return Err(LandError::InTheMiddle { path, of });
    }
    match head(&path)? {
        Some(commit) if is_on_branch(worktree)? => Ok(commit),
        _ => Err(LandError::NotOnBranch { path, branch: worktree.branch.clone() }),
    }
}
