//! Checks that the folder of a run exists, and that it is the one in which the run started.
//!
//! Somebody may move the folder for a moment, or put an empty folder or another repository in its place.
//! Results found there would say nothing about the work of the run.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_core::run::RunState;
use windlass_peers::git::{self, EMPTY_TREE};

use crate::changes;

/// The reason why the folder of a run cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    Missing,
    /// A folder without a repository is in its place.
    NoRepository,
    /// Another repository is in its place.
    OtherRepository,
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Absence::Missing => "is missing",
            Absence::NoRepository => {
                "is missing: another folder is in its place, without the repository in which the run started"
            }
            Absence::OtherRepository => {
                "is missing: another folder is in its place, without the commit on which the run started"
            }
        })
    }
}

/// The thoroughness of a folder check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderCheck {
    /// Does not call git. For lists.
    Brief,
    /// Also checks that the repository has the commit on which the run started.
    Close,
}

/// Returns the reason why the folder of a run cannot be used, or `None` if it can.
pub(crate) fn absence(state: &RunState, run_dir: &Path, look: FolderCheck) -> Option<Absence> {
    RunFolder::default().absence(state, run_dir, look)
}

/// The folder of a run, with the result of the last check.
#[derive(Debug, Default)]
pub(crate) struct RunFolder {
    right: Option<(u64, u64)>,
    /// The commit on which the run started, once it was read.
    base: Option<Option<String>>,
}

impl RunFolder {
    /// Accepts the current folder for a run that starts now.
    pub(crate) fn now(workspace: &Path) -> RunFolder {
        RunFolder { right: identity(workspace), base: None }
    }

    pub(crate) fn absence(&mut self, state: &RunState, run_dir: &Path, look: FolderCheck) -> Option<Absence> {
        let workspace = Path::new(&state.spec.workspace);
        let Some(found) = identity(workspace) else { return Some(Absence::Missing) };
        let base = self
            .base
            .get_or_insert_with(|| changes::base(run_dir).or_else(|| state.bookkeeping.base.clone()));
        // Without a repository, nothing identifies the folder. The tracker of the run identifies it as well
        // as a commit.
        let base = base.as_deref().filter(|_| !tracks(workspace, state))?;
        if dot_git(workspace).is_none() {
            return Some(Absence::NoRepository);
        }
        if self.right == Some(found) || look == FolderCheck::Brief {
            return None;
        }
        if base != EMPTY_TREE && git::lacks(workspace, base) {
            return Some(Absence::OtherRepository);
        }
        self.right = Some(found);
        None
    }
}

/// Returns the device and inode of a folder, which identify it.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let meta = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((meta.dev(), meta.ino()))
}

/// Returns true if the folder has the tracker of the run.
fn tracks(workspace: &Path, state: &RunState) -> bool {
    workspace.join(".windlass/runs").join(state.run.as_str()).is_dir()
}

fn dot_git(workspace: &Path) -> Option<PathBuf> {
    workspace.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())
}
