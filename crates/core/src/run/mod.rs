//! The state of a run, folded from its events, and the news about it.
//!
//! - [`RunState`]: the state of the whole run.
//! - [`lane`]: the state of each sequence of nodes.
//! - [`session_work`]: the state of one node with an agent.
//! - [`bookkeeping`]: everything else that a run keeps.
//! - [`news`]: the news for people.
//!
//! Only the `engine` changes the state.

pub mod bookkeeping;
pub mod continuation;
mod day;
pub mod lane;
mod list_item;
pub mod news;
mod resume_flags;
mod sentence;
pub mod session_work;
mod task_position;

use serde::{Deserialize, Serialize};

use crate::effect::Planned;
pub use crate::engine::node::{
    EachItem, EachLane, EachPhase, EachResult, EachState, FinallyState, IfState, ListenState, ParallelState,
    RoundsState, SleepState, SubRunState, TryState,
};
use crate::graph::workflow::Budget;
use crate::hook::{HookAnswer, Question, ToolCall};
use crate::id::{HookId, NodeId, RunId};
use crate::spec::{SessionSettings, Spec};
use crate::time::Moment;
use crate::usage::Usage;
use crate::words;
pub use bookkeeping::{
    Bookkeeping, KeptBranch, KeptReply, KeptSession, NodeCause, NodeHistory, ResultOrigin, SessionClosing,
};
pub use continuation::{BudgetRaise, Continuation, Raise};
pub use day::{DayAllowance, DayLimit, DaySpent};
pub use lane::{
    ActiveNode, Activity, BranchState, Lane, Round, RoundPhase, SessionSignal, TaskConflict, TaskRounds,
};
pub use list_item::ListItem;
pub(crate) use list_item::shared_names;
pub use news::{ConflictStep, News};
pub use session_work::{HandOver, SessionPhase, SessionWork, Turn};
pub use task_position::TaskPosition;

words! {
    /// The status of a finished run.
    pub enum FinalStatus {
        /// The work is done, and the evidence proves it.
        Completed = "completed",
        /// The run needs a person.
        Blocked = "blocked",
        /// The run has no iterations or budget left.
        Exhausted = "exhausted",
        Failed = "failed",
        /// Someone stopped the run for now.
        Interrupted = "interrupted",
        /// Someone ended the run for good.
        Cancelled = "cancelled",
    }
}

impl FinalStatus {
    /// Decides whether a run with this status can never continue.
    pub fn is_final(self) -> bool {
        match self {
            FinalStatus::Completed | FinalStatus::Cancelled => true,
            FinalStatus::Blocked
            | FinalStatus::Exhausted
            | FinalStatus::Failed
            | FinalStatus::Interrupted => false,
        }
    }
}

words! {
    /// The reason for which a run ended.
    pub enum EndReason {
        /// The tracker contains the completion marker.
        Marker = "marker",
        /// The agent's last message contains the promise.
        Promise = "promise",
        /// The agent's last message contains the signal.
        Signal = "signal",
        /// The only turn is finished.
        TurnDone = "turn_done",
        /// The agent wrote the blocked marker.
        BlockedMarker = "blocked_marker",
        /// Nothing changed for several turns, or a check kept failing with the same error.
        Stuck = "stuck",
        /// The agent or the workflow has a question, and the policy allows no one to answer.
        Question = "question",
        /// A tool needs a permission, and the policy allows no one to give it.
        Permission = "permission",
        MaxIterations = "max_iterations",
        /// The tracker is missing or unreadable.
        MissingTracker = "missing_tracker",
        /// The agent used tools, but none of their hooks arrived.
        HookTransport = "hook_transport",
        ChecksFailed = "checks_failed",
        /// The shell could not start the command of a check.
        CheckCannotStart = "check_cannot_start",
        /// The agent reported an error that will not pass.
        AgentFailed = "agent_failed",
        /// A transient error persisted.
        TransientErrors = "transient_errors",
        /// Something cut off the agent's process again and again.
        Interrupted = "interrupted",
        Timeout = "timeout",
        /// Windlass could not make the tracker or the state file.
        PrepareFailed = "prepare_failed",
        /// The plugin ended its loop before the work was done.
        PluginStopped = "plugin_stopped",
        User = "user",
        /// The parent run ended this run.
        OuterRun = "outer_run",
        AllDone = "all_done",
        /// Tasks are open, but `select` matches none of them.
        NoneSelected = "none_selected",
        /// The run skipped every node of the branch.
        NothingRan = "nothing_ran",
        /// A condition of the loop became true.
        Until = "until",
        ShellFailed = "shell_failed",
        /// A command line started before a crash, and it is unknown whether it finished.
        ShellUnknown = "shell_unknown",
        /// A template or condition could not be evaluated.
        Template = "template",
        Schema = "schema",
        Budget = "budget",
        /// Another branch made this one unnecessary.
        NotNeeded = "not_needed",
        NoBranch = "no_branch",
        /// The list of an `each` is longer than its maximum.
        TooManyItems = "too_many_items",
        /// Tasks failed and have no attempts left.
        TasksFailed = "tasks_failed",
        /// The remaining tasks can never become ready.
        Deadlock = "deadlock",
        /// Someone skipped or removed tasks, which only a person may do.
        TasksUnproven = "tasks_unproven",
        TasksUnreadable = "tasks_unreadable",
        /// Runs are nested too deep.
        TooDeep = "too_deep",
        /// A child run did not succeed.
        ChildFailed = "child_failed",
        /// Windlass could not make a worktree or land its commits.
        Git = "git",
        /// Windlass cannot run this kind of node yet.
        NotYet = "not_yet",
        /// A `fail` node of the workflow.
        FailNode = "fail_node",
        /// The `finally` block failed after everything else was done.
        FinallyFailed = "finally_failed",
        InternalError = "internal_error",
    }
}

