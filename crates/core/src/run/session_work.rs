//! The work of one node with an agent: its turns, in one session or several.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Outcome, Waiting};
use crate::graph::SessionPrompt;
use crate::id::{EffectId, HookId, NodeId, SessionId};
use crate::looping::verdict::Inspection;
use crate::time::Moment;
use crate::usage::Usage;

/// A turn's process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The effect that runs it.
    pub effect: EffectId,
    /// An earlier conversation goes on in it.
    pub resumed: bool,
    /// Its host is known to have been started.
    pub started: bool,
    /// Tool hooks that arrived.
    pub tool_hooks: u32,
    /// Stop hooks that arrived and counted.
    pub stops: u32,
    /// The owner changed while it ran, so hooks may have gone unanswered.
    pub owner_changed: bool,
    /// Hook calls that no owner answered and that the agent was told about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
}

impl Turn {
    /// Whether there are calls that no owner answered among these, besides those it knows of.
    pub fn has_missed(&self, unanswered: &[HookId]) -> bool {
        unanswered.iter().any(|hook| !self.unanswered.contains(hook))
    }
}

/// What the sessions of a node are doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum SessionPhase {
    /// Tracker and state file are made.
    Preparing,
    /// The agent works.
    InTurn,
    /// A finished turn is looked at.
    Judging {
        /// The Stop hook that waits for the verdict.
        hook: Option<HookId>,
        /// What was seen, once it was.
        sight: Option<Inspection>,
    },
    /// The same turn is tried again later.
    Pausing {
        /// Why.
        waiting: Waiting,
        /// The conversation goes on rather than begins anew.
        resume: bool,
    },
    /// It is decided; the agent ends its turn by itself.
    Closing {
        /// How it will end.
        outcome: Outcome,
    },
    /// It is decided; things are put away.
    Ending {
        /// How it will end.
        outcome: Outcome,
    },
}

/// One node's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionWork {
    /// The node, by its name in this round and try, with its texts in it.
    pub node: SessionPrompt,
    /// The node as the workflow names it.
    pub step: NodeId,
    /// Where it works.
    pub workspace: String,
    /// What it must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The checks are run after its turns.
    pub checked: bool,
    /// What it is doing.
    pub phase: SessionPhase,
    /// Turns finished.
    pub turns: u32,
    /// The try of the turn under way, from 1.
    pub attempt: u32,
    /// Transient errors in a row.
    pub transient: u32,
    /// Interruptions in a row.
    pub interrupted: u32,
    /// Rate limits in a row.
    pub rate_limits: u32,
    /// Answers in a row that did not fit the schema.
    #[serde(default)]
    pub unfit: u32,
    /// The conversation.
    pub session: Option<SessionId>,
    /// The process, while it runs.
    pub turn: Option<Turn>,
    /// What the next prompt says about failures.
    pub feedback: Option<String>,
    /// The digest after the last turn.
    pub fingerprint: String,
    /// Turns in a row that changed nothing.
    pub idle_turns: u32,
    /// What it spent.
    pub usage: Usage,
    /// The agent's last words.
    pub last_message: Option<String>,
    /// What it answered, where it fits the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// When it must be over.
    pub deadline: Option<Moment>,
}

impl SessionWork {
    /// The turn under way, from 1.
    pub fn current_turn(&self) -> u32 {
        self.turns + 1
    }
}
