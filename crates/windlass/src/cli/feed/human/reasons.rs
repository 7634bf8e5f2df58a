//! The reasons of failures that the feed has shown. The blocks around a node that failed fail for the same
//! reason, which the feed does not repeat.

use windlass_core::graph::walk::find;
use windlass_core::graph::workflow::Node;
use windlass_core::id::NodeId;
use windlass_core::run::Outcome;

use super::Human;
use crate::cli::feed::nodes::named;
use crate::cli::feed::steps;

/// The most reasons that are remembered.
const REMEMBERED: usize = 500;

/// The reasons of the nodes that failed, the last one at the end.
#[derive(Debug, Default)]
pub(super) struct ShownReasons(Vec<(NodeId, String)>);

impl ShownReasons {
    fn add(&mut self, node: &NodeId, why: &str) {
        self.0.push((node.clone(), why.to_owned()));
        self.0.drain(..self.0.len().saturating_sub(REMEMBERED));
    }

    /// Returns the words of a reason before the reason of one of these nodes, if it ends with that.
    fn before<'w>(&self, why: &'w str, is_one: impl Fn(&NodeId) -> bool) -> Option<&'w str> {
        let ours = self.0.iter().rev().filter(|(node, _)| is_one(node));
        let before = ours.filter_map(|(_, shown)| why.strip_suffix(shown.as_str())).next();
        before.map(|before| before.trim_end_matches([' ', ':']))
    }
}

impl Human {
    /// Returns the reason with which the line about the end of a node ends: the part of it that neither a node
    /// inside nor the sub-run of the node has shown.
    pub(super) fn why_ended(&mut self, node: &NodeId, outcome: &Outcome) -> Option<String> {
        let why = steps::why(outcome)?;
        let unshown = self.before_inner(node, why).unwrap_or(why).to_owned();
        self.reasons.add(node, why);
        (!unshown.is_empty()).then_some(unshown)
    }

    fn before_inner<'w>(&self, node: &NodeId, why: &'w str) -> Option<&'w str> {
        let definition = self.definition(node)?;
        let inside = self.reasons.before(why, |inner| is_inside(inner, node, definition));
        let below = || {
            let children = self.children.values().filter(|child| child.started_by.as_ref() == Some(node));
            children.filter_map(|child| child.reasons.before(why, |_| true)).next()
        };
        inside.or_else(below)
    }
}

/// Decides whether a node ran inside a block, in the same round of the blocks around both.
fn is_inside(inner: &NodeId, block: &NodeId, definition: &Node) -> bool {
    let marks = |node: &NodeId| node.as_str().strip_prefix(named(node)).unwrap_or_default().to_owned();
    let is_round = |rest: &str| rest.is_empty() || rest.starts_with(['@', '~']);
    let is_same_round = marks(inner).strip_prefix(&marks(block)).is_some_and(is_round);
    let id = inner.in_workflow();
    is_same_round && definition.kind.blocks().iter().any(|within| find(within.body, &id).is_some())
}
