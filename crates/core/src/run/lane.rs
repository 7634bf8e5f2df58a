//! Where a sequence of nodes stands: a tree, of which only what is under way is kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bookkeeping::{Bookkeeping, NodeCause};
use super::session_work::{SessionPhase, SessionWork};
use super::{Outcome, Spent, Waiting};
use crate::effect::Effect;
use crate::engine::node::{IfState, ListenState, ParallelState, RoundsState, SleepState, SubRunState};
use crate::id::{NodeId, Verb};
use crate::tasks::{Attempts, TaskId};
use crate::time::Moment;

/// Where a sequence of nodes stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Lane {
    /// The place of the node that is under way or next.
    pub at: usize,
    /// The node under way.
    pub now: Option<Box<ActiveNode>>,
    /// What went wrong so far and was lived with: what the next round is told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wrong: String,
    /// The last words of the agents so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// What the last session leaves that answers in words and not by a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<SessionSignal>,
    /// Nothing more begins here, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Outcome>,
}

/// What a session leaves to whoever looks for a signal, or for how a task is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SessionSignal {
    /// It ended well and said this; empty where it said nothing.
    Said(String),
    /// It did not end well: whatever it said or wrote, it claims nothing.
    Broken {
        /// How it ended.
        broken: String,
        /// It would have answered in words.
        asked: bool,
    },
}

impl SessionSignal {
    /// The text in which a claim may stand.
    pub fn text(&self) -> &str {
        match self {
            SessionSignal::Said(text) => text,
            SessionSignal::Broken { .. } => "",
        }
    }

    /// Whether the session ended well.
    pub fn is_said(&self) -> bool {
        matches!(self, SessionSignal::Said(_))
    }
}

impl Lane {
    /// A session ended well, which may do instead of one by a schema that broke.
    pub(crate) fn forgive(&mut self) {
        self.word.take_if(|word| matches!(word, SessionSignal::Broken { asked: false, .. }));
    }

    /// Hears the word of a node that is over. A session by a schema that broke takes no word away.
    pub(crate) fn hear(&mut self, word: Option<SessionSignal>) {
        let is_aside = matches!(word, Some(SessionSignal::Broken { asked: false, .. }));
        if word.is_some() && (!is_aside || self.word.is_none()) {
            self.word = word;
        }
    }
}

/// A node under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveNode {
    /// The node as the workflow names it.
    pub step: NodeId,
    /// Its name in this round and try: no two effects of two instances have the same id.
    pub instance: NodeId,
    /// The try, from 1.
    pub tries: u32,
    /// When it began.
    pub began: Moment,
    /// When it must be over.
    pub deadline: Option<Moment>,
    /// What it spent so far, in earlier tries of this round too.
    pub spent: Spent,
    /// What the earlier tries spent.
    #[serde(default)]
    pub earlier: Spent,
    /// It is being ended, and how it will have ended.
    pub cut: Option<Outcome>,
    /// The last words of the agents in what is over of it, where that is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The same of the sessions that answer in words; see [`Lane::word`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word: Option<SessionSignal>,
    /// What it does.
    #[serde(rename = "doing")]
    pub activity: Activity,
}

/// What a node under way does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// An agent works.
    Session(Box<SessionWork>),
    /// A command line runs.
    Shell,
    /// Checks run.
    Check,
    /// A person is asked.
    Ask,
    /// It waits for a time.
    Sleep(SleepState),
    /// It waits for something to be told.
    Listen(ListenState),
    /// Another run does it.
    Run(SubRunState),
    /// It waits to be tried again.
    Pausing {
        /// Until when.
        until: Moment,
        /// What went wrong.
        what: String,
    },
    /// It has not begun: a pause holds it back.
    Held {
        /// Why it is next.
        cause: NodeCause,
    },
    /// It was over before it did anything. No run is left so.
    Ended,
    /// One of two ways.
    If(IfState),
    /// The same again.
    Loop(RoundsState),
    /// The tasks of a file.
    Tasks(Box<TaskRounds>),
    /// Several at once.
    Parallel(ParallelState),
}

