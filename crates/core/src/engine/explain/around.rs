//! The progress of the blocks around a node: the chosen branch or the number of iterations.

use super::{BlockProgress, EnclosingBlock, actives, far};
use crate::graph::walk::NodeBlock;
use crate::graph::workflow::{CriteriaLoopNode, IfNode, LoopNode, Node, NodeKind, ParallelNode};
use crate::id::NodeId;
use crate::run::{Activity, FinalStatus, IfState, NodeCause, NodeHistory, RoundsState, RunState};

/// The answer to the question of whether the run reached a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    Yes,
    No,
}

/// Returns the progress of a block around a node.
pub(super) fn around_by(
    state: &RunState,
    step: &Node,
    inside: NodeBlock<'_>,
    reached: Reached,
    of_node: &mut impl Iterator<Item = u32>,
) -> Option<EnclosingBlock> {
    let block = match &step.kind {
        NodeKind::If(IfNode { condition, .. }) => {
            let then = inside.field == "then";
            // In a later iteration it may have chosen the other branch.
            let held = if reached == Reached::Yes { Some(then) } else { taken(state, step) };
            BlockProgress::If { condition: condition.0.trim().to_owned(), held, then }
        }
        NodeKind::Loop(LoopNode { max, .. }) | NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. }) => {
            BlockProgress::Loop {
                rounds: counted(state, step, "iteration"),
                round: of_node.next(),
                max: *max,
            }
        }
        NodeKind::TaskLoop(_) => BlockProgress::Tasks {
            rounds: counted(state, step, "iteration"),
            round: of_node.next(),
            passed: counted(state, step, "passed"),
        },
        NodeKind::Parallel(ParallelNode { join, .. }) => {
            BlockProgress::Parallel { branch: inside.name.unwrap_or_default().to_owned(), join: *join }
        }
        NodeKind::Each(_) => {
            BlockProgress::Items { number: of_node.next(), done: complete_items(state, step) }
        }
        NodeKind::Try(_) => BlockProgress::Try { is_catch: inside.field == "catch" },
        _ => return None,
    };
    let outcome = state.bookkeeping.nodes.get(&step.id).and_then(|seen| seen.outcome.clone());
    Some(EnclosingBlock { node: step.id.clone(), far: far(state, &step.id), outcome, block })
}

/// Returns whether an `if` last chose `then`. `None` if the state does not show it.
pub(super) fn taken(state: &RunState, node: &Node) -> Option<bool> {
    let NodeKind::If(IfNode { then, otherwise, .. }) = &node.kind else { return None };
    let activity =
        actives(state).into_iter().filter(|active| active.step == node.id).map(|active| &active.activity);
    let mut now = activity.filter_map(|activity| match activity {
        Activity::If(IfState { then, .. }) => Some(*then),
        _ => None,
    });
    if let Some(then) = now.next_back() {
        return Some(then);
    }
    let seen = state.bookkeeping.nodes.get(&node.id)?;
    if matches!(seen.cause, NodeCause::WhenFalse { .. }) {
        return None;
    }
    match (has_begun(state, node, seen, then), has_begun(state, node, seen, otherwise)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        // A condition that cannot be evaluated fails the node, and no branch is chosen.
        _ if seen.outcome.as_ref().is_none_or(|outcome| outcome.status != FinalStatus::Completed) => None,
        _ if then.is_empty() != otherwise.is_empty() => Some(then.is_empty()),
        _ => None,
    }
}

/// Decides whether a branch of an `if` started in the last iteration and attempt of the `if`
/// itself.
fn has_begun(state: &RunState, outer: &Node, seen: &NodeHistory, body: &[Node]) -> bool {
    let Some(first) = body.first() else { return false };
    let Some(inner) = state.bookkeeping.nodes.get(&first.id) else { return false };
    let mark = |instance: &NodeId, id: &NodeId| {
        instance.as_str().strip_prefix(id.as_str()).unwrap_or_default().to_owned()
    };
    let (around, within) = (mark(&seen.instance, &outer.id), mark(&inner.instance, &first.id));
    let rest = within.strip_prefix(&around);
    inner.began >= seen.began && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
}

/// Returns a count of a loop: from its state while it is in progress, and then from its output.
pub(super) fn counted(state: &RunState, node: &Node, what: &str) -> u32 {
    let activity =
        actives(state).into_iter().filter(|active| active.step == node.id).map(|active| &active.activity);
    let mut now = activity.filter_map(|activity| match activity {
        Activity::Loop(RoundsState { round, .. }) => Some(*round),
        Activity::Tasks(tasks) if what == "passed" => Some(tasks.passed),
        Activity::Tasks(tasks) => Some(tasks.rounds),
        Activity::Each(each) => Some(each.good),
        _ => None,
    });
    let given = || {
        let value = state.bookkeeping.outputs.get(&node.id)?.value.as_ref()?.get(what)?.as_u64()?;
        u32::try_from(value).ok()
    };
    now.next_back().or_else(given).unwrap_or(0)
}

/// Returns the number of complete items of an `each`, if there is one answer.
fn complete_items(state: &RunState, node: &Node) -> Option<u32> {
    let is_known = state.bookkeeping.outputs.contains_key(&node.id);
    let in_progress = actives(state).iter().filter(|active| active.step == node.id).count();
    (is_known || in_progress == 1).then(|| counted(state, node, "completed"))
}

/// Returns the iterations of the loops around a node instance, outermost first: 2 and 3 for
/// `fix@2~1@3`.
pub(super) fn rounds_in(instance: &str) -> Vec<u32> {
    let marks = instance.split('@').skip(1);
    marks.filter_map(|mark| mark.split('~').next()?.parse().ok()).collect()
}
