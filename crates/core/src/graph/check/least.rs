//! The least that a workflow needs, however well it goes: turns of agents, and time that is
//! waited.

use super::outline::{Node, Outline};
use crate::graph::workflow::{Act, Join, Until};

/// What is needed at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Least {
    pub(super) turns: u64,
    pub(super) ms: u64,
}

impl Least {
    fn and(self, other: Least) -> Least {
        Least { turns: self.turns.saturating_add(other.turns), ms: self.ms.saturating_add(other.ms) }
    }

    fn or(self, other: Least) -> Least {
        Least { turns: self.turns.min(other.turns), ms: self.ms.min(other.ms) }
    }
}

/// What each node needs at least, when it runs.
pub(super) fn least(outline: &Outline<'_>) -> Vec<Least> {
    let mut all = vec![Least::default(); outline.nodes.len()];
    // What is inside of a node comes after it: from the end, all of it is known.
    for node in outline.nodes.iter().rev() {
        let needed = of(outline, node, &all);
        if let Some(place) = all.get_mut(node.at) {
            *place = needed;
        }
    }
    all
}

/// What a sequence of nodes needs at least.
pub(super) fn sequence(outline: &Outline<'_>, range: std::ops::Range<usize>, all: &[Least]) -> Least {
    let mut sum = Least::default();
    let mut at = range.start;
    while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
        if !node.is_optional() {
            sum = sum.and(all.get(at).copied().unwrap_or_default());
        }
        at = node.end;
    }
    sum
}

fn of(outline: &Outline<'_>, node: &Node<'_>, all: &[Least]) -> Least {
    let blocks = || outline.blocks(node).into_iter().map(|range| sequence(outline, range, all));
    match &node.step.act {
        Act::Session(_) | Act::Review { .. } => Least { turns: 1, ms: 0 },
        Act::Wait(Until::Elapsed { ms }) => Least { turns: 0, ms: *ms },
        Act::If { .. } => {
            let taken = |which: bool| node.condition != Some(!which);
            let ways = [true, false].into_iter().zip(blocks()).filter(|(which, _)| taken(*which));
            ways.map(|(_, least)| least).reduce(Least::or).unwrap_or_default()
        }
        Act::Loop { .. } | Act::CriteriaLoop { .. } => blocks().reduce(Least::and).unwrap_or_default(),
        Act::Parallel { join, .. } => {
            let ms = |least: Option<Least>| least.map_or(0, |least| least.ms);
            match join {
                Join::All => Least {
                    turns: blocks().reduce(Least::and).unwrap_or_default().turns,
                    ms: ms(blocks().max_by_key(|least| least.ms)),
                },
                Join::Any | Join::FirstSuccess => blocks().reduce(Least::or).unwrap_or_default(),
            }
        }
        // There may be nothing to do.
        Act::TaskLoop { .. } => Least::default(),
        Act::Shell { .. }
        | Act::Check { .. }
        | Act::Workflow { .. }
        | Act::Ask { .. }
        | Act::Wait(Until::Event { .. })
        | Act::Land { .. }
        | Act::PullRequest { .. }
        | Act::ClearContext => Least::default(),
    }
}
