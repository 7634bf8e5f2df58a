//! Plans the worktree that a run gets for itself, and refuses one that Windlass cannot make.
//!
//! `handle::place` makes it when the run starts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use windlass_core::graph::workflow::{EachNode, Node, NodeKind, TaskLoopNode};
use windlass_core::spec::Spec;
use windlass_peers::git::{self, WorktreeError};

use super::PlanFlags;
use crate::error::chain;
use crate::user_error::{UserError, UserErrorKind};

/// The number of uncommitted files that a message names.
const NAMED: usize = 3;

/// The branch that `--worktree` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedBranch {
    /// A new branch that has the name of the run.
    OfTheRun,
    /// This branch, which may exist.
    Named(String),
}

/// A worktree to make for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWorktree {
    /// The branch. `RUN` in the name of a branch that does not exist yet stands for the run's id.
    pub branch: String,
    /// The branch gets the name of the run.
    pub is_named_after_run: bool,
    /// The branch does not exist yet.
    pub is_new: bool,
    /// The commit at which the work starts.
    pub base: String,
    /// The branch that is checked out in the workspace, if any.
    pub target: Option<String>,
}

fn usage(text: impl Into<String>) -> UserError {
    UserError::new(UserErrorKind::Usage, text)
}

/// Plans the worktree that the flags ask for.
pub(super) fn of(
    flags: &PlanFlags,
    spec: &Spec,
    warnings: &mut Vec<String>,
) -> Result<Option<PlannedWorktree>, UserError> {
    let Some(wanted) = &flags.worktree else { return Ok(None) };
    let workspace = Path::new(&spec.workspace);
    let head = start_commit(workspace)?;
    let (branch, at) = match wanted {
        WantedBranch::Named(name) => (name.clone(), existing(workspace, name)?),
        WantedBranch::OfTheRun => (own_name(workspace, spec)?, None),
    };
    warn_of_uncommitted(workspace, warnings);
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:.gitmodules"]).is_ok() {
        warnings.push("the repository has submodules, which are empty in the worktree of the run".to_owned());
    }
    Ok(Some(PlannedWorktree {
        branch,
        is_named_after_run: *wanted == WantedBranch::OfTheRun,
        is_new: at.is_none(),
        base: at.unwrap_or(head),
        target: branch_of(workspace),
    }))
}

/// Returns the commit of the workspace.
fn start_commit(workspace: &Path) -> Result<String, UserError> {
    let at = workspace.display();
    if !git::is_repository(workspace) {
        return Err(usage(format!("--worktree needs a git repository, and {at} is in none"))
            .hint("run `git init` and commit, or leave --worktree out"));
    }
    let head = git::head(workspace).map_err(|error| unreadable(workspace, &error))?;
    let head = head.ok_or_else(|| {
        usage(format!("--worktree needs a commit to start from, and {at} has none"))
            .hint("commit first, or leave --worktree out")
    })?;
    // A worktree contains only committed files.
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:./"]).is_err() {
        return Err(usage(format!("nothing of {at} is committed, so a worktree would be empty"))
            .hint("commit the folder first, or leave --worktree out"));
    }
    Ok(head)
}

/// Returns the commit of a named branch, if the branch exists. Refuses a branch that is in use.
fn existing(workspace: &Path, name: &str) -> Result<Option<String>, UserError> {
    let failed = |error: WorktreeError| unreadable(workspace, &error);
    if !git::is_branch_name(workspace, name).map_err(|error| failed(error.into()))? {
        return Err(usage(format!("--worktree: `{name}` is not a valid branch name"))
            .hint("give a name like fix-login, or none at all"));
    }
    if let Some(path) = git::checked_out_at(workspace, name).map_err(failed)? {
        let text = format!("--worktree: branch `{name}` is already checked out at {}", path.display());
        return Err(usage(text).hint("give another name, or start the run in that folder"));
    }
    git::branch_commit(workspace, name).map_err(|error| failed(error.into()))
}

/// Returns the pattern of the default name. The branches of parallel tasks are below `windlass/RUN/`, where
/// git allows no branch `windlass/RUN`.
fn own_name(workspace: &Path, spec: &Spec) -> Result<String, UserError> {
    if git::branch_commit(workspace, "windlass").is_ok_and(|found| found.is_some()) {
        let text =
            "the worktree needs a branch named `windlass/RUN`, and the branch `windlass` is in its way";
        return Err(
            usage(text).hint("give another name: --worktree=BRANCH, or `git branch --move windlass OTHER`")
        );
    }
    let has_jobs =
        std::iter::once(spec).chain(spec.others.values()).any(|spec| spec.body.iter().any(needs_branches));
    Ok(if has_jobs { "windlass/RUN/run" } else { "windlass/RUN" }.to_owned())
}

fn needs_branches(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::TaskLoop(TaskLoopNode { jobs: 2.., .. }) | NodeKind::Each(EachNode { worktree: true, .. })
    ) || node.kind.blocks().iter().any(|block| block.body.iter().any(needs_branches))
}

/// Returns the branch that is checked out, or `None` at a detached HEAD.
fn branch_of(workspace: &Path) -> Option<String> {
    let said = git::git(workspace, &["symbolic-ref", "--quiet", "HEAD"]).ok()?;
    let name = String::from_utf8_lossy(&said).trim_end().to_owned();
    name.strip_prefix("refs/heads/").map(str::to_owned)
}

/// Returns the uncommitted files of a folder. Where git cannot answer, other parts report that.
pub(crate) fn uncommitted(workspace: &Path) -> Vec<String> {
    let files = git::changes(workspace).unwrap_or_default();
    files.into_iter().filter(|name| !name.starts_with(".windlass/")).collect()
}

fn warn_of_uncommitted(workspace: &Path, warnings: &mut Vec<String>) {
    let files = uncommitted(workspace);
    if !files.is_empty() {
        warnings.push(format!("the worktree lacks what is not committed: {}", some_of(&files)));
    }
}

/// Counts files and names the first.
pub(crate) fn some_of(files: &[String]) -> String {
    let count = files.len();
    let names: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let more = if count > NAMED { ", ..." } else { "" };
    format!("{count} file{} ({}{more})", if count == 1 { "" } else { "s" }, names.join(", "))
}

fn unreadable(workspace: &Path, error: &dyn std::error::Error) -> UserError {
    UserError::new(
        UserErrorKind::Configuration,
        format!("git cannot read {}: {}", workspace.display(), chain(error)),
    )
}
