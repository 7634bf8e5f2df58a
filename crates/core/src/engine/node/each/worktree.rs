//! The worktrees of the items of an `each` block.

use super::super::pair::{Delivered, NodeSite};
use super::{EachItem, EachLane, EachNode, EachPhase, name};
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::engine::frame::Frame;
use crate::event::{Event, WorktreeEnd};
use crate::id::{EffectId, Verb};
use crate::run::{EndReason, FinalStatus, Outcome};
use crate::tasks::TaskId;

/// Removes the worktree of an item that ended, unless it contains work. Returns the outcome if there is none to
/// remove.
pub(super) fn leave_worktree(
    cx: &mut DecisionCx<'_>,
    site: &NodeSite<'_>,
    item: &EachItem,
    open: &mut EachLane,
    outcome: Outcome,
) -> Option<Outcome> {
    let (Some(branch), Some(_)) = (&open.branch, &open.workspace) else { return Some(outcome) };
    if outcome.status == FinalStatus::Interrupted {
        return Some(outcome);
    }
    let effect = Effect::LeaveWorktree { branch: branch.clone() };
    open.phase = EachPhase::Leaving(outcome);
    let attempt = open.worktrees.saturating_add(cx.bookkeeping.continued);
    let node = name(site.instance, item.number);
    cx.plan(EffectId { node, iteration: 1, attempt, verb: Verb::Settle }, effect);
    None
}

impl EachNode {
    pub(super) fn make_worktree(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        item: &EachItem,
        open: &mut EachLane,
    ) -> Option<Outcome> {
        open.phase = EachPhase::Making;
        open.worktrees += 1;
        let named = format!("{}-{}", site.node.id, item.number).parse::<TaskId>();
        let Ok(task) = named else {
            cx.break_off(format!("`{}` cannot name a worktree", site.node.id));
            return None;
        };
        let node = name(site.instance, item.number);
        let effect = Effect::MakeWorktree { task, attempt: open.worktrees, target: None, from: Vec::new() };
        let attempt = open.worktrees.saturating_add(cx.bookkeeping.continued);
        cx.plan(EffectId { node, iteration: 1, attempt, verb: Verb::Worktree }, effect);
        None
    }

    /// Handles what happened to the worktree of an item.
    pub(super) fn about_worktree(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        inside: &Frame<'_>,
        item: &EachItem,
        open: &mut EachLane,
        event: &Event,
    ) -> Delivered {
        let Event::WorktreeMade { end, .. } = event else { return site.unexpected(cx, event) };
        match (end, open.phase.clone()) {
            (WorktreeEnd::Made { workspace, branch, .. }, EachPhase::Making) => {
                open.workspace = Some(workspace.clone());
                open.branch = Some(branch.clone());
                match &open.lane.cut {
                    Some(cut) => Delivered::Over(cut.clone()),
                    None => self.work(cx, inside, item, open).into(),
                }
            }
            (WorktreeEnd::Failed { why } | WorktreeEnd::Conflict { why }, EachPhase::Making) => {
                let failed = Outcome::new(FinalStatus::Failed, EndReason::Git).because(why.clone());
                Delivered::Over(open.lane.cut.clone().unwrap_or(failed))
            }
            (WorktreeEnd::Left { kept }, EachPhase::Leaving(outcome)) => {
                open.branch.take_if(|_| !kept);
                open.workspace = None;
                Delivered::Over(outcome)
            }
            _ => site.unexpected(cx, event),
        }
    }
}
