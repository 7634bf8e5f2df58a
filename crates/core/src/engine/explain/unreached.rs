//! The cause that kept a node from being reached.

use super::around::taken;
use super::{NodeProgress, SequencePosition, Unreached, UnreachedCause, far, is_under_way};
use crate::graph::workflow::{IfNode, Node, NodeKind, OnFailure};
use crate::run::{FinalStatus, Lifecycle, NodeCause, NodeHistory, RunState};

/// Explains the first node on the path that was not reached.
pub(super) fn unreached(state: &RunState, way: &[SequencePosition<'_>]) -> Unreached {
    let mut around: Option<&Node> = None;
    for (place, spot) in way.iter().enumerate() {
        let Some(step) = spot.step() else { continue };
        match state.bookkeeping.nodes.get(&step.id) {
            Some(NodeHistory { cause: NodeCause::WhenFalse { condition }, .. }) => {
                let because = UnreachedCause::LeftOut { node: step.id.clone(), condition: condition.clone() };
                return Unreached { block: None, because };
            }
            Some(_) => around = Some(step),
            None => {
                let block = (place + 1 < way.len()).then(|| step.id.clone());
                if far(state, &step.id) == NodeProgress::Held {
                    return Unreached { block, because: UnreachedCause::Paused };
                }
                return Unreached { block, because: because(state, around, spot) };
            }
        }
    }
    Unreached { block: None, because: UnreachedCause::NotYet }
}

fn because(state: &RunState, around: Option<&Node>, spot: &SequencePosition<'_>) -> UnreachedCause {
    let before = spot.steps.get(..spot.at).unwrap_or_default();
    let last = before.iter().rev().find_map(|step| Some((step, state.bookkeeping.nodes.get(&step.id)?)));
    if let Some((step, seen)) = last {
        return after(state, around, step, seen);
    }
    let Some(around) = around else { return ended(state, None) };
    match (&around.kind, spot.inside) {
        (NodeKind::If(IfNode { condition, .. }), Some(inside)) => match taken(state, around) {
            Some(held) if held != (inside.field == "then") => {
                let condition = condition.0.trim().to_owned();
                UnreachedCause::OtherWay { node: around.id.clone(), condition, held }
            }
            _ => ended(state, Some(around)),
        },
        (NodeKind::Parallel(_), Some(inside)) if is_under_way(state, around) => {
            let branch = inside.name.unwrap_or_default().to_owned();
            UnreachedCause::NoRoom { node: around.id.clone(), branch }
        }
        (NodeKind::TaskLoop(_), _) if is_under_way(state, around) => {
            UnreachedCause::NoRound { node: around.id.clone() }
        }
        _ => ended(state, Some(around)),
    }
}

/// Explains a node that did not start although the previous one did.
fn after(state: &RunState, around: Option<&Node>, step: &Node, seen: &NodeHistory) -> UnreachedCause {
    if is_under_way(state, step) {
        return UnreachedCause::Later { node: step.id.clone() };
    }
    match &seen.outcome {
        Some(outcome) if outcome.status != FinalStatus::Completed && step.on_failure == OnFailure::Fail => {
            UnreachedCause::Failed { node: step.id.clone(), outcome: outcome.clone() }
        }
        _ => ended(state, around),
    }
}

/// Explains a node whose enclosing block or run ended first.
fn ended(state: &RunState, around: Option<&Node>) -> UnreachedCause {
    let block = around.and_then(|step| {
        let outcome = state.bookkeeping.nodes.get(&step.id)?.outcome.clone()?;
        Some(UnreachedCause::Over { node: step.id.clone(), outcome })
    });
    match (block, &state.lifecycle) {
        (Some(over), _) => over,
        (
            None,
            Lifecycle::Ending { outcome } | Lifecycle::Finally { outcome } | Lifecycle::Done { outcome },
        ) => UnreachedCause::Ended { outcome: outcome.clone() },
        (None, Lifecycle::Running) => UnreachedCause::NotYet,
    }
}
