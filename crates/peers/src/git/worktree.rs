//! A worktree that Windlass made: what it is, and what can be asked of it.
//!
//! Making one is [`super::create`], taking it away [`super::remove`], bringing its commits home
//! [`super::land`].

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

/// A worktree with a branch of its own, made by Windlass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its folder.
    pub path: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit it began at.
    pub base: String,
    pub(super) common: PathBuf,
    pub(super) git_dir: PathBuf,
    pub(super) made_branch: bool,
}

/// Why a worktree could not be made, looked at or taken away.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no repository.
    #[error("{dir} is not in a git repository", dir = dir.display())]
    NotARepository {
        /// Where one was expected.
        dir: PathBuf,
    },
    /// git takes no such name.
    #[error("`{branch}` is not a name for a branch")]
    BadBranch {
        /// The name.
        branch: String,
    },
    /// No worktree can be there.
    #[error("no worktree can be at {path}: {why}", path = path.display())]
    BadPath {
        /// Where.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The base names no commit; so does everything in a repository without commits.
    #[error("`{base}` is not a commit")]
    NoSuchBase {
        /// The base.
        base: String,
    },
    /// A branch can be checked out once.
    #[error("branch `{branch}` is already checked out at {path}", path = path.display())]
    BranchBusy {
        /// The branch.
        branch: String,
        /// Where.
        path: PathBuf,
    },
    /// The branch holds something else than was asked for.
    #[error("branch `{branch}` already exists at {at}, not at {base}")]
    BranchExists {
        /// The branch.
        branch: String,
        /// Its commit.
        at: String,
        /// The commit that was asked for.
        base: String,
    },
    /// Something is there that Windlass did not make, or made for another branch.
    #[error("{path} is already there and not the worktree of branch `{branch}`", path = path.display())]
    PathTaken {
        /// Where.
        path: PathBuf,
        /// The branch that was asked for.
        branch: String,
    },
    /// git is still at work there, perhaps from before a crash.
    #[error("git (process {pid}) is still at work in {path}", path = path.display())]
    AtWork {
        /// Where.
        path: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// git has locked something that is needed, or a git that died has.
    #[error("{path} is in the way: a git that was killed has left it; remove it when no git is at work there", path = path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// A lock was not had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// git said no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// One of Windlass's own files could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system said no.
    #[error("{path}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
}

impl WorktreeError {
    /// What git said, where it was git.
    pub fn git(&self) -> Option<&GitError> {
        match self {
            WorktreeError::Git(error) => Some(error),
            _ => None,
        }
    }
}

/// The worktrees of a repository that Windlass made, in the order of their folders. One whose
/// removal was cut off is among them until it is removed again.
pub fn list(repo: &Path) -> Result<Vec<Worktree>, WorktreeError> {
    let common = common_dir(repo)?;
    let ours = |(git_dir, path): (PathBuf, PathBuf)| {
        let marker = Marker::of(&git_dir)?;
        // Somebody may have moved it since; where it is, git knows.
        Some(Worktree { path, ..marker.worktree(&common, git_dir) })
    };
    let mut found: Vec<Worktree> = linked(&common).into_iter().filter_map(ours).collect();
    let going = WorktreeBeingRemoved::all(&common).into_iter();
    let going: Vec<_> = going.filter(|one| found.iter().all(|other| other.git_dir != one.git_dir)).collect();
    found.extend(going);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether nothing there is uncommitted or untracked. Ignored files do not count.
pub fn is_clean(worktree: &Worktree) -> Result<bool, GitError> {
    Ok(changes(&worktree.path)?.is_empty())
}

/// What a working tree holds beyond its commit: changed, staged and untracked files, whatever
/// the person's settings leave out of a status.
pub fn changes(dir: &Path) -> Result<Vec<String>, GitError> {
    let said = git(dir, &STATUS)?;
    // Two letters and a blank, then the name.
    Ok(names(&said).iter().filter_map(|entry| entry.get(3..)).map(str::to_owned).collect())
}

const STATUS: [&str; 6] =
    ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none"];

/// How many commits its HEAD has that a commit or branch has not.
pub fn ahead(worktree: &Worktree, base: &str) -> Result<u64, GitError> {
    let said =
        git(&worktree.path, &["rev-list", "--count", "--end-of-options", &format!("{base}..HEAD"), "--"])?;
    Ok(line(&said).parse().unwrap_or_default())
}

/// Makes later looks at a new worktree cheap: until its index is written once more, git reads
/// every file at every status. To be called before anybody works there, as it takes the lock of
/// the index. `false` when it is too early: git trusts times to the second only, so within the
/// second of the checkout nothing would be gained.
pub fn refresh(worktree: &Worktree) -> Result<bool, GitError> {
    let written = fs::metadata(worktree.git_dir.join("index")).map(|index| index.mtime()).unwrap_or(i64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if i64::try_from(now).unwrap_or_default() <= written {
        return Ok(false);
    }
    GitCall::at(&worktree.path).with(&[("GIT_OPTIONAL_LOCKS", "1")]).run(&STATUS)?;
    Ok(true)
}
