//! Why a node of a run ran or did not, what stands around it, and how far it is.
//!
//! Pure: read from the state alone. Saying it in words is a face's.
//!
//! - [`unreached`]: what kept a node from being reached. - [`around`]: what the blocks around it did.
//! - [`time`]: the same of one of its rounds and tries.

mod around;
mod time;
mod unreached;

use serde::Serialize;

use crate::graph::walk::{NodeBlock, ids_in};
use crate::graph::workflow::{Join, Node};
use crate::id::NodeId;
use crate::run::{
    ActiveNode, Activity, Bookkeeping, FinalStatus, NodeCause, NodeHistory, Outcome, RunState, SessionPhase,
};
use around::{Reached, around_by, rounds_in};
pub use time::{explain_time, times_of};
use unreached::unreached;

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProgress {
    /// It has not begun.
    NotReached,
    /// It is under way.
    Running,
    /// It is under way, and waits.
    Waiting,
    /// It begins when the pause of the run is over.
    Held,
    /// It was left out.
    Skipped,
    /// It is over.
    Over(FinalStatus),
}

impl NodeProgress {
    /// The word used in output.
    pub fn word(self) -> &'static str {
        match self {
            NodeProgress::NotReached => "not reached",
            NodeProgress::Running => "running",
            NodeProgress::Waiting => "waiting",
            NodeProgress::Held => "held",
            NodeProgress::Skipped => "skipped",
            NodeProgress::Over(FinalStatus::Completed) => "done",
            NodeProgress::Over(status) => status.word(),
        }
    }
}

/// Why a node ran or did not, and how it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The node.
    pub node: NodeId,
    /// What kind it is.
    pub kind: &'static str,
    /// How far it is.
    pub far: NodeProgress,
    /// Why it ran or did not, the last time.
    pub why: ExplainedCause,
    /// The blocks it stands in, the outermost first.
    pub around: Vec<EnclosingBlock>,
    /// What became of it; nothing where it was never reached.
    pub seen: Option<NodeHistory>,
}

/// Why a node ran, or did not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ExplainedCause {
    /// It was reached.
    Reached(NodeCause),
    /// It was not.
    NotReached(Unreached),
}

/// Why a node was not reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unreached {
    /// The block around it that was not reached, either; nothing where it is about the node itself.
    pub block: Option<NodeId>,
    /// Why.
    #[serde(flatten)]
    pub because: UnreachedCause,
}

/// What kept a node from being reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum UnreachedCause {
    /// One before it is under way.
    Later {
        /// Which.
        node: NodeId,
    },
    /// One before it did not end well.
    Failed {
        /// Which.
        node: NodeId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The other of two ways was taken.
    OtherWay {
        /// The node that chose.
        node: NodeId,
        /// By what.
        condition: String,
        /// Whether that held.
        held: bool,
    },
    /// The block around it was left out.
    LeftOut {
        /// Which.
        node: NodeId,
        /// What did not hold.
        condition: String,
    },
    /// Its branch has to wait for others to end.
    NoRoom {
        /// The parallel block.
        node: NodeId,
        /// The branch.
        branch: String,
    },
    /// No task was chosen yet.
    NoRound {
        /// The loop.
        node: NodeId,
    },
    /// The block around it was over before.
    Over {
        /// Which.
        node: NodeId,
        /// How it ended.
        outcome: Outcome,
    },
    /// The run was ended before.
    Ended {
        /// How.
        outcome: Outcome,
    },
    /// The run is paused: it begins when that goes on.
    Paused,
    /// Its turn has not come.
    NotYet,
}

/// A block around a node.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosingBlock {
    /// Which.
    pub node: NodeId,
    /// How far it is.
    pub far: NodeProgress,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// What it did.
    pub block: BlockProgress,
}

/// What a block did.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "block")]
pub enum BlockProgress {
    /// It chose one of two ways.
    If {
        /// By what.
        condition: String,
        /// Whether that held; nothing where it was not looked at.
        held: Option<bool>,
        /// The way the node stands on is the first.
        then: bool,
    },
    /// It did the same again.
    Loop {
        /// Rounds begun.
        rounds: u32,
        /// The round the node was last in.
        round: Option<u32>,
        /// Rounds at most; 0 is without bound.
        max: u32,
    },
    /// It did its tasks.
    Tasks {
        /// Rounds begun.
        rounds: u32,
        /// The round the node was last in.
        round: Option<u32>,
        /// Tasks that were done.
        passed: u32,
    },
    /// It did several things at once.
    Parallel {
        /// The branch the node stands on.
        branch: String,
        /// When the block is over.
        join: Join,
    },
}

