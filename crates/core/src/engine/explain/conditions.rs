//! The conditions of a node and their values: its `when`, the condition of an `if`, the `until` of a
//! loop.

use serde::Serialize;

use super::around::{counted, taken};
use crate::graph::walk::ids_in;
use crate::graph::workflow::{Expression, IfNode, LoopNode, Node, NodeKind};
use crate::id::NodeId;
use crate::run::{EndReason, News, NodeCause, NodeHistory, Outcome, RunState};

/// A condition of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedCondition {
    /// The field of the node: `when`, `if` or `until`.
    pub field: &'static str,
    pub condition: String,
    /// Its last value. `None` if it was not evaluated.
    pub held: Option<bool>,
}

/// Returns the conditions of a node with their last values. `branch` is the value of an `if` in one
/// instance of the node; without it, the state shows the last one.
pub(super) fn conditions(
    state: &RunState,
    node: &Node,
    seen: Option<&NodeHistory>,
    branch: Option<bool>,
) -> Vec<ExplainedCondition> {
    let condition = |field, expression: &Expression, held| ExplainedCondition {
        field,
        condition: expression.0.trim().to_owned(),
        held,
    };
    let mut found = Vec::new();
    found.extend(node.when.as_ref().map(|when| condition("when", when, seen.and_then(held_when))));
    match &node.kind {
        NodeKind::If(IfNode { condition: decides, .. }) => {
            found.push(condition("if", decides, branch.or_else(|| seen.and_then(|_| taken(state, node)))));
        }
        NodeKind::Loop(LoopNode { until, .. }) => {
            let values = held_until(until, seen, counted(state, node, "iteration"));
            found.extend(until.iter().zip(values).map(|(until, held)| condition("until", until, held)));
        }
        _ => {}
    }
    found
}

/// Returns the value of the `when` of a node that the run reached.
fn held_when(seen: &NodeHistory) -> Option<bool> {
    let is_broken = |outcome: &Outcome| outcome.reason == EndReason::Template;
    match &seen.cause {
        NodeCause::WhenFalse { .. } => Some(false),
        // A condition that cannot be evaluated fails the node, and so does any of its templates.
        _ if seen.outcome.as_ref().is_some_and(is_broken) => None,
        NodeCause::First | NodeCause::After { .. } | NodeCause::Retried { .. } | NodeCause::Continued => {
            Some(true)
        }
    }
}

/// Returns the last values of the conditions that end a loop. The first that is true ends it.
fn held_until(until: &[Expression], seen: Option<&NodeHistory>, rounds: u32) -> Vec<Option<bool>> {
    let outcome = seen.and_then(|seen| seen.outcome.as_ref());
    let end = outcome.filter(|outcome| outcome.reason == EndReason::Until);
    let detail = end.and_then(|outcome| outcome.detail.as_deref());
    let is_true = |condition: &Expression| detail == Some(until_detail(condition).as_str());
    let place = until.iter().position(is_true);
    let value = |at: usize| match (place, outcome) {
        (Some(place), _) if at < place => Some(false),
        (Some(place), _) => (at == place).then_some(true),
        // All were false if the loop used up its iterations.
        (None, Some(outcome)) => (outcome.reason == EndReason::MaxIterations).then_some(false),
        (None, None) => (rounds > 1).then_some(false),
    };
    (0..until.len()).map(value).collect()
}

/// Describes the condition that ended a loop.
pub(in crate::engine) fn until_detail(condition: &Expression) -> String {
    format!("`{}` is true", condition.0.trim())
}

/// Returns whether an `if` took `then`, judged by the news after its start. `None` if the news do not
/// show it.
pub fn branch_taken<'a>(
    node: &Node,
    instance: &NodeId,
    after: impl Iterator<Item = &'a News>,
) -> Option<bool> {
    let NodeKind::If(IfNode { then, otherwise, .. }) = &node.kind else { return None };
    let [then_ids, other_ids] = [ids_in(then), ids_in(otherwise)];
    for news in after {
        let reached = match news {
            News::NodeStarted { node, .. } | News::NodeSkipped { node, .. } | News::NodeHeld { node } => node,
            News::NodeFinished { node, outcome, .. } if node == instance => {
                let is_broken = outcome.reason == EndReason::Template;
                let is_clear = then.is_empty() != otherwise.is_empty();
                return (is_clear && !is_broken).then_some(then.is_empty());
            }
            _ => continue,
        };
        let id = reached.in_workflow();
        if then_ids.contains(&id) {
            return Some(true);
        }
        if other_ids.contains(&id) {
            return Some(false);
        }
    }
    None
}