/// A branch of a parallel block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchState {
    /// It has not begun.
    Waiting,
    /// It is under way.
    Open(Lane),
    /// It is over.
    Over(Outcome),
}

impl BranchState {
    /// How it ended, once it has.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match self {
            BranchState::Over(outcome) => Some(outcome.clone()),
            BranchState::Waiting | BranchState::Open(_) => None,
        }
    }
}

/// The rounds of a task loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRounds {
    /// The file; the usual places where nothing is said.
    pub path: Option<String>,
    /// Rounds begun.
    pub rounds: u32,
    /// How often a task was asked for.
    pub claims: u32,
    /// A task is being asked for.
    pub asking: bool,
    /// Nothing was ready when somebody last looked.
    pub idle: bool,
    /// A task was settled since one was asked for, so that the answer may be out of date.
    #[serde(default)]
    pub stale: bool,
    /// How often each task was tried.
    pub attempts: Attempts,
    /// What was wrong with each at its last try.
    pub wrong: BTreeMap<TaskId, String>,
    /// The branch that all of them come back to: that of the workspace at the first worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The rounds under way.
    pub open: Vec<Round>,
    /// Tasks that were done here.
    pub passed: u32,
    /// What people were told of the file that is not believed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub told: BTreeSet<String>,
    /// How the tasks failed that no other try can help.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<TaskId, Outcome>,
    /// How the first round ended that cannot be tried again before a person has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Outcome>,
    /// No task is asked for any more, and how it will have ended.
    pub over: Option<Outcome>,
}

/// One task's round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The round, from 1.
    pub round: u32,
    /// The task.
    pub id: TaskId,
    /// All that the file said of it.
    pub task: Value,
    /// Where it is done: a worktree, or the workspace of the run.
    pub workspace: Option<String>,
    /// The branch of the worktree.
    pub branch: Option<String>,
    /// How far it is.
    pub phase: RoundPhase,
    /// Where its nodes stand.
    pub lane: Lane,
    /// What was wrong, once something was.
    pub wrong: Option<String>,
}

/// How far a task's round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundPhase {
    /// Its worktree is made.
    Leasing,
    /// What comes before each task.
    Before,
    /// The task itself.
    Working,
    /// The checks run.
    Checking,
    /// Its commits are brought back.
    Landing,
    /// The file is told.
    Settling,
}

impl Lane {
    /// The work of a node.
    pub fn work(&self, node: &NodeId) -> Option<&SessionWork> {
        let mut works = Vec::new();
        self.works(&mut works);
        works.into_iter().find(|work| work.node.id == *node)
    }

