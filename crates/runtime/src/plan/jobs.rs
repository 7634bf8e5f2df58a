//! Several tasks at once are done in worktrees: whether there can be any is looked at here.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::graph::workflow::{Node, NodeKind, TaskLoopNode};
use windlass_core::spec::Spec;
use windlass_peers::git::{self, GitError};

use super::PlanFlags;
use crate::effect::{in_a_repository, on_a_branch};
use crate::user_error::{UserError, UserErrorKind};

/// How long git may be at work before it is taken for one that has died or stays.
const LOCKED: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Refuses task loops with several jobs where no worktree can be made.
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
    // A node that comes before may still make the branch or the first commit.
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
        let text = "a branch is called `windlass`, so that git can have none called `windlass/…`, as those of tasks are";
        return Err(UserError::new(class, text)
            .hint("rename it: `git branch --move windlass OTHER`; `--jobs 1` needs no branches"));
    }
    know_who_commits(workspace)?;
    find_no_lock(workspace)?;
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:.gitmodules"]).is_ok() {
        warnings.push(
            "the repository has submodules, which are empty in the worktrees that tasks are done in"
                .to_owned(),
        );
    }
    Ok(())
}

/// A second task lands by a rebase, which makes commits: better refused now than after the agents
/// have worked.
fn know_who_commits(workspace: &Path) -> Result<(), UserError> {
    for name in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if let Err(GitError::Failed { code: Some(_), .. }) = git::git(workspace, &["var", name]) {
            let text =
                "git does not know who commits here, and what tasks have done is brought back by commits";
            return Err(UserError::new(UserErrorKind::Configuration, text).hint(
                "`git config user.name NAME` and `git config user.email EMAIL`, or GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, \
                 GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL",
            ));
        }
    }
    Ok(())
}

/// A lock of git's would keep what is done from coming back. A person who commits just now is waited
/// for.
fn find_no_lock(workspace: &Path) -> Result<(), UserError> {
    let until = Instant::now() + LOCKED;
    loop {
        // What git says to the question is said by whoever needs the repository.
        let Some(lock) = git::locks(workspace).unwrap_or_default().into_iter().next() else { return Ok(()) };
        if Instant::now() >= until {
            let text = format!(
                "git is locked by {}, so that what tasks have done could not come back",
                lock.display()
            );
            return Err(UserError::new(UserErrorKind::Configuration, text).hint(
                "wait until git is done there; when no git is at work in the repository, it was left by one that was \
                 killed: remove the file",
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Says where only the words of agents tell whether a task is done.
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
    matches!(node.kind, NodeKind::TaskLoop(TaskLoopNode { jobs: 2.., .. }))
        || node.kind.blocks().iter().any(|block| block.body.iter().any(needs_worktrees))
}
