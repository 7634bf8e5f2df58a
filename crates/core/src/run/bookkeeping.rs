//! Everything that a run keeps besides the progress of its nodes.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ask, DayAllowance, Outcome, Spent};
use crate::effect::Planned;
use crate::graph::template::NodeOutput;
use crate::graph::workflow::Budget;
use crate::hook::HookAnswer;
use crate::id::{EffectId, HookId, InboxId, NodeId, SessionId};
use crate::tasks::TaskId;
use crate::time::Moment;
use crate::usage::{ModelUsage, Usage};

fn is_nothing(spent: &Spent) -> bool {
    *spent == Spent::default()
}

/// The origin of the results of a run's nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultOrigin {
    /// The nodes did their work.
    #[default]
    Real,
    /// A person chose results for a rehearsal. The others are invented.
    Chosen,
    /// A rehearsal invents all of them.
    Invented,
}

/// The branch of a passing task that did not land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBranch {
    pub branch: String,
    /// The branches with the work of the task's dependencies, from which it started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
}

/// Everything that a run keeps besides the progress of its nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Bookkeeping {
    /// Random text from which session ids are derived. A fork gets a new one.
    pub seed: String,
    /// The origin of the results of nodes. No log has it, because rehearsals have no log.
    #[serde(skip)]
    pub results: ResultOrigin,
    /// Requests that only a person can answer, oldest first.
    pub asks: Vec<Ask>,
    /// Tool calls that a person allowed recently. The agent CLI may ask about the same call once
    /// more.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub permitted: VecDeque<Ask>,
    /// The latest answers to hooks, for repeated calls.
    pub answered: VecDeque<(HookId, HookAnswer)>,
    /// Answers from people to agents whose turn is still in progress, so that none gets lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<KeptReply>,
    /// Hook calls that wait for a person and have not called again since the owner changed. It is
    /// unknown whether their forwarder still runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<HookId>,
    /// Effects without an outcome.
    pub open: Vec<Planned>,
    /// The run starts nothing new.
    #[serde(default)]
    pub paused: bool,
    #[serde(default)]
    pub paused_at: Option<Moment>,
    /// The duration of earlier pauses. The time of the run stands still during a pause.
    #[serde(default)]
    pub paused_ms: u64,
    /// The open effects that wait for the end of the pause.
    #[serde(default, rename = "held")]
    pub deferred: Vec<EffectId>,
    /// The number of deferrals so far.
    #[serde(default, rename = "holds")]
    pub deferrals: u32,
    /// Events that the run received and no node has waited for yet, by name, oldest first.
    #[serde(default, rename = "told")]
    pub received: BTreeMap<String, VecDeque<String>>,
    #[serde(default)]
    pub outputs: BTreeMap<NodeId, NodeOutput>,
    #[serde(default)]
    pub nodes: BTreeMap<NodeId, NodeHistory>,
    /// The part of the spending that a fork took over from the original run.
    #[serde(default)]
    pub inherited: Spent,
    /// The number of finished turns.
    pub turns: u32,
    /// The commit on which the run started, in a repository.
    #[serde(default)]
    pub base: Option<String>,
    /// A snapshot failed, and the run has warned about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned_of_snapshots: bool,
    /// The current share of a budget that other runs spend too. The run's own budget applies as
    /// well.
    #[serde(default)]
    pub allowed: Budget,
    /// The spending of the sessions of this run, by driver, without its child runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub spent_on: BTreeMap<String, Spent>,
    /// The current shares of the budgets of the day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub day: Vec<DayAllowance>,
    /// The usage of whole conversations, where the CLI reports nothing else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conversations: BTreeMap<SessionId, Usage>,
    /// The same by model, where the CLI reports its models.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conversation_models: BTreeMap<SessionId, Vec<ModelUsage>>,
    /// A cost that nobody knows escaped a budget, and the run has warned about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned_of_cost: bool,
    /// The moments until which drivers accept no more work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limited: BTreeMap<String, Moment>,
    /// The last message of an agent.
    pub last_message: Option<String>,
    /// The checks that ran, and whether the shell could start their commands, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, bool>,
    /// The number of times that someone continued the run after it had ended.
    #[serde(default)]
    pub continued: u32,
    /// The request that continued the run last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued_by: Option<InboxId>,
    /// The number of ends that `finally` has run for.
    #[serde(default)]
    pub ends: u32,
    /// The spending of the run when its `finally` began, while that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_finally: Option<Spent>,
    /// The spending of `finally`, which does not count against the budget of the run.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent_in_finally: Spent,
    /// The value that the workflow gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The moment at which the run ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Instructions of a person for the next session that starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The branches of passing tasks that did not land, by task file and task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept_branches: BTreeMap<String, BTreeMap<TaskId, KeptBranch>>,
    /// The last session of each node that another one continues, for each task and item that it worked on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<NodeId, Vec<KeptSession>>,
}

