//! A run: its state, which is the fold of its events, and what people are told of it.
//!
//! - [`State`]: where all of it stands. - [`lane`]: where each sequence of nodes stands.
//! - [`work`]: the work of one node with an agent. - [`book`]: what a run keeps besides.
//! - [`news`]: what people are told.
//!
//! Moving the state on is `engine`'s alone.

pub mod bookkeeping;
pub mod lane;
pub mod news;
mod sentence;
pub mod session_work;

use serde::{Deserialize, Serialize};

use crate::effect::Planned;
pub use crate::engine::node::{IfState, ListenState, ParallelState, RoundsState, SleepState, SubRunState};
use crate::hook::{HookAnswer, Question, ToolCall};
use crate::id::{HookId, NodeId, RunId};
use crate::spec::{SessionSettings, Spec};
use crate::time::Moment;
use crate::usage::Usage;
use crate::words;
pub use bookkeeping::{Bookkeeping, KeptReply, NodeCause, NodeHistory};
pub use lane::{ActiveNode, Activity, BranchState, Lane, Round, RoundPhase, SessionSignal, TaskRounds};
pub use news::News;
pub use session_work::{SessionPhase, SessionWork, Turn};

words! {
    /// How a run ended.
    pub enum FinalStatus {
        /// The work is done, by the evidence.
        Completed = "completed",
        /// A person is needed.
        Blocked = "blocked",
        /// Its turns are spent.
        Exhausted = "exhausted",
        /// It cannot go on.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
    }
}

words! {
    /// Why a run ended.
    pub enum EndReason {
        /// The completion marker stood in the tracker.
        Marker = "marker",
        /// The promise stood in the final message.
        Promise = "promise",
        /// The signal stood in the final message.
        Signal = "signal",
        /// The one turn was done.
        TurnDone = "turn_done",
        /// The agent wrote the blocked marker.
        BlockedMarker = "blocked_marker",
        /// Nothing changed for several turns.
        Stuck = "stuck",
        /// The agent asked and nobody may answer.
        Question = "question",
        /// A tool needed a permission and nobody may give it.
        Permission = "permission",
        /// The turns are spent.
        MaxIterations = "max_iterations",
        /// The tracker was gone or unreadable.
        MissingTracker = "missing_tracker",
        /// Tools were used and no hook arrived.
        HookTransport = "hook_transport",
        /// The checks of a single turn failed.
        ChecksFailed = "checks_failed",
        /// The agent reported an error that will not pass.
        AgentFailed = "agent_failed",
        /// An error that should pass did not.
        TransientErrors = "transient_errors",
        /// The agent's process was cut off again and again.
        Interrupted = "interrupted",
        /// Time is up.
        Timeout = "timeout",
        /// Tracker or state file could not be made.
        PrepareFailed = "prepare_failed",
        /// The plugin ended its loop before it was done.
        PluginStopped = "plugin_stopped",
        /// A person cancelled it.
        User = "user",
        /// The run that started it ended it.
        OuterRun = "outer_run",
        /// Everything was done.
        AllDone = "all_done",
        /// Tasks are open, and `select` matched none of them.
        NoneSelected = "none_selected",
        /// A condition of the loop held.
        Until = "until",
        /// A command line failed.
        ShellFailed = "shell_failed",
        /// A command line was begun before a crash, and nobody knows whether it did its work.
        ShellUnknown = "shell_unknown",
        /// A template or a condition has no value.
        Template = "template",
        /// The answer does not fit its schema.
        Schema = "schema",
        /// What may be spent is spent.
        Budget = "budget",
        /// Something else was enough.
        NotNeeded = "not_needed",
        /// None of the branches succeeded.
        NoBranch = "no_branch",
        /// Tasks failed and may not be tried again.
        TasksFailed = "tasks_failed",
        /// What is left of the tasks can never be ready.
        Deadlock = "deadlock",
        /// Somebody left tasks out or took them away, and only a person may.
        TasksUnproven = "tasks_unproven",
        /// The file of the tasks cannot be used.
        TasksUnreadable = "tasks_unreadable",
        /// Runs start runs too deep.
        TooDeep = "too_deep",
        /// A run that was started from here did not end well.
        ChildFailed = "child_failed",
        /// A worktree could not be made or brought back.
        Git = "git",
        /// The node cannot be run yet.
        NotYet = "not_yet",
        /// Windlass itself broke.
        InternalError = "internal_error",
    }
}

