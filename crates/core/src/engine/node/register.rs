//! The list of all kinds of nodes.

use super::clear_context::ClearContextNode;
use super::pair::AnyNode;
use super::shape::NodeShape;
use crate::graph::workflow::{Node, NodeKind, WaitUntil};

/// Evaluates an expression with the node of any kind.
macro_rules! of_kind {
    ($act:expr, $node:ident => $then:expr, clear_context => $clear_context:expr) => {
        match $act {
            NodeKind::Session($node) => $then,
            NodeKind::Shell($node) => $then,
            NodeKind::Check($node) => $then,
            NodeKind::If($node) => $then,
            NodeKind::Loop($node) => $then,
            NodeKind::TaskLoop($node) => $then,
            NodeKind::CriteriaLoop($node) => $then,
            NodeKind::Parallel($node) => $then,
            NodeKind::Each($node) => $then,
            NodeKind::Try($node) => $then,
            NodeKind::Fail($node) => $then,
            NodeKind::Finally($node) => $then,
            NodeKind::Workflow($node) => $then,
            NodeKind::Ask($node) => $then,
            NodeKind::Wait(WaitUntil::Elapsed($node)) => $then,
            NodeKind::Wait(WaitUntil::Event($node)) => $then,
            NodeKind::Review($node) => $then,
            NodeKind::Land($node) => $then,
            NodeKind::PullRequest($node) => $then,
            NodeKind::ClearContext => $clear_context,
        }
    };
}

impl NodeKind {
    /// Returns the execution of this kind.
    pub(in crate::engine) fn node(&self) -> &dyn AnyNode {
        of_kind!(self, node => node, clear_context => &ClearContextNode)
    }

    /// Returns the properties of this kind.
    pub(crate) fn shape(&self) -> &dyn NodeShape {
        self.node()
    }

    /// Returns the blocks inside it, to change them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        of_kind!(self, node => node.blocks_mut(), clear_context => Vec::new())
    }
}
