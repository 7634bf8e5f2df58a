//! Finds the nodes that no run gets past, because they always fail: `fail`, and blocks that end in it.

use std::ops::Range;

use super::outline::{Outline, OutlineNode};
use super::reach::never_ends;
use crate::engine::node::shape::Structure;
use crate::graph::workflow::{Join, NodeKind, OnFailure};

/// The nodes that no run gets past.
pub(super) struct DeadEnds {
    /// By the position of the node: whether no run gets past it once it has started.
    nodes: Vec<bool>,
}

impl DeadEnds {
    pub(super) fn of(outline: &Outline<'_>) -> DeadEnds {
        let mut ends = DeadEnds { nodes: vec![false; outline.nodes.len()] };
        // Inner nodes come after their outer node, so walking backwards meets them first.
        for node in outline.nodes.iter().rev() {
            let is_end = ends.decide(outline, node);
            if let Some(place) = ends.nodes.get_mut(node.at) {
                *place = is_end;
            }
        }
        ends
    }

    /// Returns whether no run gets past a node once it has started.
    pub(super) fn at(&self, node: &OutlineNode<'_>) -> bool {
        self.nodes.get(node.at).copied().unwrap_or(false)
    }

    /// Returns whether no run gets to the end of these nodes.
    pub(super) fn among(&self, outline: &Outline<'_>, range: &Range<usize>) -> bool {
        let mut at = range.start;
        while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
            if self.at(node) && !node.is_optional() {
                return true;
            }
            at = node.end;
        }
        false
    }

    fn decide(&self, outline: &Outline<'_>, node: &OutlineNode<'_>) -> bool {
        if node.node.on_failure == OnFailure::Continue {
            return false;
        }
        let blocks: Vec<bool> = outline.blocks(node).iter().map(|range| self.among(outline, range)).collect();
        let (any, all) = (blocks.contains(&true), !blocks.is_empty() && !blocks.contains(&false));
        match node.node.kind.shape().structure() {
            Structure::Leaf => matches!(node.node.kind, NodeKind::Fail(_)),
            Structure::Either(_) => match node.condition {
                Some(true) => blocks.first() == Some(&true),
                Some(false) => blocks.last() == Some(&true),
                None => all,
            },
            Structure::Rounds { .. } => any || never_ends(node),
            Structure::Beside(parallel) if parallel.join == Join::All => any,
            Structure::Beside(_) => all,
            Structure::Guarded(caught) => blocks.first() == Some(&true) && (caught.catch.is_empty() || all),
            // There may be no task and no item, and `finally` ends nothing.
            Structure::Tasks(_) | Structure::Items(_) | Structure::Last(_) => false,
        }
    }
}
