//! Which kinds of nodes there are: the one place that names them all.

use super::clear_context::ClearContextNode;
use super::pair::AnyNode;
use super::shape::NodeShape;
use crate::graph::workflow::{Act, Step, Until};

/// Does something with the kind of a node, whichever it is.
macro_rules! of_kind {
    ($act:expr, $node:ident => $then:expr, clear_context => $clear_context:expr) => {
        match $act {
            Act::Session($node) => $then,
            Act::Shell($node) => $then,
            Act::Check($node) => $then,
            Act::If($node) => $then,
            Act::Loop($node) => $then,
            Act::TaskLoop($node) => $then,
            Act::CriteriaLoop($node) => $then,
            Act::Parallel($node) => $then,
            Act::Workflow($node) => $then,
            Act::Ask($node) => $then,
            Act::Wait(Until::Elapsed($node)) => $then,
            Act::Wait(Until::Event($node)) => $then,
            Act::Review($node) => $then,
            Act::Land($node) => $then,
            Act::PullRequest($node) => $then,
            Act::ClearContext => $clear_context,
        }
    };
}

impl Act {
    /// Returns its kind, to run it.
    pub(in crate::engine) fn node(&self) -> &dyn AnyNode {
        of_kind!(self, node => node, clear_context => &ClearContextNode)
    }

    /// Returns its kind, to look at it.
    pub(crate) fn shape(&self) -> &dyn NodeShape {
        self.node()
    }

    /// The blocks inside it, to change them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Step>> {
        of_kind!(self, node => node.blocks_mut(), clear_context => Vec::new())
    }
}
