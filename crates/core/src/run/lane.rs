//! The state of a sequence of nodes.
//!
//! Lanes form a tree that contains only the nodes in progress.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bookkeeping::{Bookkeeping, NodeCause};
use super::session_work::SessionWork;
use super::{FinalStatus, Outcome, Spent, Waiting};
use crate::engine::node::active::{ActiveState, WaitSite};
use crate::engine::node::{
    AskState, CheckState, EachState, FinallyState, IfState, ListenState, ParallelState, RoundsState,
    ShellState, SleepState, SubRunState, TryState,
};
use crate::engine::numbers::Numbers;
use crate::id::{NodeId, SessionId, Verb};
use crate::tasks::{Attempts, TaskId};
use crate::time::Moment;

/// The state of a sequence of nodes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lane {
    /// The index of the current or next node.
    pub at: usize,
    /// The node in progress.
    pub now: Option<Box<ActiveNode>>,
    /// The failures so far that did not end the sequence, as feedback for the next iteration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wrong: String,
    /// The last message of an agent so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The status of the node before the current one. `None` if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FinalStatus>,
    /// A node of it ended. False if the run skipped every node so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_run: bool,
    /// The signal of the last session that answers in plain text rather than by a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<SessionSignal>,
    /// The outcome that stops the sequence. No further node starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Outcome>,
    /// The node in which the sequence ended early, as it was then. A continued run starts from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Box<ActiveNode>>,
    /// The sessions of the nodes that ended, if a conflict of the task may resume them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sessions: BTreeMap<NodeId, SessionId>,
}

/// The end of a session, for code that looks for a signal or for the status of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SessionSignal {
    /// The session ended well with this message, which may be empty.
    Said(String),
    /// The session did not end well. Nothing that it said or wrote counts as a claim.
    Broken {
        broken: String,
        /// The session was to answer in plain text.
        asked: bool,
    },
}

impl SessionSignal {
    /// Returns the text that may contain a claim.
    pub fn text(&self) -> &str {
        match self {
            SessionSignal::Said(text) => text,
            SessionSignal::Broken { .. } => "",
        }
    }

    /// Decides whether the session ended well.
    pub fn is_said(&self) -> bool {
        matches!(self, SessionSignal::Said(_))
    }
}

impl Lane {
    /// Goes past a node that was skipped.
    pub(crate) fn skip(&mut self) {
        self.at += 1;
        self.before = None;
    }

    /// Keeps the node in which the sequence ends early, together with its outcome.
    pub(crate) fn leave(&mut self, mut active: Box<ActiveNode>, outcome: Outcome) {
        active.cut = Some(outcome);
        self.left = Some(active);
    }

    /// Collects the nodes in which the sequence and the sequences inside it ended early.
    pub(crate) fn left_nodes<'a>(&'a self, into: &mut Vec<&'a ActiveNode>) {
        let Some(left) = &self.left else { return };
        into.push(left);
        left.activity.left_lanes().into_iter().for_each(|lane| lane.left_nodes(into));
    }

    /// Forgets a failed session with a schema, because a later session ended well.
    pub(crate) fn forgive(&mut self) {
        self.word.take_if(|word| matches!(word, SessionSignal::Broken { asked: false, .. }));
    }

    /// Records the signal of a finished node. A failed session with a schema does not replace an
    /// earlier signal.
    pub(crate) fn hear(&mut self, word: Option<SessionSignal>) {
        let is_aside = matches!(word, Some(SessionSignal::Broken { asked: false, .. }));
        if word.is_some() && (!is_aside || self.word.is_none()) {
            self.word = word;
        }
    }
}

/// A node in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveNode {
    /// The id of the node in the workflow.
    pub step: NodeId,
    /// The id of this instance, which includes iteration and attempt, so that effects of two
    /// instances never share an id.
    pub instance: NodeId,
    /// The attempt, counted from 1.
    pub tries: u32,
    /// The number of attempts before the run was last continued.
    #[serde(default)]
    pub old_tries: u32,
    pub began: Moment,
    pub deadline: Option<Moment>,
    /// The spending so far, including earlier attempts in this iteration.
    pub spent: Spent,
    /// The spending of the earlier attempts.
    #[serde(default)]
    pub earlier: Spent,
    /// The outcome that the node will have, once it is being ended.
    pub cut: Option<Outcome>,
    /// The numbers that were computed when the node started first.
    #[serde(default, skip_serializing_if = "Numbers::is_empty")]
    pub numbers: Numbers,
    /// The last message of an agent in the finished parts of the node, if no lane keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The same for sessions that answer in plain text. See [`Lane::word`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<SessionSignal>,
    /// The state of an earlier attempt at an `each` block, whose complete items do not run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Box<EachState>>,
    #[serde(rename = "doing")]
    pub activity: Activity,
}

