//! The nodes of a workflow, blocks included, each with what is said of its sessions around it.

use windlass_core::graph::workflow::{
    Node, NodeKind, Session, SessionOptions, TurnLoop, Workflow, WorkflowNode,
};
use windlass_core::id::NodeId;
use windlass_core::spec::Spec;

/// A node and how its sessions are to be run: its own word, else that of the blocks around it from
/// the inside out, else the workflow's.
pub(super) struct PlannedNode<'w> {
    pub(super) node: &'w Node,
    pub(super) options: SessionOptions,
}

impl<'w> PlannedNode<'w> {
    /// The session, where it is one.
    pub(super) fn session(&self) -> Option<&'w Session> {
        match &self.node.kind {
            NodeKind::Session(session) => Some(session),
            _ => None,
        }
    }

    /// The turns of its session, where it has some.
    pub(super) fn turns(&self) -> Option<&'w TurnLoop> {
        self.session().and_then(|session| session.turns.as_ref())
    }
}

/// All nodes, in the order of the text. Blocks nest no deeper than the checks let them.
pub(super) fn each(workflow: &Workflow) -> Vec<PlannedNode<'_>> {
    let mut nodes = Vec::new();
    gather(&workflow.body, &workflow.settings, &mut nodes);
    nodes
}

fn gather<'w>(body: &'w [Node], around: &SessionOptions, nodes: &mut Vec<PlannedNode<'w>>) {
    for step in body {
        let own = &step.settings;
        let said = SessionOptions {
            driver: own.driver.as_ref().or(around.driver.as_ref()).cloned(),
            model: own.model.as_ref().or(around.model.as_ref()).cloned(),
            isolation: own.isolation.or(around.isolation),
            // Each node keeps to its own: the one of a block is for the whole block.
            timeout_ms: own.timeout_ms,
        };
        let blocks = step.kind.blocks();
        nodes.push(PlannedNode { node: step, options: said.clone() });
        for block in blocks {
            gather(block.body, &said, nodes);
        }
    }
}

/// The workflows that are run from its nodes.
pub(super) fn called(workflow: &Workflow) -> Vec<String> {
    let name = |node: PlannedNode<'_>| match &node.node.kind {
        NodeKind::Workflow(WorkflowNode { name, .. }) => Some(name.clone()),
        _ => None,
    };
    each(workflow).into_iter().filter_map(name).collect()
}

/// Changes every node, blocks included.
pub(super) fn change(body: &mut [Node], to: &mut impl FnMut(&NodeId, &mut NodeKind)) {
    for node in body {
        to(&node.id, &mut node.kind);
        for block in node.kind.blocks_mut() {
            change(block, to);
        }
    }
}

/// The workflow with its turns bounded as its orders bound them, to say what it can take.
pub(super) fn bounded(workflow: &Workflow, spec: &Spec) -> Workflow {
    let mut workflow = workflow.clone();
    change(&mut workflow.body, &mut |id, kind| {
        let rules = spec.sessions.get(id).and_then(|session_settings| session_settings.rules.as_ref());
        if let (NodeKind::Session(Session { turns: Some(turns), .. }), Some(rules)) = (kind, rules) {
            turns.max = Some(rules.max_iterations);
        }
    });
    workflow
}