/// The last session of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSession {
    pub session: SessionId,
    /// The driver, because no other can continue the session.
    pub driver: String,
    /// The folder, because a session belongs to one.
    pub workspace: String,
    /// The task or item that the node worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The reason why no node may continue it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<SessionClosing>,
}

/// The reason why no node may continue a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionClosing {
    /// A `clear_context` node ran.
    Cleared,
    /// The session belongs to the run from which this one was forked.
    Forked,
}

impl Bookkeeping {
    /// Returns the answer that a hook call already got.
    pub fn answer_to(&self, hook: &HookId) -> Option<&HookAnswer> {
        self.answered.iter().find(|(id, _)| id == hook).map(|(_, answer)| answer)
    }

    /// Notes that the forwarder of a hook call is alive, so that the answer will reach the agent.
    /// Returns whether that was in doubt.
    pub fn reconnect(&mut self, hook: &HookId) -> bool {
        for reply in self.replies.iter_mut().filter(|reply| reply.ask.hook == *hook) {
            reply.missed = false;
        }
        let before = self.unheard.len();
        self.unheard.retain(|unheard| unheard != hook);
        self.unheard.len() < before
    }

    /// Keeps the last session of a node.
    pub(crate) fn keep_session(&mut self, node: &NodeId, session: KeptSession) {
        let kept = self.sessions.entry(node.clone()).or_default();
        kept.retain(|other| other.scope != session.scope);
        kept.push(session);
    }

    /// Removes the sessions of an item that is complete, because nothing continues them.
    pub(crate) fn forget_sessions(&mut self, nodes: &[NodeId], scope: Option<&str>) {
        for node in nodes {
            let Some(kept) = self.sessions.get_mut(node) else { continue };
            kept.retain(|session| session.scope.as_deref() != scope);
            if kept.is_empty() {
                self.sessions.remove(node);
            }
        }
    }

    /// Closes the sessions of a task or item, or those outside of both.
    pub(crate) fn clear_sessions(&mut self, scope: Option<&str>) {
        let all = self.sessions.values_mut().flatten();
        all.filter(|kept| kept.scope.as_deref() == scope)
            .for_each(|kept| kept.closed = Some(SessionClosing::Cleared));
    }

    /// Closes all sessions, because the run is a fork.
    pub(crate) fn leave_sessions(&mut self) {
        self.sessions.values_mut().flatten().for_each(|kept| kept.closed = Some(SessionClosing::Forked));
    }

    /// Removes and returns the oldest event with this name.
    pub fn take_received(&mut self, name: &str) -> Option<String> {
        let kept = self.received.get_mut(name)?;
        let text = kept.pop_front();
        if kept.is_empty() {
            self.received.remove(name);
        }
        text
    }
}

/// A person's answer to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptReply {
    pub ask: Ask,
    pub answer: HookAnswer,
    /// The answer probably never reached the agent. The agent gets it when it asks the same again.
    pub missed: bool,
}

/// The history of a node: its last instance, and totals over all instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeHistory {
    /// The id of the last instance.
    pub instance: NodeId,
    /// The number of starts, including retries.
    pub times: u32,
    /// The number of starts that failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// The last start.
    pub began: Moment,
    /// The last end.
    pub ended: Option<Moment>,
    /// The last outcome. `None` while the node is in progress.
    pub outcome: Option<Outcome>,
    /// The outcome before the node was skipped, if it ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<Outcome>,
    /// The total duration in milliseconds.
    pub took_ms: u64,
    /// The total spending.
    pub spent: Spent,
    pub cause: NodeCause,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The reason why a node ran or was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum NodeCause {
    /// The node is the first of its block.
    First,
    /// The previous node ended.
    After {
        node: NodeId,
        /// The word for the previous node's status.
        status: String,
    },
    /// An earlier attempt failed.
    Retried {
        what: String,
        /// The attempt, counted from 1.
        attempt: u32,
    },
    /// Someone continued the run, which had ended in this node.
    Continued,
    /// The node's `when` is false.
    WhenFalse { condition: String },
}

impl NodeCause {
    /// Returns a verb phrase for the `status` of the node before.
    pub fn describe_end(status: &str) -> &str {
        match status {
            "skipped" => "was skipped",
            "over" => "ended",
            status => status,
        }
    }
}