/// The activity of a node in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    Session(Box<SessionWork>),
    Shell,
    Check,
    Ask,
    /// The node waits until a time.
    Sleep(SleepState),
    /// The node waits for an event.
    Listen(ListenState),
    Run(SubRunState),
    /// The node waits before its next attempt.
    #[serde(rename = "pausing")]
    WaitingToRetry {
        until: Moment,
        what: String,
    },
    /// The node has not started because the run is paused.
    #[serde(rename = "held")]
    Deferred {
        cause: NodeCause,
    },
    /// The node ended before it did anything. A run never stays in this state.
    Ended,
    If(IfState),
    Loop(RoundsState),
    Tasks(Box<TaskRounds>),
    Parallel(ParallelState),
    Try(TryState),
    Finally(FinallyState),
    Each(Box<EachState>),
}

/// A branch of a parallel block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchState {
    Waiting,
    Open(Lane),
    Over(Outcome),
}

impl BranchState {
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match self {
            BranchState::Over(outcome) => Some(outcome.clone()),
            BranchState::Waiting | BranchState::Open(_) => None,
        }
    }
}

/// The state of a task loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRounds {
    /// The task file. `None` means the default locations.
    pub path: Option<String>,
    /// The number of iterations started.
    pub rounds: u32,
    /// The number of iterations that only resolved a conflict.
    #[serde(default)]
    pub conflict_rounds: u32,
    /// The task whose conflict is being resolved. No other task lands meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolving: Option<TaskId>,
    /// The number of claims so far.
    pub claims: u32,
    /// A claim is in progress.
    pub asking: bool,
    /// The last claim found no ready task.
    pub idle: bool,
    /// A task was settled since the last claim, so its result may be out of date.
    #[serde(default)]
    pub stale: bool,
    /// The attempts made and allowed for each task.
    pub attempts: Attempts,
    /// The problem with each task at its last attempt.
    pub wrong: BTreeMap<TaskId, String>,
    /// The branch on which all worktrees land: the branch of the workspace at the first worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The iterations in progress.
    pub open: Vec<Round>,
    /// The maximum number of iterations, if it was computed or a person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The number of tasks that this loop completed.
    pub passed: u32,
    /// The warnings about the file that people have already seen.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<String>,
    /// The outcomes of the tasks that no further attempt can help.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<TaskId, Outcome>,
    /// The first outcome that a person must look at before another attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Outcome>,
    /// The outcome that the loop will have. No further task is claimed.
    pub over: Option<Outcome>,
}

/// One iteration of a task loop: the work on one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The iteration, counted from 1.
    pub round: u32,
    pub id: TaskId,
    /// The task as its file describes it.
    pub task: Value,
    /// The worktree of the task, or the workspace of the run.
    pub workspace: Option<String>,
    /// The branch of the worktree.
    pub branch: Option<String>,
    pub phase: RoundPhase,
    pub lane: Lane,
    /// The number of turns that agents started.
    #[serde(default)]
    pub turns: u32,
    /// The problem, if there is one.
    pub wrong: Option<String>,
    /// The run was interrupted, and nobody works on the task. A continued run goes on from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The conflict of the work with its target, if there was one since the attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Box<TaskConflict>>,
}

/// A conflict of the work on a task with its target branch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TaskConflict {
    /// The number of conflicts since the attempt started.
    pub times: u32,
    pub files: Vec<String>,
    /// The commit with the agent's version of the files.
    pub commit: Option<String>,
    /// The agent was to resolve the conflict and has committed nothing.
    pub is_unresolved: bool,
    /// The commit at which the agent starts to resolve the conflict, or to do the task again.
    pub since: Option<String>,
    /// The branch with the earlier work, once the task is done again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
    /// The description, for people.
    pub why: String,
    /// The message for the agent.
    pub told: String,
    /// The sessions to resume, by node.
    pub sessions: BTreeMap<NodeId, SessionId>,
}

/// The phase of a task's iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundPhase {
    /// Windlass makes the worktree.
    Leasing,
    /// The nodes that run before each task.
    Before,
    /// The nodes of the task itself.
    Working,
    Checking,
    /// The work waits to land until another task has resolved its conflict.
    Queued,
    /// Windlass lands the commits.
    Landing,
    /// The work is in conflict with its target and waits to be resolved.
    Conflicted,
    /// Windlass brings the worktree up to date with its target.
    Renewing,
    /// Windlass writes the result into the task file.
    Settling,
}

impl Lane {
    /// Returns the work of a node instance.
    pub fn work(&self, node: &NodeId) -> Option<&SessionWork> {
        let mut works = Vec::new();
        self.works(&mut works);
        works.into_iter().find(|work| work.node.id == *node)
    }

