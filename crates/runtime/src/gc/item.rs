//! The things that can be removed, and the reasons why others stay.

use std::io;
use std::path::PathBuf;

use windlass_core::id::RunId;
use windlass_core::run::FinalStatus;
use windlass_core::time::Moment;

use crate::error::RunError;
use crate::view::FolderFilter;

/// The choice of runs to clean up after.
#[derive(Debug, Clone)]
pub struct GcRequest {
    /// Runs that ended at most this long ago stay, in milliseconds.
    pub older_than_ms: u64,
    /// The folders of the runs.
    pub folder: FolderFilter,
}

/// A plan: what would be removed, and what stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GcPlan {
    /// Branches first, then runs, then files. A run comes after the runs that it started.
    pub items: Vec<GcItem>,
    pub kept: Vec<GcKept>,
    /// The runs that are not over, or that somebody can continue.
    pub open: Vec<RunId>,
    /// The runs that ended too recently.
    pub young: Vec<RunId>,
}

/// One thing to remove.
#[derive(Debug, Clone, PartialEq)]
pub enum GcItem {
    Branch(GcBranch),
    Run(GcRun),
    File(GcFile),
}

/// A branch that Windlass made, with its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcBranch {
    pub run: RunId,
    /// The run that started all others of its family.
    pub(crate) root: RunId,
    /// A folder of the repository.
    pub repo: PathBuf,
    pub branch: String,
    /// The folder of the worktree, if there is one.
    pub worktree: Option<PathBuf>,
    /// The branch that has all of its commits.
    pub target: String,
    pub bytes: u64,
}

/// A run that is over for good.
#[derive(Debug, Clone, PartialEq)]
pub struct GcRun {
    pub run: RunId,
    pub(crate) root: RunId,
    pub status: FinalStatus,
    pub ended: Moment,
    /// The input, shortened.
    pub input: String,
    pub workspace: String,
    /// The number of its snapshots, without which no undo is possible.
    pub snapshots: usize,
    /// The folder with its trackers in the repository.
    pub trackers: Option<PathBuf>,
    /// The size of its files. The log is not part of it.
    pub bytes: u64,
}

/// A file or folder that a killed process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcFile {
    pub path: PathBuf,
    pub bytes: u64,
}

/// A kind of thing that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcThing {
    Branch,
    Run,
    Folder,
}

/// A thing that stays, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcKept {
    pub thing: GcThing,
    /// The branch, the run or the folder.
    pub name: String,
    pub run: RunId,
    pub why: String,
}

/// The end of one removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GcEnd {
    Removed,
    /// Something changed after the plan was made.
    Kept(String),
    Failed(String),
}

/// An error from cleaning up.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("another `windlass gc` is running")]
    Busy,
    #[error("cannot use {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}
