//! Checks that parallel tasks can have worktrees.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::graph::workflow::{EachNode, Node, NodeKind, TaskLoopNode};
use windlass_core::spec::Spec;
use windlass_peers::git::{self, GitError};

use super::PlanFlags;
use super::own_worktree::uncommitted;
use crate::effect::{in_a_repository, on_a_branch};
use crate::user_error::{UserError, UserErrorKind};

/// The time to wait for a git lock before it counts as left behind.
const LOCKED: Duration = Duration::from_secs(2);
/// The usual name of a task file.
const TASK_FILE: &str = "tasks.json";
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Refuses task loops with several jobs where Windlass cannot make a worktree.
pub(super) fn need_a_repository(
    flags: &PlanFlags,
    spec: &Spec,
    warnings: &mut Vec<String>,
) -> Result<(), UserError> {
    let has_jobs =
        std::iter::once(spec).chain(spec.others.values()).any(|spec| spec.body.iter().any(needs_worktrees));
    if !has_jobs {
        return Ok(());
    }
    let workspace = Path::new(&spec.workspace);
    // An earlier node may still create the branch or the first commit.
    let found = match spec.body.first() {
        Some(Node { kind: NodeKind::TaskLoop(TaskLoopNode { jobs: 2.., .. }), when: None, .. }) => {
            on_a_branch(workspace).map(drop)
        }
        _ => in_a_repository(workspace),
    };
    let class = if flags.jobs.is_some() { UserErrorKind::Usage } else { UserErrorKind::Configuration };
    found.map_err(|why| UserError::new(class, why))?;
    let has_branch = ["show-ref", "--verify", "--quiet", "refs/heads/windlass"];
    if git::git(workspace, &has_branch).is_ok() {
        let text = "tasks need branches named `windlass/…`, and the branch `windlass` is in their way";
        return Err(UserError::new(class, text)
            .hint("rename it: `git branch --move windlass OTHER`; `--jobs 1` needs no branches"));
    }
    know_who_commits(workspace)?;
    find_no_lock(workspace)?;
    // Windlass itself keeps the task file, and lands beside it.
    if uncommitted(workspace).iter().any(|name| !name.ends_with(TASK_FILE)) {
        warnings.push("a task that changes an uncommitted file cannot land until you commit it".to_owned());
    }
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:.gitmodules"]).is_ok() {
        warnings.push(
            "the repository has submodules, which are empty in the worktrees that tasks are done in"
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses a repository without a git identity. Landing a second task rebases it, which makes commits: better
/// to fail now than after the agents have worked.
fn know_who_commits(workspace: &Path) -> Result<(), UserError> {
    for name in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if let Err(GitError::Failed { code: Some(_), .. }) = git::git(workspace, &["var", name]) {
            let text = "git does not know who commits here, and Windlass makes commits to land tasks";
            return Err(UserError::new(UserErrorKind::Configuration, text).hint(
                "`git config user.name NAME` and `git config user.email EMAIL`, or GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, \
                 GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL",
            ));
        }
    }
    Ok(())
}

/// Refuses a repository that a git lock blocks: no task could land. Waits briefly, because a person may be
/// committing right now.
fn find_no_lock(workspace: &Path) -> Result<(), UserError> {
    let until = Instant::now() + LOCKED;
    loop {
        // If git cannot answer, the code that needs the repository reports that.
        let Some(lock) = git::locks(workspace).unwrap_or_default().into_iter().next() else { return Ok(()) };
        if Instant::now() >= until {
            let text = format!("git is locked by {}, so no task could land", lock.display());
            return Err(UserError::new(UserErrorKind::Configuration, text).hint(
                "wait until git is done; if no git process is running in the repository, a killed one left this lock: \
                 remove the file",
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Warns if only the word of an agent decides whether a task is done.
pub(super) fn note_missing_checks(spec: &Spec, warnings: &mut Vec<String>) {
    let is_unchecked = |spec: &Spec| spec.checks.is_empty() && spec.body.iter().any(is_done_by_agents);
    if std::iter::once(spec).chain(spec.others.values()).any(is_unchecked) {
        let text =
            "there are no checks: a task is passing when its agent says so; give some with --check CMD";
        warnings.push(text.to_owned());
    }
}

fn is_done_by_agents(node: &Node) -> bool {
    let is_loop = matches!(node.kind, NodeKind::TaskLoop(_));
    let blocks = node.kind.blocks();
    let mut inside = blocks.iter().flat_map(|block| block.body.iter());
    inside.any(|node| if is_loop { has_session(node) } else { is_done_by_agents(node) })
}

fn has_session(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Session(_))
        || node.kind.blocks().iter().any(|block| block.body.iter().any(has_session))
}

fn needs_worktrees(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::TaskLoop(TaskLoopNode { jobs: 2.., .. }) | NodeKind::Each(EachNode { worktree: true, .. })
    ) || node.kind.blocks().iter().any(|block| block.body.iter().any(needs_worktrees))
}