impl EndReason {
    /// Whether the same node could end in another way if it were tried again: agents, commands, checks,
    /// people and services may do something else the next time. What a document says stays as it is.
    fn can_change(self) -> bool {
        match self {
            EndReason::Template | EndReason::TooDeep | EndReason::NotYet | EndReason::InternalError => false,
            EndReason::Marker
            | EndReason::Promise
            | EndReason::Signal
            | EndReason::TurnDone
            | EndReason::BlockedMarker
            | EndReason::Stuck
            | EndReason::Question
            | EndReason::Permission
            | EndReason::MaxIterations
            | EndReason::MissingTracker
            | EndReason::HookTransport
            | EndReason::ChecksFailed
            | EndReason::AgentFailed
            | EndReason::TransientErrors
            | EndReason::Interrupted
            | EndReason::Timeout
            | EndReason::PrepareFailed
            | EndReason::PluginStopped
            | EndReason::User
            | EndReason::OuterRun
            | EndReason::AllDone
            | EndReason::NoneSelected
            | EndReason::Until
            | EndReason::ShellFailed
            | EndReason::ShellUnknown
            | EndReason::Schema
            | EndReason::Budget
            | EndReason::NotNeeded
            | EndReason::NoBranch
            | EndReason::TasksFailed
            | EndReason::Deadlock
            | EndReason::TasksUnproven
            | EndReason::TasksUnreadable
            | EndReason::ChildFailed
            | EndReason::Git => true,
        }
    }
}

/// How and why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How.
    pub status: FinalStatus,
    /// Why.
    pub reason: EndReason,
    /// Why, in words.
    pub detail: Option<String>,
    /// What it comes from, where that is in another run or in a block, and another try cannot change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<EndReason>,
}

impl Outcome {
    /// Without words.
    pub fn new(status: FinalStatus, reason: EndReason) -> Outcome {
        Outcome { status, reason, detail: None, root: None }
    }

    /// With words.
    pub fn because(self, detail: impl Into<String>) -> Outcome {
        Outcome { detail: Some(detail.into()), ..self }
    }

    /// The same, coming from another one.
    pub fn from(self, other: &Outcome) -> Outcome {
        Outcome { root: other.fixed(), ..self }
    }

    /// Why another try would end in the same way. Everything that tries again asks this.
    pub fn fixed(&self) -> Option<EndReason> {
        let root = self.root.unwrap_or(self.reason);
        (!root.can_change()).then_some(root)
    }
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "on")]
pub enum Waiting {
    /// A usage limit to end.
    RateLimit {
        /// When it goes on.
        until: Moment,
    },
    /// A pause before the same turn is tried again.
    Retry {
        /// When it goes on.
        until: Moment,
        /// What went wrong.
        what: String,
    },
    /// A person.
    Person(Ask),
    /// A time, because the workflow says so.
    Time {
        /// When it goes on.
        until: Moment,
    },
    /// Something that is told to the run.
    Event {
        /// What it is called.
        name: String,
    },
    /// Somebody to let it go on.
    Paused,
}

/// Something only a person can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The node that waits, by its name in this round and try.
    pub node: NodeId,
    /// The hook call that waits; an `ask` node has a name of its own here.
    pub hook: HookId,
    /// The use of a tool that needs a permission; nothing where the agent or the workflow asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
    /// What a person is asked, all at once.
    pub questions: Vec<Question>,
    /// What was answered so far, by question text: it goes on when nothing is left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
}

impl Ask {
    /// A question of an agent or of the workflow.
    pub fn question(node: NodeId, hook: HookId, questions: Vec<Question>) -> Ask {
        Ask { node, hook, tool: None, questions, answers: Vec::new() }
    }

    /// A use of a tool that a person must permit.
    pub fn permission(node: NodeId, hook: HookId, call: ToolCall) -> Ask {
        let questions = vec![Question::permission(&call)];
        Ask { node, hook, tool: Some(call), questions, answers: Vec::new() }
    }

    /// What kind of hook call asks: about a tool, or a question.
    pub fn asked(&self) -> &'static str {
        if self.tool.is_some() { "tool" } else { "question" }
    }

    /// The tool that needs a permission, as its agent names it.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool.as_ref().map(|call| call.name.as_str())
    }

    /// The questions without an answer.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let is_open = |question: &&Question| !self.answers.iter().any(|(text, _)| *text == question.text);
        self.questions.iter().filter(is_open)
    }

    /// Whether it asks what the other one does: the same questions, or the same use of a tool.
    pub fn is_the_same_as(&self, other: &Ask) -> bool {
        let texts =
            |ask: &Ask| ask.questions.iter().map(|question| question.text.clone()).collect::<Vec<_>>();
        let is_about_the_same = match (&self.tool, &other.tool) {
            (None, None) => texts(self) == texts(other),
            (Some(tool), Some(of_other)) => tool == of_other,
            _ => false,
        };
        self.node == other.node && is_about_the_same
    }
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Turns of agents that were begun.
    pub turns: u32,
    /// Tokens and money.
    pub usage: Usage,
}

impl Spent {
    /// Adds what another spent.
    pub fn add(&mut self, other: &Spent) {
        self.turns = self.turns.saturating_add(other.turns);
        self.usage.add(&other.usage);
    }

    /// What was spent since that much was.
    pub fn since(&self, earlier: &Spent) -> Spent {
        Spent { turns: self.turns.saturating_sub(earlier.turns), usage: self.usage.since(&earlier.usage) }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// It works.
    Running,
    /// It waits.
    Waiting(Waiting),
    /// It is over.
    Finished(Outcome),
}

impl Progress {
    /// The word used in output.
    pub fn word(&self) -> &'static str {
        match self {
            Progress::Running => "running",
            Progress::Waiting(_) => "waiting",
            Progress::Finished(outcome) => outcome.status.word(),
        }
    }
}