/// How far a node is.
pub fn far(state: &RunState, node: &NodeId) -> NodeProgress {
    let here: Vec<&ActiveNode> = actives(state).into_iter().filter(|active| active.step == *node).collect();
    if !here.is_empty() {
        if here.iter().all(|active| matches!(active.activity, Activity::Held { .. })) {
            return NodeProgress::Held;
        }
        let is_waiting = here.iter().all(|active| waits(&state.bookkeeping, active));
        return if is_waiting { NodeProgress::Waiting } else { NodeProgress::Running };
    }
    match state.bookkeeping.nodes.get(node) {
        None => NodeProgress::NotReached,
        // What ran in an earlier round is not undone by being left out later.
        Some(NodeHistory { cause: NodeCause::WhenFalse { .. }, earlier: Some(outcome), .. }) => {
            NodeProgress::Over(outcome.status)
        }
        Some(NodeHistory { cause: NodeCause::WhenFalse { .. }, .. }) => NodeProgress::Skipped,
        Some(NodeHistory { outcome: Some(outcome), .. }) => NodeProgress::Over(outcome.status),
        Some(NodeHistory { outcome: None, .. }) => NodeProgress::Running,
    }
}

/// Why a node ran or did not; nothing where the workflow has no such node.
pub fn explain(state: &RunState, node: &NodeId) -> Option<Explanation> {
    let way = way(&state.spec.body, None, node)?;
    let seen = state.bookkeeping.nodes.get(node).cloned();
    let far = far(state, node);
    let why = match &seen {
        _ if far == NodeProgress::Held => {
            ExplainedCause::NotReached(Unreached { block: None, because: UnreachedCause::Paused })
        }
        Some(seen) => ExplainedCause::Reached(seen.cause.clone()),
        None => ExplainedCause::NotReached(unreached(state, &way)),
    };
    let kind = way.last()?.step()?.kind.word();
    let around = around(state, &way, seen.as_ref().map(|seen| &seen.instance));
    Some(Explanation { node: node.clone(), kind, far, why, around, seen })
}

/// What the blocks on the way to a node did, as to one of its times where it had one.
fn around(state: &RunState, way: &[SequencePosition<'_>], instance: Option<&NodeId>) -> Vec<EnclosingBlock> {
    let reached = if instance.is_some() { Reached::Yes } else { Reached::No };
    let mut rounds = instance.map(|name| rounds_in(name.as_str())).unwrap_or_default().into_iter();
    let inner = way.iter().skip(1).map(|spot| spot.inside);
    let around = way.iter().zip(inner);
    around
        .filter_map(|(spot, inside)| around_by(state, spot.step()?, inside?, reached, &mut rounds))
        .collect()
}

/// The node that was probably meant.
pub fn nearest(state: &RunState, written: &str) -> Option<NodeId> {
    let allowed = (written.chars().count() / 3).clamp(1, 3);
    let ids = ids_in(&state.spec.body).into_iter();
    let scored = ids.map(|id| (strsim::osa_distance(written, id.as_str()), id));
    scored.filter(|(slips, _)| *slips <= allowed).min().map(|(_, id)| id)
}

fn actives(state: &RunState) -> Vec<&ActiveNode> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    actives
}

/// Whether a node under way only waits: for a time, a person, an event, the end of a pause.
fn waits(bookkeeping: &Bookkeeping, active: &ActiveNode) -> bool {
    let is_held = bookkeeping.deferred.iter().any(|id| id.node == active.instance);
    let is_asked = bookkeeping.asks.iter().any(|ask| ask.node == active.instance);
    if is_held || is_asked {
        return true;
    }
    match &active.activity {
        Activity::Session(work) => matches!(work.phase, SessionPhase::Pausing { .. }),
        Activity::Ask
        | Activity::Sleep(_)
        | Activity::Listen(_)
        | Activity::Pausing { .. }
        | Activity::Held { .. } => true,
        Activity::Shell | Activity::Check | Activity::Run(_) | Activity::Ended => false,
        activity @ (Activity::If(_) | Activity::Loop(_) | Activity::Tasks(_) | Activity::Parallel(_)) => {
            let inside: Vec<_> =
                activity.lanes().into_iter().filter_map(|lane| lane.now.as_deref()).collect();
            !inside.is_empty() && inside.iter().all(|active| waits(bookkeeping, active))
        }
    }
}

/// A place in a sequence, and the block that sequence is.
#[derive(Clone, Copy)]
struct SequencePosition<'a> {
    steps: &'a [Node],
    at: usize,
    inside: Option<NodeBlock<'a>>,
}

impl<'a> SequencePosition<'a> {
    fn step(&self) -> Option<&'a Node> {
        self.steps.get(self.at)
    }
}

/// The blocks on the way to a node, and the node.
fn way<'a>(
    steps: &'a [Node],
    inside: Option<NodeBlock<'a>>,
    node: &NodeId,
) -> Option<Vec<SequencePosition<'a>>> {
    for (at, step) in steps.iter().enumerate() {
        let spot = SequencePosition { steps, at, inside };
        if step.id == *node {
            return Some(vec![spot]);
        }
        let within = step.kind.blocks().into_iter().find_map(|block| way(block.body, Some(block), node));
        if let Some(within) = within {
            return Some([vec![spot], within].concat());
        }
    }
    None
}

fn is_under_way(state: &RunState, node: &Node) -> bool {
    actives(state).iter().any(|active| active.step == node.id)
}

#[cfg(test)]
mod tests;
