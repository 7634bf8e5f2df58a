//! What is common to all ways through a workflow: the word of a node, and the blocks inside it.

use super::workflow::{Node, NodeKind, Session};
use crate::engine::node::shape::Structure;
use crate::id::NodeId;

/// How deep blocks may nest. A check refuses more, and everything here stops there.
pub const MAX_DEPTH: usize = 40;

/// A sequence of nodes inside a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeBlock<'w> {
    /// The key it stands under: `then`, `else`, `do`, `before_each`, `branches`.
    pub field: &'static str,
    /// The branch's name.
    pub name: Option<&'w str>,
    /// What is done.
    pub body: &'w [Node],
}

impl NodeKind {
    /// The key that says it in a document.
    pub fn word(&self) -> &'static str {
        self.shape().word()
    }

    /// Whether runs can carry it out.
    pub fn can_run(&self) -> bool {
        self.shape().can_run()
    }

    /// Whether it names a command, a skill or an agent.
    pub fn names_entity(&self) -> bool {
        self.shape().names_entity()
    }

    /// The session, where it is one.
    pub fn session(&self) -> Option<&Session> {
        if let NodeKind::Session(session) = self { Some(session) } else { None }
    }

    /// The blocks inside it, in the order of the text.
    pub fn blocks(&self) -> Vec<NodeBlock<'_>> {
        let block = |field, body| NodeBlock { field, name: None, body };
        match self.shape().structure() {
            Structure::Leaf => Vec::new(),
            Structure::Either(node) => vec![block("then", &node.then), block("else", &node.otherwise)],
            Structure::Rounds { body, .. } => vec![block("do", body)],
            Structure::Tasks(node) => vec![block("before_each", &node.before_each), block("do", &node.body)],
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

/// The ids of these nodes and of all nodes inside them.
pub fn ids_in(steps: &[Node]) -> Vec<NodeId> {
    let mut ids = Vec::new();
    let mut left: Vec<&Node> = steps.iter().collect();
    while let Some(node) = left.pop() {
        ids.push(node.id.clone());
        left.extend(node.kind.blocks().iter().flat_map(|block| block.body));
    }
    ids
}

/// A node by its id, among these and those inside them.
pub fn find<'w>(steps: &'w [Node], id: &NodeId) -> Option<&'w Node> {
    steps.iter().find_map(|node| {
        if node.id == *id {
            return Some(node);
        }
        node.kind.blocks().into_iter().find_map(|block| find(block.body, id))
    })
}

/// How many blocks are around a node.
pub fn depth_of(steps: &[Node], id: &NodeId) -> Option<usize> {
    steps.iter().find_map(|node| {
        if node.id == *id {
            return Some(0);
        }
        node.kind.blocks().iter().find_map(|block| depth_of(block.body, id)).map(|depth| depth + 1)
    })
}
