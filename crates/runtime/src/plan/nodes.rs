//! Lists the nodes of a workflow, including those inside blocks, with the options of their sessions.

use windlass_core::graph::workflow::{
    Node, NodeKind, NodeNumber, Session, SessionOptions, TurnLoop, Workflow, WorkflowNode,
};
use windlass_core::id::NodeId;
use windlass_core::spec::Spec;

/// A node with the options of its sessions: its own, else those of the enclosing blocks from the inside out,
/// else the workflow's.
pub(super) struct PlannedNode<'w> {
    pub(super) node: &'w Node,
    pub(super) options: SessionOptions,
}

impl<'w> PlannedNode<'w> {
    pub(super) fn session(&self) -> Option<&'w Session> {
        match &self.node.kind {
            NodeKind::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Returns the turns of the node's session, if it has any.
    pub(super) fn turns(&self) -> Option<&'w TurnLoop> {
        self.session().and_then(|session| session.turns.as_ref())
    }
}

/// Returns all nodes in document order. The workflow checks limit the depth, so recursion is safe.
pub(super) fn each(workflow: &Workflow) -> Vec<PlannedNode<'_>> {
    let mut nodes = Vec::new();
    gather(&workflow.body, &workflow.settings, &mut nodes);
    nodes
}

fn gather<'w>(body: &'w [Node], around: &SessionOptions, nodes: &mut Vec<PlannedNode<'w>>) {
    for step in body {
        let own = &step.settings;
        let model = if own.model.is_some() { own } else { around };
        let said = SessionOptions {
            driver: own.driver.as_ref().or(around.driver.as_ref()).cloned(),
            model: model.model.clone(),
            fallbacks: model.fallbacks.clone(),
            effort: own.effort.or(around.effort),
            isolation: own.isolation.or(around.isolation),
            // Not inherited: the timeout of a block applies to the whole block.
            timeout_ms: own.timeout_ms,
            shell: None,
            timeout_from: None,
        };
        let blocks = step.kind.blocks();
        nodes.push(PlannedNode { node: step, options: said.clone() });
        for block in blocks {
            gather(block.body, &said, nodes);
        }
    }
}

/// Returns the names of the workflows that its nodes run.
pub(crate) fn called(workflow: &Workflow) -> Vec<String> {
    let name = |node: PlannedNode<'_>| match &node.node.kind {
        NodeKind::Workflow(WorkflowNode { name, .. }) => Some(name.clone()),
        _ => None,
    };
    each(workflow).into_iter().filter_map(name).collect()
}

/// Warns about each node of a kind that runs do not support yet.
pub(super) fn not_yet(workflow: &Workflow) -> Vec<String> {
    let nodes = each(workflow).into_iter().map(|node| node.node).filter(|node| !node.kind.can_run());
    let warning = |node: &Node| {
        let word = node.kind.word();
        format!("a run would be refused: node `{}` cannot run yet: it is a `{word}` node", node.id)
    };
    nodes.map(warning).collect()
}

/// Changes every node, including those inside blocks.
pub(super) fn change(body: &mut [Node], to: &mut impl FnMut(&NodeId, &mut NodeKind)) {
    for node in body {
        to(&node.id, &mut node.kind);
        for block in node.kind.blocks_mut() {
            change(block, to);
        }
    }
}

/// Forgets how to compute a number of sessions or task loops, because a flag gives it.
pub(super) fn forget_computed(body: &mut [Node], number: NodeNumber) {
    for node in body {
        if matches!(node.kind, NodeKind::Session(_) | NodeKind::TaskLoop(_)) {
            node.computed.remove(&number);
        }
        node.kind.blocks_mut().into_iter().for_each(|block| forget_computed(block, number));
    }
}

/// Returns the workflow with the turn limits of its [`Spec`], to compute the most that it can take.
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
