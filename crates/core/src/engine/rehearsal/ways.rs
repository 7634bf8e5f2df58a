//! The ways that a rehearsal takes: once through every loop, and into the branches that it would not take.
//!
//! A stub cannot know which answer ends a loop or chooses a branch, so the conditions are set here.
//! [`coverage`](super::coverage) chooses which.

use std::collections::{BTreeMap, BTreeSet};

use super::RehearsedEffect;
use crate::engine::node::shape::Structure;
use crate::graph::template::{self, Scope};
use crate::graph::walk::{find, ids_in};
use crate::graph::workflow::{
    EachNode, Expression, IfNode, Join, LoopNode, Node, NodeKind, NodeNumber, OnFailure, ParallelNode,
};
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

/// A node of the workflow, or of one that it calls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeOf {
    pub(super) workflow: String,
    pub(super) node: NodeId,
}

/// The decisions that a rehearsal takes itself, instead of evaluating conditions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Steering {
    /// The decisions whether these nodes run, in place of their `when`.
    pub(super) whens: BTreeMap<NodeOf, bool>,
    /// The conditions of these `if` nodes.
    pub(super) conditions: BTreeMap<NodeOf, bool>,
    /// The nodes that fail.
    pub(super) fails: BTreeSet<NodeOf>,
    /// Every branch runs to its end, whatever the others do.
    pub(super) joins_all: bool,
    /// The run continues after a node that fails.
    pub(super) carries_on: bool,
}

impl Steering {
    /// Sets the conditions of a workflow. Its calls are steered when they start.
    pub(super) fn steer(&self, spec: &mut Spec) {
        let workflow = spec.workflow.clone();
        self.steer_nodes(&workflow, &mut spec.body);
    }

    fn steer_nodes(&self, workflow: &str, body: &mut [Node]) {
        for node in body {
            let of = NodeOf { workflow: workflow.to_owned(), node: node.id.clone() };
            if let Some(is_run) = self.whens.get(&of) {
                node.when = Some(constant(*is_run));
            }
            if self.carries_on {
                node.on_failure = OnFailure::Continue;
            }
            match &mut node.kind {
                NodeKind::If(IfNode { condition, .. }) => {
                    let chosen = self.conditions.get(&of).map(|chosen| constant(*chosen));
                    chosen.into_iter().for_each(|chosen| *condition = chosen);
                }
                NodeKind::Parallel(ParallelNode { join, .. }) | NodeKind::Each(EachNode { join, .. })
                    if self.joins_all =>
                {
                    *join = Join::All;
                }
                _ => {}
            }
            for block in node.kind.blocks_mut() {
                self.steer_nodes(workflow, block);
            }
        }
    }
}

/// Ends every loop after one iteration.
pub(super) fn go_round_once(body: &mut [Node]) {
    for node in body {
        if let NodeKind::Loop(LoopNode { until, max, forever, .. }) = &mut node.kind {
            node.computed.remove(&NodeNumber::Max);
            *forever = false;
            match until.is_empty() {
                true => *max = 1,
                false => *until = vec![constant(true)],
            }
        }
        node.kind.blocks_mut().into_iter().for_each(|block| go_round_once(block));
    }
}

/// Describes the end of a loop that the rehearsal leaves after one iteration.
pub(super) fn end_of_loop(spec: &Spec, id: &NodeId) -> Option<String> {
    let node = find(&spec.body, id)?;
    let NodeKind::Loop(LoopNode { until, max, forever, .. }) = &node.kind else { return None };
    if *forever {
        return Some("and so on, until the budget is spent or somebody cancels the run".to_owned());
    }
    let conditions: Vec<&str> = until.iter().map(|condition| condition.0.trim()).collect();
    let computed = node.computed.get(&NodeNumber::Max);
    let of_inputs = computed.and_then(|from| number_of_inputs(spec, from));
    Some(match (conditions.is_empty(), of_inputs.unwrap_or((*max).into())) {
        (true, 0 | 1) => return None,
        (true, max) if computed.is_some() && of_inputs.is_none() => {
            format!("and so on, at most {max} iterations in all")
        }
        (true, max) => format!("and so on, {max} iterations in all"),
        (false, _) => format!("until {} (taken as true after one iteration)", conditions.join(", or ")),
    })
}

/// Returns the value of a number that follows from the inputs alone. The outputs of a rehearsal are invented.
fn number_of_inputs(spec: &Spec, from: &Expression) -> Option<u64> {
    let scope = Scope::new(&spec.input, &spec.inputs);
    let value = template::evaluate(from, &scope).ok().filter(|_| !from.0.contains("outputs"))?;
    value.as_u64()
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
    let of = NodeOf { workflow: spec.workflow.clone(), node: branch.node.clone() };
    let steering = Steering { conditions: BTreeMap::from([(of, branch.condition)]), ..Steering::default() };
    steering.steer(spec);
}

fn constant(value: bool) -> Expression {
    Expression(value.to_string())
}
