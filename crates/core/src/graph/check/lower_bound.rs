//! Computes the least that a successful run needs: agent turns and waiting time, including the
//! workflows that it runs.

use std::collections::HashMap;

use super::context::CheckContext;
use super::outline::{Outline, OutlineNode};
use super::structure::too_deep;
use crate::engine::node::shape::{RoundsEnd, Structure};
use crate::graph::workflow::{EachNode, Join, ListSource, NodeNumber, OnFailure, ParallelNode};

/// The least turns and waiting time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LowerBound {
    pub(crate) turns: u64,
    pub(crate) ms: u64,
}

impl LowerBound {
    fn and(self, other: LowerBound) -> LowerBound {
        LowerBound { turns: self.turns.saturating_add(other.turns), ms: self.ms.saturating_add(other.ms) }
    }

    fn times(self, count: u32) -> LowerBound {
        let count = u64::from(count);
        LowerBound { turns: self.turns.saturating_mul(count), ms: self.ms.saturating_mul(count) }
    }

    fn or(self, other: LowerBound) -> LowerBound {
        LowerBound { turns: self.turns.min(other.turns), ms: self.ms.min(other.ms) }
    }
}

/// The lower bounds of other workflows, each computed once.
pub(super) struct Calls<'k> {
    known: &'k CheckContext<'k>,
    of: HashMap<&'k str, LowerBound>,
}

impl<'k> Calls<'k> {
    pub(super) fn new(known: &'k CheckContext<'k>) -> Calls<'k> {
        Calls { known, of: HashMap::new() }
    }

    fn least(&mut self, name: &str) -> LowerBound {
        if let Some(least) = self.of.get(name) {
            return *least;
        }
        let Some((name, Some(workflow))) = self.known.workflows.get_key_value(name) else {
            return LowerBound::default();
        };
        // This entry ends the recursion of a workflow that runs itself; `calls` reports that mistake.
        self.of.insert(name, LowerBound::default());
        if !too_deep(workflow).is_empty() {
            return LowerBound::default();
        }
        let outline = Outline::of(workflow);
        let all = least(&outline, self);
        let whole = sequence(&outline, 0..outline.nodes.len(), &all);
        self.of.insert(name, whole);
        whole
    }
}

/// Computes the lower bound of each node, for when it runs.
pub(super) fn least(outline: &Outline<'_>, calls: &mut Calls<'_>) -> Vec<LowerBound> {
    let mut all = vec![LowerBound::default(); outline.nodes.len()];
    // Inner nodes come after their outer node, so walking backwards meets them first.
    for node in outline.nodes.iter().rev() {
        let mut needed = of(outline, node, &all, calls);
        if let (OnFailure::Continue, Some(most)) = (node.node.on_failure, node.node.settings.timeout_ms) {
            // The run goes on after the timeout.
            needed.ms = needed.ms.min(most);
        }
        if let Some(place) = all.get_mut(node.at) {
            *place = needed;
        }
    }
    all
}

/// Adds up the lower bounds of a sequence of nodes.
pub(super) fn sequence(
    outline: &Outline<'_>,
    range: std::ops::Range<usize>,
    all: &[LowerBound],
) -> LowerBound {
    let mut sum = LowerBound::default();
    let mut at = range.start;
    while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
        if !node.is_optional() {
            sum = sum.and(all.get(at).copied().unwrap_or_default());
        }
        at = node.end;
    }
    sum
}

fn of(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    all: &[LowerBound],
    calls: &mut Calls<'_>,
) -> LowerBound {
    let blocks = || outline.blocks(node).into_iter().map(|range| sequence(outline, range, all));
    let shape = node.node.kind.shape();
    match shape.structure() {
        Structure::Leaf => match shape.calls() {
            Some(called) => calls.least(&called.name),
            None => shape.least(),
        },
        Structure::Either(_) => {
            let taken = |which: bool| node.condition != Some(!which);
            let ways = [true, false].into_iter().zip(blocks()).filter(|(which, _)| taken(*which));
            ways.map(|(_, least)| least).reduce(LowerBound::or).unwrap_or_default()
        }
        Structure::Rounds { ends, max, .. } => {
            let round = blocks().reduce(LowerBound::and).unwrap_or_default();
            // Without a condition the loop runs `max` times. A condition that is never true is a warning
            // elsewhere, and its author may rely on the budget.
            let is_computed = node.node.computed.contains_key(&NodeNumber::Max);
            let is_bare = matches!(ends, RoundsEnd::Conditions(until) if until.is_empty()) && !is_computed;
            round.times(if is_bare { max.max(1) } else { 1 })
        }
        Structure::Items(EachNode { items: ListSource::Literal(items), join, .. }) => {
            let item = blocks().next().unwrap_or_default();
            let least = match join {
                Join::All | Join::Some => u32::try_from(items.len()).unwrap_or(u32::MAX),
                Join::Any | Join::FirstSuccess => u32::from(!items.is_empty()),
            };
            LowerBound { ms: item.ms, ..item.times(least) }
        }
        // The task file or the list may be empty, and the first node of a `try` may fail.
        Structure::Tasks(_) | Structure::Items(_) | Structure::Guarded(_) | Structure::Last(_) => {
            LowerBound::default()
        }
        Structure::Beside(ParallelNode { join, .. }) => {
            let ms = |least: Option<LowerBound>| least.map_or(0, |least| least.ms);
            match join {
                Join::All | Join::Some => LowerBound {
                    turns: blocks().reduce(LowerBound::and).unwrap_or_default().turns,
                    ms: ms(blocks().max_by_key(|least| least.ms)),
                },
                Join::Any | Join::FirstSuccess => blocks().reduce(LowerBound::or).unwrap_or_default(),
            }
        }
    }
}