impl EndReason {
    /// Decides whether another attempt can end differently. Agents, commands, checks, people and
    /// services may behave differently next time; the text of a workflow stays the same.
    fn can_change(self) -> bool {
        match self {
            EndReason::CheckCannotStart
            | EndReason::Template
            | EndReason::TooDeep
            | EndReason::NotYet
            | EndReason::InternalError => false,
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
            | EndReason::NothingRan
            | EndReason::Until
            | EndReason::ShellFailed
            | EndReason::ShellUnknown
            | EndReason::Schema
            | EndReason::Budget
            | EndReason::NotNeeded
            | EndReason::NoBranch
            | EndReason::TooManyItems
            | EndReason::TasksFailed
            | EndReason::Deadlock
            | EndReason::TasksUnproven
            | EndReason::TasksUnreadable
            | EndReason::ChildFailed
            | EndReason::FailNode
            | EndReason::FinallyFailed
            | EndReason::Git => true,
        }
    }
}

/// The status of a finished run or node, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub status: FinalStatus,
    pub reason: EndReason,
    /// The reason, for people.
    pub detail: Option<String>,
    /// The original reason, if it comes from another run or a block and another attempt cannot
    /// change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<EndReason>,
}

impl Outcome {
    /// Returns an outcome without a detail.
    pub fn new(status: FinalStatus, reason: EndReason) -> Outcome {
        Outcome { status, reason, detail: None, root: None }
    }

    /// Returns the outcome with this detail.
    pub fn because(self, detail: impl Into<String>) -> Outcome {
        Outcome { detail: Some(detail.into()), ..self }
    }

    /// Returns the outcome with the other one as its cause.
    pub fn from(self, other: &Outcome) -> Outcome {
        Outcome { root: other.fixed(), ..self }
    }

    /// Returns the reason for people: the detail, or else the sentence for the reason.
    pub fn why(&self) -> String {
        self.detail.clone().unwrap_or_else(|| self.reason.sentence().to_owned())
    }

    /// Returns the reason why another attempt would end the same way. Every kind of retry asks
    /// this.
    pub fn fixed(&self) -> Option<EndReason> {
        let root = self.root.unwrap_or(self.reason);
        (!root.can_change()).then_some(root)
    }
}

/// A condition that a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "on")]
pub enum Waiting {
    /// The end of a usage limit.
    RateLimit {
        until: Moment,
    },
    /// The end of a pause before the same turn is repeated.
    Retry {
        until: Moment,
        what: String,
    },
    Person(Ask),
    /// A time, set by the workflow.
    Time {
        until: Moment,
    },
    /// An event that someone sends to the run.
    Event {
        name: String,
    },
    /// The end of a pause.
    Paused,
}

