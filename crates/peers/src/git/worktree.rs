//! A worktree that Windlass made, and queries about it.
//!
//! [`super::create`] makes a worktree, [`super::remove`] deletes it and [`super::land`] lands its
//! commits.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::command::{GitCall, GitError, git, line, names};
use super::lock::LockError;
use super::marker::{Marker, WorktreeBeingRemoved};
use super::repository::{common_dir, linked};
use crate::files::FileError;

/// A worktree with its own branch, made by Windlass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    pub path: PathBuf,
    pub branch: String,
    /// The commit at which the branch started.
    pub base: String,
    pub(super) common: PathBuf,
    pub(super) git_dir: PathBuf,
    /// Windlass made the branch, and so may delete it once it is merged.
    pub made_branch: bool,
}

/// An error from creating, reading or removing a worktree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    #[error("{dir} is not in a git repository", dir = dir.display())]
    NotARepository { dir: PathBuf },
    #[error("`{branch}` is not a valid branch name")]
    BadBranch { branch: String },
    #[error("no worktree can be at {path}: {why}", path = path.display())]
    BadPath { path: PathBuf, why: &'static str },
    /// The base names no commit. In a repository without commits no base does.
    #[error("`{base}` is not a commit")]
    NoSuchBase { base: String },
    /// git checks out a branch only once.
    #[error("branch `{branch}` is already checked out at {path}", path = path.display())]
    BranchBusy {
        branch: String,
        /// The other checkout.
        path: PathBuf,
    },
    /// The branch exists and is at another commit.
    #[error("branch `{branch}` already exists at {at}, not at {base}")]
    BranchExists {
        branch: String,
        /// The commit of the branch.
        at: String,
        /// The requested commit.
        base: String,
    },
    /// The path has something that Windlass did not make, or made for another branch.
    #[error("{path} already exists and is not the worktree of branch `{branch}`", path = path.display())]
    PathTaken {
        path: PathBuf,
        /// The requested branch.
        branch: String,
    },
    /// A git process still runs there, perhaps from before a crash.
    #[error("git (process {pid}) is still running in {path}", path = path.display())]
    AtWork { path: PathBuf, pid: u32 },
    /// A live or dead git process has locked something.
    #[error("{path} blocks git: a killed git process left it; delete it when no git is running there", path = path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl WorktreeError {
    /// Returns the error of git, if it is one.
    pub fn git(&self) -> Option<&GitError> {
        match self {
            WorktreeError::Git(error) => Some(error),
            _ => None,
        }
    }
}

impl Worktree {
    /// Returns the git folder that all worktrees of the repository share.
    pub fn common(&self) -> &Path {
        &self.common
    }
}

/// Returns the worktrees of a repository that Windlass made, sorted by folder. Includes those whose
/// removal was interrupted.
pub fn list(repo: &Path) -> Result<Vec<Worktree>, WorktreeError> {
    let common = common_dir(repo)?;
    let ours = |(git_dir, path): (PathBuf, PathBuf)| {
        let marker = Marker::of(&git_dir)?;
        // Somebody may have moved the worktree; git knows the current path.
        Some(Worktree { path, ..marker.worktree(&common, git_dir) })
    };
    let mut found: Vec<Worktree> = linked(&common).into_iter().filter_map(ours).collect();
    let going = WorktreeBeingRemoved::all(&common).into_iter();
    let going: Vec<_> = going.filter(|one| found.iter().all(|other| other.git_dir != one.git_dir)).collect();
    found.extend(going);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Decides whether a worktree has no uncommitted or untracked files. Ignored files do not count.
pub fn is_clean(worktree: &Worktree) -> Result<bool, GitError> {
    Ok(changes(&worktree.path)?.is_empty())
}

/// Returns the changed, staged and untracked files of a working tree, independent of the user's status
/// settings.
pub fn changes(dir: &Path) -> Result<Vec<String>, GitError> {
    let said = git(dir, &STATUS)?;
    // Each entry is two letters and a blank, then the name.
    Ok(names(&said).iter().filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
}

const STATUS: [&str; 6] =
    ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none"];

/// Returns the number of commits in HEAD that a commit or branch lacks.
pub fn ahead(worktree: &Worktree, base: &str) -> Result<u64, GitError> {
    let said =
        git(&worktree.path, &["rev-list", "--count", "--end-of-options", &format!("{base}..HEAD"), "--"])?;
    Ok(line(&said).parse().unwrap_or_default())
}

/// Makes later status calls in a new worktree cheap: until the index is written once more, git reads
/// every file at every status. Call it before anybody works there, because it takes the lock of the
/// index. Returns false if it is too early: git compares times only to the second, so it gains nothing
/// within the second of the checkout.
pub fn refresh(worktree: &Worktree) -> Result<bool, GitError> {
    let written = fs::metadata(worktree.git_dir.join("index")).map(|index| index.mtime()).unwrap_or(i64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if i64::try_from(now).unwrap_or_default() <= written {
        return Ok(false);
    }
    GitCall::at(&worktree.path).with(&[("GIT_OPTIONAL_LOCKS", "1")]).run(&STATUS)?;
    Ok(true)
}
