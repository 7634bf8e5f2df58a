//! Explains why a node of a run ran or did not run, which blocks enclose it, and its progress.
//!
//! Pure: reads the state alone. The command line turns the result into words.
//!
//! - [`mod@unreached`]: the cause that kept a node from being reached.
//! - [`mod@around`]: the progress of the blocks around a node.
//! - [`time`]: the same for one instance of the node.
//! - [`mod@conditions`]: the conditions of a node and their values.
//! - [`mod@answers`]: the answers of people.

mod answers;
mod around;
mod conditions;
mod time;
mod unreached;

use serde::Serialize;

use crate::graph::walk::{NodeBlock, ids_in};
use crate::graph::workflow::{Join, Node};
use crate::id::NodeId;
use crate::run::{ActiveNode, Activity, Bookkeeping, FinalStatus, NodeCause, NodeHistory, Outcome, RunState};
pub use answers::{AnsweredBy, AskTracker, GivenAnswer, answers};
use around::{Reached, around_by, rounds_in};
use conditions::conditions;
pub(super) use conditions::until_detail;
pub use conditions::{ExplainedCondition, branch_taken};
pub use time::{explain_time, times_of};
use unreached::unreached;

/// The progress of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeProgress {
    NotReached,
    Running,
    /// The node is in progress, but only waits.
    Waiting,
    /// The node starts after the pause.
    Held,
    Skipped,
    Over(FinalStatus),
}

impl NodeProgress {
    /// Returns the word for output.
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

/// The explanation of why a node ran or did not run.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    pub node: NodeId,
    pub kind: &'static str,
    pub far: NodeProgress,
    /// The cause of the last start, or of the lack of one.
    pub why: ExplainedCause,
    /// The blocks around it, outermost first.
    pub around: Vec<EnclosingBlock>,
    /// The conditions of the node itself.
    pub conditions: Vec<ExplainedCondition>,
    /// The history of the node. `None` if it was never reached.
    pub seen: Option<NodeHistory>,
}

/// The reason why a node ran or did not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ExplainedCause {
    Reached(NodeCause),
    NotReached(Unreached),
}

/// The reason why a node was not reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unreached {
    /// The enclosing block that was not reached either. `None` if the cause concerns the node
    /// itself.
    pub block: Option<NodeId>,
    #[serde(flatten)]
    pub because: UnreachedCause,
}

/// The cause that kept a node from being reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum UnreachedCause {
    /// A previous node is in progress.
    Later { node: NodeId },
    /// A previous node did not succeed.
    Failed { node: NodeId, outcome: Outcome },
    /// An `if` chose the other branch.
    OtherWay {
        /// The `if` node.
        node: NodeId,
        condition: String,
        /// The value of the condition.
        held: bool,
    },
    /// An enclosing block was skipped.
    LeftOut {
        node: NodeId,
        /// The condition that was false.
        condition: String,
    },
    /// The branch waits for other branches to end.
    NoRoom {
        /// The parallel block.
        node: NodeId,
        branch: String,
    },
    /// No task has been chosen yet.
    NoRound { node: NodeId },
    /// An enclosing block ended first.
    Over { node: NodeId, outcome: Outcome },
    /// The run ended first.
    Ended { outcome: Outcome },
    /// The run is paused. The node starts after the pause.
    Paused,
    /// The node has not had its turn.
    NotYet,
}

/// A block around a node.
#[derive(Debug, Clone, PartialEq)]
pub struct EnclosingBlock {
    pub node: NodeId,
    pub far: NodeProgress,
    pub outcome: Option<Outcome>,
    pub block: BlockProgress,
}

