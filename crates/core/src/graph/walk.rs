//! Traversal of a workflow: the key of a node in documents, and the blocks inside it.

use super::workflow::{Node, NodeKind, Session};
use crate::engine::node::shape::Structure;
use crate::id::NodeId;

/// The deepest nesting of blocks. The check refuses deeper workflows, and traversals stop here.
pub const MAX_DEPTH: usize = 40;

/// A sequence of nodes inside a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeBlock<'w> {
    /// The document key of the block: `then`, `else`, `do`, `before_each`, `branches`, `try`, `catch`.
    pub field: &'static str,
    /// The name of a branch; `None` for other blocks.
    pub name: Option<&'w str>,
    pub body: &'w [Node],
}

impl NodeKind {
    /// Returns the document key that selects this kind.
    pub fn word(&self) -> &'static str {
        self.shape().word()
    }

    /// Returns whether the engine can run this kind.
    pub fn can_run(&self) -> bool {
        self.shape().can_run()
    }

    /// Returns whether it names a command, a skill or an agent.
    pub fn names_entity(&self) -> bool {
        self.shape().names_entity()
    }

    pub fn session(&self) -> Option<&Session> {
        if let NodeKind::Session(session) = self { Some(session) } else { None }
    }

    /// Returns the blocks inside it, in document order.
    pub fn blocks(&self) -> Vec<NodeBlock<'_>> {
        let block = |field, body| NodeBlock { field, name: None, body };
        match self.shape().structure() {
            Structure::Leaf => Vec::new(),
            Structure::Either(node) => vec![block("then", &node.then), block("else", &node.otherwise)],
            Structure::Rounds { body, .. } => vec![block("do", body)],
            Structure::Items(node) => vec![block("do", &node.body)],
            Structure::Tasks(node) => vec![block("before_each", &node.before_each), block("do", &node.body)],
            Structure::Guarded(node) => vec![block("try", &node.body), block("catch", &node.catch)],
            Structure::Last(body) => vec![block("finally", body)],
            Structure::Beside(node) => {
                let branches = node.branches.iter();
                branches
                    .map(|branch| NodeBlock {
                        field: "branches",
                        name: Some(&branch.name),
                        body: &branch.body,
                    })
                    .collect()
            }
        }
    }
}

/// Returns the ids of these nodes and of all nodes inside them.
pub fn ids_in(steps: &[Node]) -> Vec<NodeId> {
    nodes_in(steps).into_iter().map(|node| node.id.clone()).collect()
}

fn nodes_in(steps: &[Node]) -> Vec<&Node> {
    let mut nodes = Vec::new();
    let mut left: Vec<&Node> = steps.iter().collect();
    while let Some(node) = left.pop() {
        nodes.push(node);
        left.extend(node.kind.blocks().iter().flat_map(|block| block.body));
    }
    nodes
}

/// Returns the ids of the steps among these nodes and all nodes inside them: those that do something
/// themselves.
pub fn steps_in(nodes: &[Node]) -> Vec<NodeId> {
    let steps = nodes_in(nodes).into_iter().filter(|node| node.kind.shape().is_step());
    steps.map(|node| node.id.clone()).collect()
}

/// Finds a node by its id, among these nodes and all nodes inside them.
pub fn find<'w>(steps: &'w [Node], id: &NodeId) -> Option<&'w Node> {
    steps.iter().find_map(|node| {
        if node.id == *id {
            return Some(node);
        }
        node.kind.blocks().into_iter().find_map(|block| find(block.body, id))
    })
}

/// Returns how many blocks enclose a node.
pub fn depth_of(steps: &[Node], id: &NodeId) -> Option<usize> {
    steps.iter().find_map(|node| {
        if node.id == *id {
            return Some(0);
        }
        node.kind.blocks().iter().find_map(|block| depth_of(block.body, id)).map(|depth| depth + 1)
    })
}
