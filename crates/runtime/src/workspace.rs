//! Whether the folder of a run is there, and is the one it began in.
//!
//! Somebody may move it for a moment, or put an empty folder or another repository in its place. What is
//! found there then says nothing about the work of the run.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_core::run::RunState;
use windlass_peers::git::{self, EMPTY_TREE};

use crate::changes;

/// Why the folder of a run cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// It is not there.
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
                "is missing: another folder is in its place, without the repository that the run began in"
            }
            Absence::OtherRepository => {
                "is missing: another folder is in its place, without the commit that the run began on"
            }
        })
    }
}

/// How closely it is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderCheck {
    /// Without asking git: for lists.
    Brief,
    /// Whether the repository has the commit that the run began on.
    Close,
}

/// Why the folder of a run cannot be used; `None` where it can.
pub(crate) fn absence(state: &RunState, run_dir: &Path, look: FolderCheck) -> Option<Absence> {
    RunFolder::default().absence(state, run_dir, look)
}

/// The folder of a run, and as what it was last found to be the right one.
#[derive(Debug, Default)]
pub(crate) struct RunFolder {
    right: Option<(u64, u64)>,
    /// The commit the run began on, once it was looked for.
    base: Option<Option<String>>,
}

impl RunFolder {
    /// The folder of a run that begins: the one that is there.
    pub(crate) fn now(workspace: &Path) -> RunFolder {
        RunFolder { right: identity(workspace), base: None }
    }

    pub(crate) fn absence(&mut self, state: &RunState, run_dir: &Path, look: FolderCheck) -> Option<Absence> {
        let workspace = Path::new(&state.spec.workspace);
        let Some(found) = identity(workspace) else { return Some(Absence::Missing) };
        let base = self
            .base
            .get_or_insert_with(|| changes::base(run_dir).or_else(|| state.bookkeeping.base.clone()));
        // Outside of a repository there is nothing to know it by. What the run put there is as good.
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

/// What tells a folder from every other one.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let meta = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((meta.dev(), meta.ino()))
}

/// Whether the run keeps its tracker there.
fn tracks(workspace: &Path, state: &RunState) -> bool {
    workspace.join(".windlass/runs").join(state.run.as_str()).is_dir()
}

fn dot_git(workspace: &Path) -> Option<PathBuf> {
    workspace.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())
}
