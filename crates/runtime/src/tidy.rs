//! Removes the half-written files of killed processes when a run starts or is taken over.

mod older;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::run::RunState;
use windlass_peers::files::{checkout, clear_dead};

/// The folders of a workspace that Windlass writes to.
pub(crate) const WRITTEN: [&str; 6] =
    [".", ".windlass", ".windlass/runs", ".windlass/workflows", ".claude", "research"];

/// Removes the drafts of dead processes from the workspace of a run, the workspaces of its nodes, and the
/// run's own folder.
pub(crate) fn tidy(state: &RunState, run_dir: &Path) {
    let mut workspaces = BTreeSet::from([state.spec.workspace.as_str()]);
    let works = state.works();
    workspaces.extend(works.iter().map(|work| work.workspace.as_str()));
    for workspace in workspaces {
        for folder in WRITTEN.map(|folder| Path::new(workspace).join(folder)) {
            checkout::clear(&folder);
            older::clear(&folder);
        }
    }
    clear_dead(run_dir);
    for child in folders(run_dir) {
        clear_dead(&child);
        // Files deeper in a worktree belong to people and agents.
        if child.file_name() != Some("worktrees".as_ref()) {
            folders(&child).iter().for_each(|folder| clear_dead(folder));
        }
    }
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path()).collect()
}
