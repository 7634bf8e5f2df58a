//! Brings the commits of a worktree onto a target branch: up to date, checked, then forward.
//!
//! One at a time for each target. Whatever stands in the way is an outcome that leaves branch and
//! files as they were; who resolves a conflict, and when to try again, is decided elsewhere.

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

/// What came of a landing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// The target is at this commit now, and so is the branch.
    Landed {
        /// The commit.
        commit: String,
    },
    /// The target has everything already.
    NothingToLand,
    /// Both changed the same. The branch is where it was.
    Conflict {
        /// The files in conflict.
        files: Vec<String>,
    },
    /// The checks said no. The branch is on top of the target, for them to be made green there.
    ChecksFailed {
        /// The commit that was checked.
        commit: String,
    },
    /// The worktree holds what is not committed, so that the checks would check something else.
    Uncommitted {
        /// Changed and untracked files.
        files: Vec<String>,
    },
    /// The target brings files where the worktree has ignored ones, which would be overwritten.
    InTheWay {
        /// The ignored files.
        files: Vec<String>,
    },
    /// The target moved at every try.
    TargetMoved,
    /// The checkout of the target has changes in files that would change, or ignored files where
    /// new ones would be. Nothing was touched there.
    TargetDirty {
        /// The checkout.
        path: PathBuf,
        /// The files.
        files: Vec<String>,
    },
    /// The target is being rebased there, or its checkout is gone.
    TargetBusy {
        /// The checkout.
        path: PathBuf,
    },
}

/// Why a landing came to no outcome.
#[derive(Debug, thiserror::Error)]
pub enum LandError<E> {
    /// There is no such branch.
    #[error("there is no branch `{target}`")]
    NoSuchTarget {
        /// The target.
        target: String,
    },
    /// The worktree is at some commit, or at another branch.
    #[error("{path} is not on branch `{branch}`", path = path.display())]
    NotOnBranch {
        /// The worktree.
        path: PathBuf,
        /// The branch it was made for.
        branch: String,
    },
    /// Somebody began something with git there and did not finish.
    #[error("{path} is in the middle of {of}", path = path.display())]
    InTheMiddle {
        /// The worktree.
        path: PathBuf,
        /// Of what.
        of: &'static str,
    },
    /// The branch got other commits while it was checked.
    #[error("branch `{branch}` changed while it was checked")]
    ChangedMeanwhile {
        /// The branch.
        branch: String,
    },
    /// The checks could not be run.
    #[error("the checks could not be run")]
    Checks(#[source] E),
    /// Something with the worktree, its locks or git.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
}

impl<E> LandError<E> {
    /// What git said, where it was git.
    fn git(&self) -> Option<&GitError> {
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

/// How long a landing waits.
#[derive(Debug, Clone, Copy)]
pub struct LandingTimeouts {
    /// For the other landings on the same target.
    pub turn: Duration,
    /// For git to rebase or move a checkout, with the hooks of the repository.
    pub git: Duration,
}

impl Default for LandingTimeouts {
    fn default() -> LandingTimeouts {
        LandingTimeouts { turn: Duration::from_secs(3600), git: Duration::from_secs(600) }
    }
}

const TRIES: usize = 5;

/// Lands a worktree's branch on `target`, a branch. The checks are told where to run and answer
/// whether they are green; they are run on exactly the commit that is landed. It blocks as long
/// as they do, and as the landings before it do.
pub fn land<E>(
    worktree: &Worktree,
    target: &str,
    checks: impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Landing, LandError<E>> {
    land_within(LandingTimeouts::default(), worktree, target, checks)
}

/// As [`land`], with other patience.
pub fn land_within<E>(
    patience: LandingTimeouts,
    worktree: &Worktree,
    target: &str,
    mut checks: impl FnMut(&Path) -> Result<bool, E>,
) -> Result<Landing, LandError<E>> {
    // Each begins by putting right what the one before left.
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

/// One try; nothing when the target moved meanwhile.
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
        // Each of its commits turned out to be there already.
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

/// The commit of the branch, if the worktree is on it and nothing is going on there.
fn commit_to_land<E>(worktree: &Worktree) -> Result<String, LandError<E>> {
    let path = worktree.path.clone();
    if let Some(of) = in_the_middle(&worktree.git_dir) {
        return Err(LandError::InTheMiddle { path, of });
    }
    match head(&path)? {
        Some(commit) if is_on_branch(worktree)? => Ok(commit),
        _ => Err(LandError::NotOnBranch { path, branch: worktree.branch.clone() }),
    }
}
