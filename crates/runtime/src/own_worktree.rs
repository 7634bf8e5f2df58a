//! The worktree that a run has for itself: makes it, removes it when it contains no work, and reports on it.
//!
//! Windlass makes the worktree before it records the run, and the record names it. A crash in between leaves
//! a worktree without any work, which `git worktree list` shows.

use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_core::run::RunState;
use windlass_core::spec::{RunWorktree, Spec};
use windlass_peers::files::{self, FileMode};
use windlass_peers::git::{self, Removal, Worktree};

use crate::effect::{WORKTREES, below_the_top, folder_in};
use crate::error::{RunError, chain, passing};
use crate::plan::PlannedWorktree;

/// The name of the worktree in the run's folder.
const NAME: &str = "run";
/// The folder in the run's folder that keeps the tracker of a removed worktree.
const KEPT: &str = "tracker";
/// The limits for the files that are kept.
const KEPT_FILES: usize = 100;
const KEPT_MAX: u64 = 16 << 20;

/// The worktree of a run, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeReport {
    pub worktree: RunWorktree,
    /// The folder exists.
    pub is_there: bool,
    /// The number of commits since the start. `None` if the branch is gone.
    pub commits: Option<u64>,
    /// The uncommitted files.
    pub files: Vec<String>,
}

impl WorktreeReport {
    /// Inspects the worktree of a run, if the run has one of its own.
    pub(crate) fn of(spec: &Spec) -> Option<WorktreeReport> {
        let worktree = spec.worktree.clone()?;
        let (checkout, top) = (Path::new(&worktree.checkout), Path::new(&worktree.top));
        let is_there = top.join(".git").exists();
        let range = format!("{}..refs/heads/{}", worktree.base, worktree.branch);
        let count = git::git(checkout, &["rev-list", "--count", "--end-of-options", &range, "--"]).ok();
        let commits = count.and_then(|said| String::from_utf8_lossy(&said).trim().parse().ok());
        let files = if is_there { git::work(top).unwrap_or_default() } else { Vec::new() };
        Some(WorktreeReport { is_there, commits, files, worktree })
    }

    /// Decides whether the run left anything.
    pub fn has_work(&self) -> bool {
        self.commits.is_some_and(|commits| commits > 0) || !self.files.is_empty()
    }
}

/// Makes the worktree of a new run and moves the run there.
pub(crate) fn make(
    run: &RunId,
    run_dir: &Path,
    planned: &PlannedWorktree,
    spec: &mut Spec,
) -> Result<Worktree, RunError> {
    let checkout = PathBuf::from(&spec.workspace);
    let failed = |error: &(dyn std::error::Error + 'static)| {
        passing(error, run_dir).unwrap_or_else(|| RunError::NoWorktree(chain(error)))
    };
    let below = below_the_top(&checkout).map_err(|error| failed(&error))?;
    let branch = match planned.is_named_after_run {
        true => planned.branch.replace("RUN", run.as_str()),
        false => planned.branch.clone(),
    };
    let folder = run_dir.join(WORKTREES);
    files::make_private_dir(&folder).map_err(|error| failed(&error))?;
    let made = git::create(&checkout, &folder.join(NAME), &branch, &planned.base);
    let made = made.map_err(|error| failed(&error))?;
    let workspace = match folder_in(&made.path, &below) {
        Ok(workspace) => workspace,
        Err(why) => {
            remove_unused(&made, planned.target.as_deref());
            return Err(RunError::NoWorktree(why));
        }
    };
    let own = RunWorktree {
        top: made.path.to_string_lossy().into_owned(),
        branch,
        base: made.base.clone(),
        checkout: spec.workspace.clone(),
        target: planned.target.clone(),
        made_branch: made.made_branch,
    };
    spec.move_to(&workspace);
    spec.worktree = Some(own);
    Ok(made)
}

/// Removes a worktree and its new branch if they contain no work.
pub(crate) fn remove_unused(worktree: &Worktree, target: Option<&str>) -> bool {
    let target = target.unwrap_or_default();
    if !matches!(git::remove(worktree, target), Ok(Removal::Removed)) {
        return false;
    }
    // Without a target, git cannot say that the branch is merged; but it never got a commit.
    let name = format!("refs/heads/{}", worktree.branch);
    if target.is_empty() && worktree.made_branch {
        let _ = git::git(worktree.common(), &["update-ref", "-d", &name, &worktree.base]);
    }
    true
}

/// Removes the worktree of a run that is over for good, if it contains no work. Keeps the tracker, which only
/// the worktree has, in the run's folder.
pub(crate) fn clear(state: &RunState, run_dir: &Path) {
    let is_final = state.outcome().is_some_and(|outcome| outcome.status.is_final());
    let Some(own) = state.spec.worktree.as_ref().filter(|_| is_final) else { return };
    // A fork works in the worktree of another run.
    let top = Path::new(&own.top);
    if !real(top).starts_with(real(run_dir)) || WorktreeReport::of(&state.spec).is_none_or(|it| it.has_work())
    {
        return;
    }
    let ours = git::list(Path::new(&own.checkout)).unwrap_or_default();
    let Some(worktree) = ours.into_iter().find(|worktree| worktree.path == top) else { return };
    if keep_tracker(state, run_dir) {
        remove_unused(&worktree, own.target.as_deref());
    }
}

/// Returns the folder of a removed worktree's tracker.
pub fn kept_tracker(run_dir: &Path) -> PathBuf {
    run_dir.join(KEPT)
}

/// Copies the files that Windlass and the agent kept about the run. Returns false if one cannot be copied.
fn keep_tracker(state: &RunState, run_dir: &Path) -> bool {
    let from = Path::new(&state.spec.workspace).join(".windlass/runs").join(state.run.as_str());
    let Ok(entries) = std::fs::read_dir(&from) else { return true };
    let to = kept_tracker(run_dir);
    let entries: Vec<_> = entries.flatten().collect();
    let copy = |entry: &std::fs::DirEntry| {
        let bytes = files::read_bounded(&entry.path(), KEPT_MAX)?;
        files::create_new(&to.join(entry.file_name()), &bytes, FileMode::Private).map(drop)
    };
    entries.len() <= KEPT_FILES
        && files::make_private_dir(&to).is_ok()
        && entries
            .iter()
            .all(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()) && copy(entry).is_ok())
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