/// Whether a run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "course")]
pub enum Lifecycle {
    /// It does.
    Running,
    /// It is decided; what is under way is ended.
    Ending {
        /// How it will end.
        outcome: Outcome,
    },
    /// It is over.
    Done {
        /// How it ended.
        outcome: Outcome,
    },
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started: Moment,
    /// What it was asked to do.
    pub spec: Spec,
    /// Whether it goes on.
    #[serde(rename = "course")]
    pub lifecycle: Lifecycle,
    /// What it spent.
    pub spent: Spent,
    /// Where its nodes stand.
    pub root: Lane,
    /// What it keeps besides.
    #[serde(rename = "book")]
    pub bookkeeping: Bookkeeping,
}

impl RunState {
    /// Where the run stands.
    pub fn progress(&self) -> Progress {
        if let Lifecycle::Done { outcome } = &self.lifecycle {
            return Progress::Finished(outcome.clone());
        }
        if let Some(ask) = self.bookkeeping.asks.first() {
            return Progress::Waiting(Waiting::Person(ask.clone()));
        }
        let mut waits = Vec::new();
        let is_busy = self.root.waits(&self.bookkeeping, &mut waits);
        if self.bookkeeping.paused && !is_busy {
            return Progress::Waiting(Waiting::Paused);
        }
        match waits.into_iter().next() {
            Some(waiting) if !is_busy => Progress::Waiting(waiting),
            _ => Progress::Running,
        }
    }

    /// Everything it waits for: people first, then times and events, and whoever paused it.
    pub fn waits(&self) -> Vec<Waiting> {
        let mut waits: Vec<Waiting> = self.bookkeeping.asks.iter().cloned().map(Waiting::Person).collect();
        self.root.waits(&self.bookkeeping, &mut waits);
        waits.extend(self.bookkeeping.paused.then_some(Waiting::Paused));
        waits
    }

    /// Whether it is over.
    pub fn is_done(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Done { .. })
    }

    /// How it ended, once it has.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.lifecycle {
            Lifecycle::Done { outcome } => Some(outcome),
            Lifecycle::Running | Lifecycle::Ending { .. } => None,
        }
    }

    /// Turns finished, in a run of one session that is tried once; else those that were begun in all of it.
    pub fn turns(&self) -> u32 {
        if self.counts_finished() { self.bookkeeping.turns } else { self.known_spent().turns }
    }

    /// What was spent, without the turns that are counted beforehand for runs which have begun none.
    pub fn known_spent(&self) -> Spent {
        let mut actives = Vec::new();
        self.root.actives(&mut actives);
        let ahead = actives
            .iter()
            .filter(|active| matches!(active.activity, Activity::Run(SubRunState { is_ahead: true, .. })));
        let ahead = u32::try_from(ahead.count()).unwrap_or(u32::MAX);
        Spent { turns: self.spent.turns.saturating_sub(ahead), usage: self.spent.usage }
    }

    fn counts_finished(&self) -> bool {
        self.spec.only_session().is_some_and(|(step, _)| step.retry.times == 0)
    }

    /// The turn under way, or the last one, from 1.
    pub fn current_turn(&self) -> u32 {
        let is_next = self.counts_finished() && !self.is_done();
        self.turns() + u32::from(is_next)
    }

    /// Effects without an outcome yet, but for those a pause holds back.
    pub fn to_perform(&self) -> Vec<Planned> {
        let is_held = |planned: &&Planned| self.bookkeeping.deferred.contains(&planned.id);
        self.bookkeeping.open.iter().filter(|planned| !is_held(planned)).cloned().collect()
    }

    /// The answer a hook call already got.
    pub fn answer_to(&self, hook: &HookId) -> Option<&HookAnswer> {
        self.bookkeeping.answer_to(hook)
    }

    /// When the whole run's time is spent; while it is paused that is not known.
    pub fn deadline(&self) -> Option<Moment> {
        if self.bookkeeping.paused {
            return None;
        }
        let most = [self.spec.limits.run_ms, self.spec.budget.time_ms].into_iter().flatten().min();
        most.map(|ms| self.started.plus_ms(ms.saturating_add(self.bookkeeping.paused_ms)))
    }

    /// The work of a node, by its name in this round and try.
    pub fn work(&self, node: &NodeId) -> Option<&SessionWork> {
        self.root.work(node)
    }

    /// How the sessions of a node are run.
    pub fn session_settings(&self, work: &SessionWork) -> Option<&SessionSettings> {
        self.spec.sessions.get(&work.step)
    }

    /// Everything that is under way with an agent.
    pub fn works(&self) -> Vec<&SessionWork> {
        let mut works = Vec::new();
        self.root.works(&mut works);
        works
    }
}
