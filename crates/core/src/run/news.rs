//! What people are told of a run.

use serde::{Deserialize, Serialize};

use super::{Outcome, Spent, Waiting};
use crate::hook::HookAnswer;
use crate::id::{HookId, NodeId, SessionId};
use crate::time::Moment;
use crate::usage::Usage;

fn unnamed() -> NodeId {
    NodeId::new("")
}

/// What a fact means to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum News {
    /// A turn's process was started.
    SessionStarted {
        /// The node.
        #[serde(default = "unnamed")]
        node: NodeId,
        /// The conversation.
        session: SessionId,
        /// The turn, from 1.
        iteration: u32,
        /// The try, from 1.
        attempt: u32,
        /// An earlier conversation goes on.
        resumed: bool,
    },
    /// A hook was answered.
    HookDecided {
        /// Which call.
        hook: HookId,
        /// `tool`, `question`, `stop` or the hook's own name.
        asked: String,
        /// The tool, where one was asked for.
        tool: Option<String>,
        /// What it was told.
        answer: HookAnswer,
    },
    /// A turn is over and judged.
    IterationFinished {
        /// The node.
        #[serde(default = "unnamed")]
        node: NodeId,
        /// The turn, from 1.
        iteration: u32,
        /// The checks, by name.
        checks: Vec<(String, bool)>,
        /// Another turn follows.
        goes_on: bool,
        /// What the next turn is told about failures.
        feedback: Option<String>,
    },
    /// The run waits.
    Waiting(Waiting),
    /// The wait is over.
    WaitOver,
    /// A new owner took over.
    TakenOver,
    /// The run is paused.
    Paused,
    /// The run goes on.
    GoesOn,
    /// Something is odd, and it goes on.
    Odd {
        /// The node.
        node: NodeId,
        /// What.
        what: String,
    },
    /// A node begins.
    NodeStarted {
        /// Its name in this round and try.
        node: NodeId,
        /// What kind it is.
        kind: String,
        /// What it is about, in a few words.
        about: Option<String>,
    },
    /// A node is over.
    NodeFinished {
        /// Its name in this round and try.
        node: NodeId,
        /// How and why.
        outcome: Outcome,
        /// What it spent.
        spent: Spent,
        /// How long it took, in milliseconds.
        took_ms: u64,
    },
    /// A node, or the next round of a loop, begins when the pause of the run is over.
    NodeHeld {
        /// Its name in this round and try.
        node: NodeId,
    },
    /// A node is left out.
    NodeSkipped {
        /// Its name in this round.
        node: NodeId,
        /// Why.
        why: String,
    },
    /// A round of a loop begins.
    Round {
        /// The loop.
        node: NodeId,
        /// The round, from 1.
        round: u32,
        /// The task it is for.
        task: Option<String>,
    },
    /// How far a task is now.
    Task {
        /// The loop.
        node: NodeId,
        /// Which.
        task: String,
        /// How far.
        status: crate::tasks::TaskStatus,
        /// What was wrong, or where its work is.
        why: Option<String>,
    },
    /// The turn, the node, or an answer that does not fit is tried again.
    Retrying {
        /// The node.
        #[serde(default = "unnamed")]
        node: NodeId,
        /// What went wrong.
        what: String,
        /// The try that follows.
        attempt: u32,
        /// How many there are at most, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u32>,
        /// When it follows, where that is not at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Moment>,
    },
    /// The run is over.
    Finished {
        /// How and why.
        outcome: Outcome,
        /// Turns.
        iterations: u32,
        /// What it spent.
        usage: Usage,
    },
}