    /// Collects every session in progress.
    pub fn works<'a>(&'a self, into: &mut Vec<&'a SessionWork>) {
        let Some(active) = &self.now else { return };
        match &active.activity {
            Activity::Session(work) => into.push(work),
            activity => activity.lanes().into_iter().for_each(|lane| lane.works(into)),
        }
    }

    /// Applies a function to every session in progress.
    pub(crate) fn works_mut(&mut self, act: &mut dyn FnMut(&mut SessionWork)) {
        let Some(active) = &mut self.now else { return };
        match &mut active.activity {
            Activity::Session(work) => act(work),
            activity => activity.lanes_mut().into_iter().for_each(|lane| lane.works_mut(act)),
        }
    }

    /// Collects every node in progress, including blocks and the nodes inside them.
    pub fn actives<'a>(&'a self, into: &mut Vec<&'a ActiveNode>) {
        let Some(active) = &self.now else { return };
        into.push(active);
        active.activity.lanes().into_iter().for_each(|lane| lane.actives(into));
    }

    /// Collects what these nodes wait for. Returns whether any of them is busy.
    pub(crate) fn waits(&self, bookkeeping: &Bookkeeping, into: &mut Vec<Waiting>) -> bool {
        let Some(active) = &self.now else { return false };
        let site = WaitSite { instance: &active.instance, bookkeeping };
        match &active.activity {
            Activity::WaitingToRetry { until, what } => {
                into.push(Waiting::Retry { until: *until, what: what.clone() });
                false
            }
            Activity::Deferred { .. } => site.is_open(Verb::Defer),
            activity => activity.state().is_some_and(|state| state.waits(&site, into)),
        }
    }
}

impl Activity {
    /// Returns the state of the node's kind; `None` if the node waits to start or has ended.
    fn state(&self) -> Option<&dyn ActiveState> {
        Some(match self {
            Activity::Session(work) => work.as_ref(),
            Activity::Shell => &ShellState,
            Activity::Check => &CheckState,
            Activity::Ask => &AskState,
            Activity::Sleep(state) => state,
            Activity::Listen(state) => state,
            Activity::Run(state) => state,
            Activity::If(state) => state,
            Activity::Loop(state) => state,
            Activity::Tasks(state) => state.as_ref(),
            Activity::Parallel(state) => state,
            Activity::Try(state) => state,
            Activity::Finally(state) => state,
            Activity::Each(state) => state.as_ref(),
            Activity::WaitingToRetry { .. } | Activity::Deferred { .. } | Activity::Ended => return None,
        })
    }

    /// Returns the lanes inside this activity.
    pub fn lanes(&self) -> Vec<&Lane> {
        self.state().map(ActiveState::lanes).unwrap_or_default()
    }

    /// Returns the lanes inside this activity that a continued run goes on with.
    fn left_lanes(&self) -> Vec<&Lane> {
        self.state().map(ActiveState::left_lanes).unwrap_or_default()
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        match self {
            Activity::If(state) => state.lanes_mut(),
            Activity::Loop(state) => state.lanes_mut(),
            Activity::Tasks(state) => state.lanes_mut(),
            Activity::Parallel(state) => state.lanes_mut(),
            Activity::Try(state) => state.lanes_mut(),
            Activity::Finally(state) => state.lanes_mut(),
            Activity::Each(state) => state.lanes_mut(),
            _ => Vec::new(),
        }
    }

    /// Returns true if the node itself waits: for a person, a time, an event or the end of a pause.
    pub(crate) fn is_waiting(&self) -> bool {
        match self {
            Activity::WaitingToRetry { .. } | Activity::Deferred { .. } => true,
            activity => activity.state().is_some_and(ActiveState::is_waiting),
        }
    }

    /// Decides whether the node has started its own work.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self, Activity::WaitingToRetry { .. } | Activity::Deferred { .. } | Activity::Ended)
    }

    /// Returns the activity in words, for internal errors.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Activity::WaitingToRetry { .. } => "a pause before the next attempt",
            Activity::Deferred { .. } => "a pause of the run",
            activity => activity.state().map_or("the end of a node", ActiveState::word),
        }
    }
}

impl BranchState {
    pub(crate) fn lane_mut(&mut self) -> Option<&mut Lane> {
        match self {
            BranchState::Open(lane) => Some(lane),
            BranchState::Waiting | BranchState::Over(_) => None,
        }
    }

    pub(crate) fn lane(&self) -> Option<&Lane> {
        match self {
            BranchState::Open(lane) => Some(lane),
            BranchState::Waiting | BranchState::Over(_) => None,
        }
    }
}
