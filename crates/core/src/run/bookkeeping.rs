//! What a run keeps besides where its nodes stand.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Ask, Outcome, Spent};
use crate::effect::Planned;
use crate::graph::template::NodeOutput;
use crate::graph::workflow::Budget;
use crate::hook::HookAnswer;
use crate::id::{EffectId, HookId, NodeId};
use crate::time::Moment;

/// What a run keeps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Bookkeeping {
    /// Random text from which session ids are derived; another one after a fork.
    pub seed: String,
    /// What only a person can answer, oldest first.
    pub asks: Vec<Ask>,
    /// What a person allowed lately: the agent CLI may ask about the same call once more.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub permitted: VecDeque<Ask>,
    /// The latest hook answers, for resends.
    pub answered: VecDeque<(HookId, HookAnswer)>,
    /// What people answered to agents whose turn is not over, so that no answer is lost on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<KeptReply>,
    /// Hook calls that wait for a person and have not asked again since the owner changed: nobody knows
    /// whether their forwarder is still there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<HookId>,
    /// Effects without an outcome yet.
    pub open: Vec<Planned>,
    /// Nothing new begins.
    #[serde(default)]
    pub paused: bool,
    /// Since when.
    #[serde(default)]
    pub paused_at: Option<Moment>,
    /// How long it was paused before, in milliseconds: the time of the run stood still.
    #[serde(default)]
    pub paused_ms: u64,
    /// Those of the open effects that wait for the pause to end.
    #[serde(default, rename = "held")]
    pub deferred: Vec<EffectId>,
    /// How often something was held back before it began.
    #[serde(default, rename = "holds")]
    pub deferrals: u32,
    /// What was told to the run and not waited for yet, by name, oldest first.
    #[serde(default, rename = "told")]
    pub received: BTreeMap<String, VecDeque<String>>,
    /// What each node gave.
    #[serde(default)]
    pub outputs: BTreeMap<NodeId, NodeOutput>,
    /// What became of each node.
    #[serde(default)]
    pub nodes: BTreeMap<NodeId, NodeHistory>,
    /// Turns finished.
    pub turns: u32,
    /// The commit the run began on, in a repository.
    #[serde(default)]
    pub base: Option<String>,
    /// What the run may spend by now, besides its own budget: others spend of the same.
    #[serde(default)]
    pub allowed: Budget,
    /// The last words of an agent.
    pub last_message: Option<String>,
}

impl Bookkeeping {
    /// The answer a hook call already got.
    pub fn answer_to(&self, hook: &HookId) -> Option<&HookAnswer> {
        self.answered.iter().find(|(id, _)| id == hook).map(|(_, answer)| answer)
    }

    /// A hook call is there: what was answered to it reaches the agent. Whether it was not known to be.
    pub fn hears(&mut self, hook: &HookId) -> bool {
        for reply in self.replies.iter_mut().filter(|reply| reply.ask.hook == *hook) {
            reply.missed = false;
        }
        let before = self.unheard.len();
        self.unheard.retain(|unheard| unheard != hook);
        self.unheard.len() < before
    }

    /// What was told first under a name; it is told once.
    pub fn take_told(&mut self, name: &str) -> Option<String> {
        let kept = self.received.get_mut(name)?;
        let text = kept.pop_front();
        if kept.is_empty() {
            self.received.remove(name);
        }
        text
    }
}

/// What a person answered to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptReply {
    /// What was asked.
    pub ask: Ask,
    /// What the hook was to say.
    pub answer: HookAnswer,
    /// As far as is known it never reached the agent, which hears it when it asks the same again.
    pub missed: bool,
}

/// What became of a node, in the last of its rounds and in all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeHistory {
    /// Its name in the last round and try.
    pub instance: NodeId,
    /// How often it began, tries included.
    pub times: u32,
    /// When it last began.
    pub began: Moment,
    /// When it was last over.
    pub ended: Option<Moment>,
    /// How it was last over; nothing while it is under way.
    pub outcome: Option<Outcome>,
    /// How it was over before it was left out, where it ran before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Outcome>,
    /// How long it took, in milliseconds, all times together.
    pub took_ms: u64,
    /// What it spent, all times together.
    pub spent: Spent,
    /// Why it ran, or did not.
    pub cause: NodeCause,
}

/// Why a node ran, or did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum NodeCause {
    /// It is the first of its block.
    First,
    /// The one before it is over.
    After {
        /// Which.
        node: NodeId,
        /// How it ended, in a word.
        status: String,
    },
    /// It is tried again.
    Retried {
        /// What went wrong.
        what: String,
        /// The try, from 1.
        attempt: u32,
    },
    /// Its `when` did not hold.
    WhenFalse {
        /// The condition.
        condition: String,
    },
}
