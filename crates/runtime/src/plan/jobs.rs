//! Several tasks at once are done in worktrees: whether there can be any is looked at here.

use std::path::Path;

use windlass_core::graph::workflow::{Act, Step};
use windlass_core::spec::Spec;
use windlass_peers::git;

use super::Flags;
use crate::effect::{in_a_repository, on_a_branch};
use crate::problem::{Class, Problem};

/// Refuses task loops with several jobs where no worktree can be made.
pub(super) fn need_a_repository(
    flags: &Flags,
    spec: &Spec,
    warnings: &mut Vec<String>,
) -> Result<(), Problem> {
    let has_jobs =
        std::iter::once(spec).chain(spec.others.values()).any(|spec| spec.body.iter().any(needs_worktrees));
    if !has_jobs {
        return Ok(());
    }
    let workspace = Path::new(&spec.workspace);
    // A node that comes before may still make the branch or the first commit.
    let found = match spec.body.first() {
        Some(Step { act: Act::TaskLoop { jobs: 2.., .. }, when: None, .. }) => {
            on_a_branch(workspace).map(drop)
        }
        _ => in_a_repository(workspace),
    };
    let class = if flags.jobs.is_some() { Class::Usage } else { Class::Configuration };
    found.map_err(|why| Problem::new(class, why))?;
    let has_branch = ["show-ref", "--verify", "--quiet", "refs/heads/windlass"];
    if git::git(workspace, &has_branch).is_ok() {
        let text = "a branch is called `windlass`, so that git can have none called `windlass/…`, as those of tasks are";
        return Err(Problem::new(class, text)
            .hint("rename it: `git branch --move windlass OTHER`; `--jobs 1` needs no branches"));
    }
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:.gitmodules"]).is_ok() {
        warnings.push(
            "the repository has submodules, which are empty in the worktrees that tasks are done in"
                .to_owned(),
        );
    }
    Ok(())
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

fn is_done_by_agents(step: &Step) -> bool {
    let is_loop = matches!(step.act, Act::TaskLoop { .. });
    let blocks = step.act.blocks();
    let mut inside = blocks.iter().flat_map(|block| block.body.iter());
    inside.any(|step| if is_loop { has_session(step) } else { is_done_by_agents(step) })
}

fn has_session(step: &Step) -> bool {
    matches!(step.act, Act::Session(_))
        || step.act.blocks().iter().any(|block| block.body.iter().any(has_session))
}

fn needs_worktrees(step: &Step) -> bool {
    matches!(step.act, Act::TaskLoop { jobs: 2.., .. })
        || step.act.blocks().iter().any(|block| block.body.iter().any(needs_worktrees))
}