/// The progress of a block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "block")]
pub enum BlockProgress {
    If {
        condition: String,
        /// The value of the condition. `None` if it was not evaluated.
        held: Option<bool>,
        /// The node is in the `then` branch.
        then: bool,
    },
    Loop {
        /// The number of iterations started.
        rounds: u32,
        /// The last iteration of the node.
        round: Option<u32>,
        /// The maximum number of iterations. 0 means no limit.
        max: u32,
    },
    Tasks {
        /// The number of iterations started.
        rounds: u32,
        /// The last iteration of the node.
        round: Option<u32>,
        /// The number of completed tasks.
        passed: u32,
    },
    Items {
        /// The number of the item that the node ran for last.
        number: Option<u32>,
        /// The number of complete items. Unknown if the block is in an item of another block, because outputs of
        /// an item end with it.
        done: Option<u32>,
    },
    Try {
        /// The node is in `catch`.
        is_catch: bool,
    },
    Parallel {
        /// The branch that contains the node.
        branch: String,
        join: Join,
    },
}

/// Returns the progress of a node.
pub fn far(state: &RunState, node: &NodeId) -> NodeProgress {
    let here: Vec<&ActiveNode> = actives(state).into_iter().filter(|active| active.step == *node).collect();
    if !here.is_empty() {
        if here.iter().all(|active| matches!(active.activity, Activity::Deferred { .. })) {
            return NodeProgress::Held;
        }
        let is_waiting = here.iter().all(|active| waits(&state.bookkeeping, active));
        return if is_waiting { NodeProgress::Waiting } else { NodeProgress::Running };
    }
    match state.bookkeeping.nodes.get(node) {
        None => NodeProgress::NotReached,
        // A node that ran in an earlier iteration counts as run, even if it was skipped later.
        Some(NodeHistory { cause: NodeCause::WhenFalse { .. }, earlier: Some(outcome), .. }) => {
            NodeProgress::Over(outcome.status)
        }
        Some(NodeHistory { cause: NodeCause::WhenFalse { .. }, .. }) => NodeProgress::Skipped,
        Some(NodeHistory { outcome: Some(outcome), .. }) => NodeProgress::Over(outcome.status),
        Some(NodeHistory { outcome: None, .. }) => NodeProgress::Running,
    }
}

/// Explains a node. Returns `None` if the workflow has no such node.
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
    let step = way.last()?.step()?;
    let kind = step.kind.word();
    let around = around(state, &way, seen.as_ref().map(|seen| &seen.instance));
    let conditions = conditions(state, step, seen.as_ref(), None);
    Some(Explanation { node: node.clone(), kind, far, why, around, conditions, seen })
}

/// Returns the progress of the blocks around a node, or around one instance of it.
fn around(state: &RunState, way: &[SequencePosition<'_>], instance: Option<&NodeId>) -> Vec<EnclosingBlock> {
    let reached = if instance.is_some() { Reached::Yes } else { Reached::No };
    let mut rounds = instance.map(|name| rounds_in(name.as_str())).unwrap_or_default().into_iter();
    let inner = way.iter().skip(1).map(|spot| spot.inside);
    let around = way.iter().zip(inner);
    around
        .filter_map(|(spot, inside)| around_by(state, spot.step()?, inside?, reached, &mut rounds))
        .collect()
}

/// Returns the node whose id is most similar to a text.
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

/// Decides whether a node in progress only waits: for a time, a person, an event or the end of a
/// pause.
fn waits(bookkeeping: &Bookkeeping, active: &ActiveNode) -> bool {
    let is_held = bookkeeping.deferred.iter().any(|id| id.node == active.instance);
    let is_asked = bookkeeping.asks.iter().any(|ask| ask.node == active.instance);
    if is_held || is_asked {
        return true;
    }
    let inside: Vec<_> = active.activity.lanes().into_iter().filter_map(|lane| lane.now.as_deref()).collect();
    active.activity.is_waiting()
        || !inside.is_empty() && inside.iter().all(|active| waits(bookkeeping, active))
}

/// A position in a sequence, and the block that the sequence belongs to.
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

/// Returns the path to a node: the blocks around it, then the node itself.
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
