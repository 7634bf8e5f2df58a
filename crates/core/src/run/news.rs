//! News: the events of a run as people see them.

use serde::{Deserialize, Serialize};

use super::{ListItem, Outcome, Spent, Waiting};
use crate::hook::HookAnswer;
use crate::id::{HookId, NodeId, SessionId};
use crate::time::Moment;
use crate::usage::Usage;

fn unnamed() -> NodeId {
    NodeId::new("")
}

/// The next step after the work on a task conflicted with its target branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictStep {
    /// The agent of the task resolves it, for the how-many-th time of how many.
    Agent { time: u32, of: u32 },
    /// The task is done again while no other task lands.
    Alone,
}

/// A piece of news about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum News {
    /// The process of a turn started.
    SessionStarted {
        #[serde(default = "unnamed")]
        node: NodeId,
        session: SessionId,
        /// The turn, counted from 1.
        iteration: u32,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The turn resumes an earlier session.
        resumed: bool,
    },
    HookDecided {
        hook: HookId,
        /// `tool`, `question`, `stop` or the name of the hook.
        asked: String,
        /// The tool, if the hook is about one.
        tool: Option<String>,
        answer: HookAnswer,
    },
    /// A turn is finished and judged.
    IterationFinished {
        #[serde(default = "unnamed")]
        node: NodeId,
        /// The turn, counted from 1.
        iteration: u32,
        /// The checks by name, and whether each passed.
        checks: Vec<(String, bool)>,
        /// Another turn follows.
        goes_on: bool,
        /// The failures that the next prompt mentions.
        feedback: Option<String>,
    },
    Waiting(Waiting),
    WaitOver,
    /// A new owner took over.
    TakenOver,
    /// Someone continued the run after it had ended.
    Continued {
        /// The person, for people.
        by: String,
        /// The additions, for people.
        with: Vec<String>,
    },
    Paused,
    /// A person ended the pause.
    GoesOn,
    /// A warning. The run continues.
    Odd {
        node: NodeId,
        what: String,
    },
    NodeStarted {
        /// The node instance.
        node: NodeId,
        kind: String,
        /// A short description.
        about: Option<String>,
    },
    NodeFinished {
        /// The node instance.
        node: NodeId,
        outcome: Outcome,
        spent: Spent,
        took_ms: u64,
    },
    /// A node, or the next iteration of a loop, starts only after the pause.
    NodeHeld {
        /// The node instance.
        node: NodeId,
    },
    NodeSkipped {
        /// The node instance.
        node: NodeId,
        why: String,
    },
    /// An iteration of a loop starts, or an item of a list.
    Round {
        node: NodeId,
        /// The iteration or the number of the item, counted from 1.
        round: u32,
        /// The id of the task, or the beginning of the item.
        task: Option<String>,
        /// The item, if the node works on a list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<ListItem>,
    },
    /// The new status of a task.
    Task {
        node: NodeId,
        task: String,
        status: crate::tasks::TaskStatus,
        /// The problem, or the place of the work.
        why: Option<String>,
    },
    /// The work on a task conflicts with its target branch.
    Conflict {
        node: NodeId,
        task: String,
        /// The target branch, if known.
        target: Option<String>,
        files: Vec<String>,
        next: ConflictStep,
    },
    /// A turn, a node or an answer that does not fit its schema is tried again.
    Retrying {
        #[serde(default = "unnamed")]
        node: NodeId,
        what: String,
        /// The next attempt, counted from 1.
        attempt: u32,
        /// The maximum number of attempts, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u32>,
        /// The time of the next attempt, if it does not follow at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Moment>,
    },
    /// Another driver takes the work of a node over.
    HandedOver {
        node: NodeId,
        from: String,
        to: String,
        /// The reason, for people.
        why: String,
    },
    Finished {
        outcome: Outcome,
        iterations: u32,
        usage: Usage,
    },
}
