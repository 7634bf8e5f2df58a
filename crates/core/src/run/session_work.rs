//! The work of one node with an agent: its turns, in one session or several.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Outcome, Waiting};
use crate::event::WorkSoFar;
use crate::graph::SessionPrompt;
use crate::id::{EffectId, HookId, NodeId, SessionId};
use crate::looping::same_error::CheckStreak;
use crate::looping::verdict::Inspection;
use crate::time::Moment;
use crate::usage::Usage;

/// The process of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The effect that runs the turn.
    pub effect: EffectId,
    /// The turn resumes an earlier session.
    pub resumed: bool,
    /// The host is known to have started.
    pub started: bool,
    /// The number of tool hooks that arrived.
    pub tool_hooks: u32,
    /// The number of Stop hooks that arrived and counted.
    pub stops: u32,
    /// The owner changed during the turn, so some hooks may have no answer.
    pub owner_changed: bool,
    /// Hook calls that no owner answered and that the agent already knows about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
}

impl Turn {
    /// Decides whether the list contains a call that the agent does not know about yet.
    pub fn has_missed(&self, unanswered: &[HookId]) -> bool {
        unanswered.iter().any(|hook| !self.unanswered.contains(hook))
    }
}

/// Work that one driver gives to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// The driver that worked before.
    pub from: String,
    /// The state of the work, once Windlass has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkSoFar>,
}

/// The phase of a node's sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum SessionPhase {
    /// Windlass makes the tracker and the state file.
    Preparing,
    InTurn,
    /// Windlass judges a finished turn.
    Judging {
        /// The Stop hook that waits for the verdict.
        hook: Option<HookId>,
        /// The result of the inspection, once there is one.
        sight: Option<Inspection>,
    },
    /// The same turn is repeated later.
    Pausing {
        waiting: Waiting,
        /// The turn resumes the session instead of starting a new one.
        resume: bool,
    },
    /// The outcome is decided, and the agent ends its turn by itself.
    Closing {
        outcome: Outcome,
    },
    /// The outcome is decided, and Windlass cleans up.
    Ending {
        outcome: Outcome,
    },
}

/// The work of one node with an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionWork {
    /// The node instance, with its prompt filled in.
    pub node: SessionPrompt,
    /// The id of the node in the workflow.
    pub step: NodeId,
    pub workspace: String,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Checks run after each turn.
    pub checked: bool,
    pub phase: SessionPhase,
    /// The number of finished turns.
    pub turns: u32,
    /// A turn started and is not judged yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_turn_open: bool,
    /// The attempt at the current turn, counted from 1.
    pub attempt: u32,
    /// Consecutive transient errors.
    pub transient: u32,
    /// Consecutive interruptions.
    pub interrupted: u32,
    /// Consecutive rate limits.
    pub rate_limits: u32,
    /// Consecutive answers that did not fit the schema.
    #[serde(default)]
    pub unfit: u32,
    pub session: Option<SessionId>,
    /// The process, while it runs.
    pub turn: Option<Turn>,
    /// The failures that the next prompt mentions.
    pub feedback: Option<String>,
    /// The digest of tracker and repository after the last turn.
    pub fingerprint: String,
    /// Consecutive turns that changed nothing.
    pub idle_turns: u32,
    pub usage: Usage,
    pub last_message: Option<String>,
    /// The answer, if it fits the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    pub deadline: Option<Moment>,
    /// The session has a conversation that can be resumed.
    #[serde(default)]
    pub is_resumable: bool,
    /// The last turn was counted and judged, and no other has started.
    #[serde(default)]
    pub is_judged: bool,
    /// The phase in which the work ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_in: Option<Box<SessionPhase>>,
    /// Instructions of a person for the next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The errors of each check that failed or passed in a turn, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streaks: BTreeMap<String, CheckStreak>,
    /// The reason of a blocked marker that a person has dealt with. It does not count in the next
    /// turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unblocked: Option<String>,
    /// The prompt of the first turn, if that turn resumes the session of earlier work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// Environment variables from the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The models to try in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// The number of models that were not available.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub models_failed: usize,
    /// The driver that took the work over. `None` means the node's own driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The drivers that failed in the current turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers_failed: Vec<String>,
    /// The hand-over that the current driver has not answered with a finished turn yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over: Option<Box<HandOver>>,
    /// The first turn continues the session of an earlier node, with the prompt of this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_continuing: bool,
    /// The session belongs to the run from which this one was forked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_forked: bool,
}

impl SessionWork {
    /// Returns the model of the next turn, if the node has models of its own to try.
    pub fn model(&self) -> Option<&String> {
        // Another driver does not know these models.
        self.models.get(self.models_failed).filter(|_| self.driver.is_none())
    }

    /// Returns the number of the current turn, counted from 1.
    pub fn current_turn(&self) -> u32 {
        self.turns + 1
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}