/// A request that only a person can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The instance of the node that waits.
    pub node: NodeId,
    /// The hook call that waits. An `ask` node has an id of its own here.
    pub hook: HookId,
    /// The tool call that needs a permission. `None` if the agent or the workflow asks a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
    /// The questions, asked all at once.
    pub questions: Vec<Question>,
    /// The answers so far, by question text. The node continues when every question has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
}

impl Ask {
    /// Returns a question of an agent or of the workflow.
    pub fn question(node: NodeId, hook: HookId, questions: Vec<Question>) -> Ask {
        Ask { node, hook, tool: None, questions, answers: Vec::new() }
    }

    /// Returns a request to permit a tool call.
    pub fn permission(node: NodeId, hook: HookId, call: ToolCall) -> Ask {
        let questions = vec![Question::permission(&call)];
        Ask { node, hook, tool: Some(call), questions, answers: Vec::new() }
    }

    /// Returns the kind of the request: `tool` or `question`.
    pub fn asked(&self) -> &'static str {
        if self.tool.is_some() { "tool" } else { "question" }
    }

    /// Returns the agent's name for the tool that needs a permission.
    pub fn tool_name(&self) -> Option<&str> {
        self.tool.as_ref().map(|call| call.name.as_str())
    }

    /// Returns the questions without an answer.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let is_open = |question: &&Question| !self.answers.iter().any(|(text, _)| *text == question.text);
        self.questions.iter().filter(is_open)
    }

    /// Decides whether both ask the same questions or about the same tool call.
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

/// The turns, tokens and money spent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The number of turns started.
    pub turns: u32,
    pub usage: Usage,
    /// The time for which the processes of turns ran. Only the spending by driver has it.
    #[serde(skip_serializing_if = "is_zero")]
    pub time_ms: u64,
}

impl Spent {
    pub fn add(&mut self, other: &Spent) {
        self.turns = self.turns.saturating_add(other.turns);
        self.usage.add(&other.usage);
        self.time_ms = self.time_ms.saturating_add(other.time_ms);
    }

    /// Returns the spending since an earlier reading.
    pub fn since(&self, earlier: &Spent) -> Spent {
        Spent {
            turns: self.turns.saturating_sub(earlier.turns),
            usage: self.usage.since(&earlier.usage),
            time_ms: self.time_ms.saturating_sub(earlier.time_ms),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Running,
    Waiting(Waiting),
    Finished(Outcome),
}

impl Progress {
    /// Returns the word for output.
    pub fn word(&self) -> &'static str {
        match self {
            Progress::Running => "running",
            Progress::Waiting(_) => "waiting",
            Progress::Finished(outcome) => outcome.status.word(),
        }
    }
}

/// The lifecycle of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "course")]
pub enum Lifecycle {
    Running,
    /// The outcome is decided, and the nodes in progress are ending.
    Ending {
        outcome: Outcome,
    },
    /// Everything has ended with this outcome, and `finally` runs.
    Finally {
        outcome: Outcome,
    },
    Done {
        outcome: Outcome,
    },
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub run: RunId,
    pub started: Moment,
    pub spec: Spec,
    #[serde(rename = "course")]
    pub lifecycle: Lifecycle,
    pub spent: Spent,
    /// The lane of the body, or that of `finally` while it runs.
    pub root: Lane,
    /// The lane of the body, while `finally` runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<Box<Lane>>,
    #[serde(rename = "book")]
    pub bookkeeping: Bookkeeping,
}

impl RunState {
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

    /// Returns everything that the run waits for: people first, then times and events, then the end
    /// of a pause.
    pub fn waits(&self) -> Vec<Waiting> {
        let mut waits: Vec<Waiting> = self.bookkeeping.asks.iter().cloned().map(Waiting::Person).collect();
        self.root.waits(&self.bookkeeping, &mut waits);
        waits.extend(self.bookkeeping.paused.then_some(Waiting::Paused));
        waits
    }

    pub fn is_done(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Done { .. })
    }

    /// Decides whether the run is being interrupted.
    pub fn is_interrupting(&self) -> bool {
        matches!(&self.lifecycle, Lifecycle::Ending { outcome } if outcome.status == FinalStatus::Interrupted)
    }

