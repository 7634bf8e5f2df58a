//! Finds the iterations of a loop in which a node certainly runs.
//!
//! A node without a condition runs in each iteration that completes, and a loop starts no iteration after
//! one that did not. A node whose conditions only test `iteration` runs in the iterations that they allow.

use std::ops::Range;

use super::outline::{Outline, OutlineNode, Text};
use crate::engine::node::shape::Structure;
use crate::graph::template::names::{ConditionFacts, IterationRange};
use crate::graph::workflow::{Join, OnFailure};

/// The iterations in which each node certainly runs.
pub(super) struct Certainty {
    /// By the position of the node.
    nodes: Vec<CertainRuns>,
}

#[derive(Clone, Copy)]
struct CertainRuns {
    /// The innermost loop around the node.
    around: Option<usize>,
    /// The iterations of that loop.
    iterations: IterationRange,
}

impl Certainty {
    pub(super) fn of(outline: &Outline<'_>) -> Certainty {
        let unknown = CertainRuns { around: None, iterations: IterationRange::NONE };
        let mut certainty = Certainty { nodes: vec![unknown; outline.nodes.len()] };
        let always = CertainRuns { around: None, iterations: IterationRange::ALL };
        certainty.sequence(outline, 0..outline.nodes.len(), always);
        certainty
    }

    /// Returns the iterations of a loop in which a node inside it certainly runs.
    pub(super) fn within(&self, node: usize, around: usize) -> IterationRange {
        let mut at = node;
        while let Some(runs) = self.nodes.get(at) {
            match runs.around {
                Some(innermost) if innermost == around => return runs.iterations,
                // In another loop, only the last iteration counts, which may be any.
                Some(innermost) if runs.iterations == IterationRange::ALL => at = innermost,
                _ => return IterationRange::NONE,
            }
        }
        IterationRange::NONE
    }

    fn sequence(&mut self, outline: &Outline<'_>, range: Range<usize>, runs: CertainRuns) {
        let mut at = range.start;
        while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
            self.node(outline, node, runs);
            at = node.end;
        }
    }

    fn node(&mut self, outline: &Outline<'_>, node: &OutlineNode<'_>, runs: CertainRuns) {
        let runs = match &node.node.when {
            Some(_) => runs.only(facts(node, "when", true)),
            None => runs,
        };
        if let Some(place) = self.nodes.get_mut(node.at) {
            *place = runs;
        }
        // After a failure inside it, the run may continue without the rest of the block.
        let may_stop = node.node.on_failure == OnFailure::Continue;
        let runs = if may_stop { runs.never() } else { runs };
        for (index, range) in outline.blocks(node).into_iter().enumerate() {
            let inside = match node.node.kind.shape().structure() {
                Structure::Either(_) => runs.only(facts(node, "if", index == 0)),
                Structure::Rounds { .. } => {
                    CertainRuns { around: Some(node.at), iterations: IterationRange::ALL }
                }
                Structure::Beside(parallel) if parallel.join == Join::All => runs,
                // The first block of a `try` may fail at any node.
                Structure::Leaf
                | Structure::Tasks(_)
                | Structure::Beside(_)
                | Structure::Items(_)
                | Structure::Guarded(_)
                | Structure::Last(_) => runs.never(),
            };
            self.sequence(outline, range, inside);
        }
    }
}

impl CertainRuns {
    fn only(self, facts: Option<&ConditionFacts>) -> CertainRuns {
        match facts.filter(|facts| facts.is_exact) {
            Some(facts) => CertainRuns { iterations: self.iterations.and(facts.iterations), ..self },
            None => self.never(),
        }
    }

    fn never(self) -> CertainRuns {
        CertainRuns { iterations: IterationRange::NONE, ..self }
    }
}

/// Returns the facts that follow if the condition in this field evaluates to `holds`.
pub(super) fn facts<'o>(node: &'o OutlineNode<'_>, field: &str, holds: bool) -> Option<&'o ConditionFacts> {
    let is_field = |text: &&Text| text.field == field;
    let names = node.texts.iter().find(is_field)?.names.as_ref().ok()?;
    Some(if holds { &names.if_true } else { &names.if_false })
}
