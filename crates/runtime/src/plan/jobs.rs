//! Several tasks at once are done in worktrees: whether there can be any is looked at here.

use std::path::Path;

use windlass_core::graph::workflow::{Act, Step};
use windlass_core::spec::Spec;

use super::Flags;
use crate::effect::{in_a_repository, on_a_branch};
use crate::problem::{Class, Problem};

/// Refuses task loops with several jobs where no worktree can be made.
pub(super) fn need_a_repository(flags: &Flags, spec: &Spec) -> Result<(), Problem> {
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
    found.map_err(|why| Problem::new(class, why))
}

fn needs_worktrees(step: &Step) -> bool {
    matches!(step.act, Act::TaskLoop { jobs: 2.., .. })
        || step.act.blocks().iter().any(|block| block.body.iter().any(needs_worktrees))
}