    /// Everything that is under way with an agent.
    pub fn works<'a>(&'a self, into: &mut Vec<&'a SessionWork>) {
        let Some(active) = &self.now else { return };
        match &active.activity {
            Activity::Session(work) => into.push(work),
            activity => activity.lanes().into_iter().for_each(|lane| lane.works(into)),
        }
    }

    /// Does something to everything that is under way with an agent.
    pub(crate) fn works_mut(&mut self, act: &mut impl FnMut(&mut SessionWork)) {
        let Some(active) = &mut self.now else { return };
        match &mut active.activity {
            Activity::Session(work) => act(work),
            Activity::If(IfState { lane, .. }) | Activity::Loop(RoundsState { lane, .. }) => {
                lane.works_mut(act)
            }
            Activity::Tasks(tasks) => {
                for round in &mut tasks.open {
                    round.lane.works_mut(act);
                }
            }
            Activity::Parallel(ParallelState { slots }) => {
                for slot in slots {
                    if let BranchState::Open(lane) = slot {
                        lane.works_mut(act);
                    }
                }
            }
            _ => {}
        }
    }

    /// Every node under way, blocks and what is in them.
    pub fn actives<'a>(&'a self, into: &mut Vec<&'a ActiveNode>) {
        let Some(active) = &self.now else { return };
        into.push(active);
        active.activity.lanes().into_iter().for_each(|lane| lane.actives(into));
    }

    /// What is waited for here; whether something works.
    pub(super) fn waits(&self, bookkeeping: &Bookkeeping, into: &mut Vec<Waiting>) -> bool {
        let Some(active) = &self.now else { return false };
        let is_open = |verb: Verb| {
            let here = bookkeeping.open.iter().filter(|planned| planned.id.node == active.instance);
            here.filter(|planned| planned.id.verb == verb)
                .any(|planned| !bookkeeping.deferred.contains(&planned.id))
        };
        match &active.activity {
            Activity::Session(work) => match &work.phase {
                SessionPhase::Pausing { waiting, .. } => {
                    into.push(waiting.clone());
                    false
                }
                SessionPhase::InTurn => is_open(Verb::Session),
                _ => true,
            },
            Activity::Sleep(SleepState { until }) => {
                into.push(Waiting::Time { until: *until });
                false
            }
            Activity::Listen(ListenState { name }) => {
                into.push(Waiting::Event { name: name.clone() });
                false
            }
            Activity::Pausing { until, what } => {
                into.push(Waiting::Retry { until: *until, what: what.clone() });
                false
            }
            Activity::Ask | Activity::Ended => false,
            Activity::Held { .. } => is_open(Verb::Hold),
            Activity::Shell => is_open(Verb::Shell),
            Activity::Run(_) => is_open(Verb::Run),
            Activity::Check => true,
            Activity::If(IfState { lane, .. }) => lane.waits(bookkeeping, into),
            Activity::Loop(RoundsState { lane, .. }) => lane.waits(bookkeeping, into) || is_open(Verb::Hold),
            Activity::Parallel(ParallelState { slots }) => {
                let mut is_busy = false;
                for slot in slots {
                    if let BranchState::Open(lane) = slot {
                        is_busy |= lane.waits(bookkeeping, into);
                    }
                }
                is_busy
            }
            Activity::Tasks(tasks) => {
                let mut is_busy = bookkeeping.open.iter().any(|planned| {
                    matches!(planned.effect, Effect::ClaimTask { .. })
                        && !bookkeeping.deferred.contains(&planned.id)
                });
                for round in &tasks.open {
                    is_busy |= match round.phase {
                        RoundPhase::Before | RoundPhase::Working => round.lane.waits(bookkeeping, into),
                        _ => true,
                    };
                }
                is_busy
            }
        }
    }
}

impl Activity {
    /// The sequences in it.
    pub fn lanes(&self) -> Vec<&Lane> {
        match self {
            Activity::If(IfState { lane, .. }) | Activity::Loop(RoundsState { lane, .. }) => vec![lane],
            Activity::Parallel(ParallelState { slots }) => {
                slots.iter().filter_map(BranchState::lane).collect()
            }
            Activity::Tasks(tasks) => tasks.open.iter().map(|round| &round.lane).collect(),
            Activity::Session(_)
            | Activity::Shell
            | Activity::Check
            | Activity::Ask
            | Activity::Sleep(_)
            | Activity::Listen(_)
            | Activity::Run(_)
            | Activity::Pausing { .. }
            | Activity::Held { .. }
            | Activity::Ended => Vec::new(),
        }
    }

    /// Whether its node has begun to do what its kind does.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self, Activity::Pausing { .. } | Activity::Held { .. } | Activity::Ended)
    }

    /// What the run keeps, in words.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Activity::Session(_) => "a session",
            Activity::Shell => "a command line",
            Activity::Check => "checks",
            Activity::Ask => "a question",
            Activity::Sleep(_) => "a wait for a time",
            Activity::Listen(_) => "a wait for an event",
            Activity::Run(_) => "a run of another workflow",
            Activity::Pausing { .. } => "a pause before the next try",
            Activity::Held { .. } => "a pause of the run",
            Activity::Ended => "an end",
            Activity::If(_) => "one of two ways",
            Activity::Loop(_) => "rounds",
            Activity::Tasks(_) => "rounds of tasks",
            Activity::Parallel(_) => "branches",
        }
    }
}

impl BranchState {
    fn lane(&self) -> Option<&Lane> {
        match self {
            BranchState::Open(lane) => Some(lane),
            BranchState::Waiting | BranchState::Over(_) => None,
        }
    }
}
