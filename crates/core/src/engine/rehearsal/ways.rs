//! The ways that a rehearsal takes: once through every loop, and into both branches of an `if`.
//!
//! A stub cannot know which answer ends a loop or chooses a branch, so the conditions are set here.

use super::RehearsedEffect;
use crate::engine::node::shape::Structure;
use crate::graph::walk::{find, ids_in};
use crate::graph::workflow::{Expression, IfNode, LoopNode, Node, NodeKind};
use crate::id::NodeId;
use crate::spec::Spec;

/// A branch that a rehearsal did not take.
pub(super) struct OtherBranch {
    /// The `if` node.
    pub(super) node: NodeId,
    /// The value of its condition that leads to the branch.
    pub(super) condition: bool,
    /// The nodes of the branch, at any depth.
    pub(super) ids: Vec<NodeId>,
}

/// Ends every loop after one iteration, in this workflow and in those that it starts.
pub(super) fn go_round_once(spec: &mut Spec) {
    in_all_nodes(&mut spec.body, &mut |kind| {
        let NodeKind::Loop(LoopNode { until, max, .. }) = kind else { return };
        match until.is_empty() {
            true => *max = 1,
            false => *until = vec![constant(true)],
        }
    });
    spec.others.values_mut().for_each(go_round_once);
}

/// Describes the end of a loop that the rehearsal leaves after one iteration.
pub(super) fn end_of_loop(spec: &Spec, id: &NodeId) -> Option<String> {
    let NodeKind::Loop(LoopNode { until, max, .. }) = &find(&spec.body, id)?.kind else { return None };
    let conditions: Vec<&str> = until.iter().map(|condition| condition.0.trim()).collect();
    Some(match (conditions.is_empty(), max) {
        (true, 0 | 1) => return None,
        (true, max) => format!("and so on, {max} iterations in all"),
        (false, _) => format!("until {} (taken as true after one iteration)", conditions.join(", or ")),
    })
}

/// Returns the branches below these nodes of which no node appears in the acts.
pub(super) fn not_taken(body: &[Node], acts: &[(NodeId, RehearsedEffect)]) -> Vec<OtherBranch> {
    let is_reached = |id: &NodeId| acts.iter().any(|(owner, _)| owner.in_workflow() == *id);
    let mut found = Vec::new();
    for node in body {
        if let Structure::Either(IfNode { then, otherwise, .. }) = node.kind.shape().structure()
            && is_reached(&node.id)
        {
            for (condition, branch) in [(true, then), (false, otherwise)] {
                let ids = ids_in(branch);
                if !ids.is_empty() && !ids.iter().any(is_reached) {
                    found.push(OtherBranch { node: node.id.clone(), condition, ids });
                }
            }
        }
        found.extend(node.kind.blocks().iter().flat_map(|block| not_taken(block.body, acts)));
    }
    found
}

/// Sets the condition of an `if`, so that a rehearsal takes the other branch.
pub(super) fn choose(spec: &mut Spec, branch: &OtherBranch) {
    let chosen = constant(branch.condition);
    in_all_nodes_with_ids(&mut spec.body, &mut |id, kind| {
        if let NodeKind::If(IfNode { condition, .. }) = kind
            && *id == branch.node
        {
            *condition = chosen.clone();
        }
    });
}

fn constant(value: bool) -> Expression {
    Expression(value.to_string())
}

fn in_all_nodes(body: &mut [Node], change: &mut dyn FnMut(&mut NodeKind)) {
    in_all_nodes_with_ids(body, &mut |_, kind| change(kind));
}

fn in_all_nodes_with_ids(body: &mut [Node], change: &mut dyn FnMut(&NodeId, &mut NodeKind)) {
    for node in body {
        change(&node.id, &mut node.kind);
        for block in node.kind.blocks_mut() {
            in_all_nodes_with_ids(block, change);
        }
    }
}