    /// Returns the outcome of a finished run.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.lifecycle {
            Lifecycle::Done { outcome } => Some(outcome),
            Lifecycle::Running | Lifecycle::Ending { .. } | Lifecycle::Finally { .. } => None,
        }
    }

    /// Returns the number of finished turns if the run consists of one session without retries, and
    /// otherwise the number of started turns.
    pub fn turns(&self) -> u32 {
        if self.counts_finished() { self.bookkeeping.turns } else { self.known_spent().turns }
    }

    /// Returns the spending, without the turns reserved for child runs that have not started any.
    pub fn known_spent(&self) -> Spent {
        let mut actives = Vec::new();
        self.root.actives(&mut actives);
        let ahead = actives
            .iter()
            .filter(|active| matches!(active.activity, Activity::Run(SubRunState { is_ahead: true, .. })));
        let ahead = u32::try_from(ahead.count()).unwrap_or(u32::MAX);
        Spent { turns: self.spent.turns.saturating_sub(ahead), ..self.spent }
    }

    /// Returns the allowance of the run and the spending that counts against it. `finally` runs outside of it.
    pub(crate) fn counted(&self) -> (Budget, Spent) {
        match self.lifecycle {
            Lifecycle::Finally { .. } => (Budget::default(), self.spent),
            Lifecycle::Running | Lifecycle::Ending { .. } | Lifecycle::Done { .. } => {
                let budget = self.spec.budget.least(&self.bookkeeping.allowed);
                (budget, self.spent.since(&self.bookkeeping.spent_in_finally))
            }
        }
    }

    /// Returns the spending without the part that a fork took over from the original run. Budgets count both.
    pub fn own_spent(&self) -> Spent {
        self.known_spent().since(&self.bookkeeping.inherited)
    }

    /// Returns the moment at which the run started: for a fork, when it was made. Limits on time count from
    /// `started`.
    pub fn begun(&self) -> Moment {
        self.spec.fork_of.as_ref().map_or(self.started, |fork| fork.made)
    }

    /// Returns the start, moved by the time that the run was paused or over. The time since then is the time
    /// that the run worked.
    pub fn working_since(&self) -> Moment {
        self.started.plus_ms(self.bookkeeping.paused_ms).max(self.begun())
    }

    fn counts_finished(&self) -> bool {
        self.spec.only_session().is_some_and(|(step, _)| step.retry.times == 0)
    }

    /// Returns the number of the current turn, or of the last one, counted from 1.
    pub fn current_turn(&self) -> u32 {
        let is_next = self.counts_finished() && !self.is_done();
        self.turns() + u32::from(is_next)
    }

    /// Returns the open effects, except those that a pause defers.
    pub fn to_perform(&self) -> Vec<Planned> {
        let is_held = |planned: &&Planned| self.bookkeeping.deferred.contains(&planned.id);
        self.bookkeeping.open.iter().filter(|planned| !is_held(planned)).cloned().collect()
    }

    /// Returns the answer that a hook call already got.
    pub fn answer_to(&self, hook: &HookId) -> Option<&HookAnswer> {
        self.bookkeeping.answer_to(hook)
    }

    /// Returns the moment at which the run's time is used up. Unknown while the run is paused.
    pub fn deadline(&self) -> Option<Moment> {
        if self.bookkeeping.paused {
            return None;
        }
        self.time_limit()
    }

    /// Returns the moment at which the run's time would be used up if it ran on from now.
    pub(crate) fn time_limit(&self) -> Option<Moment> {
        let most = [self.spec.limits.run_ms, self.spec.budget.time_ms].into_iter().flatten().min();
        most.map(|ms| self.started.plus_ms(ms.saturating_add(self.bookkeeping.paused_ms)))
    }

    /// Returns the work of a node instance.
    pub fn work(&self, node: &NodeId) -> Option<&SessionWork> {
        self.root.work(node)
    }

    pub fn session_settings(&self, work: &SessionWork) -> Option<&SessionSettings> {
        Some(self.spec.sessions.get(&work.step)?.with_driver(work.driver.as_deref()))
    }

    /// Returns the driver that works on a node instance now.
    pub fn driver_of(&self, node: &NodeId) -> Option<&str> {
        let driver = self.work(node).and_then(|work| work.driver.as_deref());
        driver.or_else(|| self.spec.driver_of(node))
    }

    /// Returns every session in progress.
    pub fn works(&self) -> Vec<&SessionWork> {
        let mut works = Vec::new();
        self.root.works(&mut works);
        works
    }
}
