//! Events: what happened in a run, as its log keeps it.
//!
//! The run's owner appends an event and never changes it. The engine decides what follows.

pub mod upcast;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::Planned;
use crate::graph::workflow::Budget;
use crate::hook::HookCall;
use crate::id::{EffectId, HookId, InboxId, RunId, SessionId};
use crate::looping::verdict::{CheckResult, Inspection};
use crate::run::{Continuation, DayAllowance, News, Outcome, Spent};
use crate::snapshot::{FolderSnapshot, SnapshotName};
use crate::spec::{Policy, Spec};
use crate::tasks::{Claim, TaskStatus};
use crate::time::Moment;
use crate::usage::{ModelUsage, Usage};

/// The version of a stored record. [`upcast`] brings older records to this version.
pub const RECORD_VERSION: u32 = 4;

/// One line of the log: an event, the effects that the engine planned for it, and the news for
/// people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    /// The moment at which the owner saw the event.
    pub at: Moment,
    pub event: Event,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Planned>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
}

impl Record {
    /// Decides whether this record changes what the run has spent: it starts a turn or reports the
    /// cost of one.
    pub fn spends(&self) -> bool {
        matches!(self.event, Event::SessionEnded { .. } | Event::RunSpent { .. } | Event::RunEnded { .. })
            || self.effects.iter().any(Planned::begins_turn)
    }
}

/// An event. The field `effect` names the effect that the event settles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    RunStarted {
        spec: Box<Spec>,
    },
    /// A new owner took over the run after the previous owner was gone.
    OwnerChanged,
    /// Windlass refused a request that only a person may make. The run ignores it.
    RequestRefused {
        /// The request and the reason for the refusal, for people.
        why: String,
    },
    /// The run was forked: its log up to here is a copy of another run's log.
    Forked {
        from: RunId,
        /// The number of copied records.
        at: u64,
        /// Random text from which later session ids are derived.
        seed: String,
        /// The policy from here on. `None` keeps the policy of the original run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Policy>,
        /// The spending of the original run up to here, which is not that of the fork.
        #[serde(default)]
        spent: Spent,
    },
    /// Other runs spent from a shared budget. `budget` is now the most that this run may spend in
    /// total.
    Allowed {
        budget: Budget,
    },
    /// Other runs spent from a budget of the day, or a new day began. `budgets` now hold for this run.
    DayAllowed {
        /// The local calendar day, as `2026-11-19`.
        day: String,
        budgets: Vec<DayAllowance>,
    },
    /// Windlass made the prompt, the tracker and the state file, or failed to.
    Prepared {
        effect: EffectId,
        end: PrepareEnd,
        /// The commit on which the run started, in a repository.
        #[serde(default)]
        base: Option<String>,
        /// Warnings for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        odd: Vec<String>,
    },
    /// The host of a turn started. The effect stays open until `SessionEnded`.
    SessionStarted {
        effect: EffectId,
        session: SessionId,
    },
    /// The process of a turn ended, and Windlass read its stream to the end.
    SessionEnded {
        effect: EffectId,
        end: SessionEnd,
    },
    /// An agent called a hook.
    HookAsked {
        call: HookCall,
    },
    /// Windlass inspected the tracker and the repository.
    Inspected {
        effect: EffectId,
        sight: Inspection,
    },
    ChecksFinished {
        effect: EffectId,
        /// The results, in the order of the checks in the spec.
        results: Vec<CheckResult>,
    },
    ShellEnded {
        effect: EffectId,
        end: ShellEnd,
    },
    /// A child run reports its spending so far.
    RunSpent {
        /// The effect that started the child run.
        effect: EffectId,
        /// The total of the child run.
        spent: Spent,
    },
    RunEnded {
        effect: EffectId,
        end: Box<RunEnd>,
    },
    /// Windlass chose a task, or found none to choose.
    TaskClaimed {
        effect: EffectId,
        claim: Claim,
        /// Claims in the task file that Windlass does not believe, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        odd: Vec<String>,
    },
    /// Windlass wrote the result of a task into its file, or failed to.
    TaskSettled {
        effect: EffectId,
        status: TaskStatus,
        /// The problem with the task, for the next attempt.
        why: Option<String>,
        /// The reason why the file could not be written.
        error: Option<String>,
    },
    WorktreeMade {
        effect: EffectId,
        end: WorktreeEnd,
    },
    /// Windlass landed the commits of a worktree, or failed to.
    Landed {
        effect: EffectId,
        end: LandingEnd,
    },
    WaitOver {
        effect: EffectId,
    },
    /// The run used up its time.
    RunTimedOut,
    /// Someone cancelled the run.
    CancelAsked {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Someone interrupted the run. It can continue later.
    InterruptAsked {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Someone continued a run that had ended.
    Continued {
        /// The request. The parent run chooses the id for a child run, so that it counts once.
        inbox: InboxId,
        /// The person, for people.
        by: String,
        more: Box<Continuation>,
    },
    /// The parent run ended this run.
    #[serde(rename = "outer_ended")]
    ParentEnded {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
        why: String,
        /// The parent run was interrupted, so this run may continue with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
        /// The node of the parent run failed, for example because its time is up. A person may continue both.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// Someone paused the run: nodes in progress finish, and no new ones start.
    PauseAsked {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Someone resumed a paused run.
    #[serde(rename = "go_on_asked")]
    UnpauseAsked {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Someone wants the turns that wait for the end of a usage limit or error to be tried again now.
    RetryAsked {
        /// The request, if it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Someone sent a named event to the run.
    #[serde(rename = "told")]
    EventReceived {
        inbox: InboxId,
        name: String,
        text: String,
    },
    /// A person answered a question or a permission request.
    PersonAnswered {
        inbox: InboxId,
        /// The hook call that this answers. `None` means the oldest open call.
        hook: Option<HookId>,
        reply: PersonReply,
        /// The person who answered, and the place. `None` if the answer was recorded by a version
        /// that did not ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<AnswerOrigin>,
    },
    /// Windlass cleaned up after a node.
    CleanedUp {
        effect: EffectId,
    },
    /// Windlass saved the state of a folder, or failed to. The run does not depend on it.
    FolderSaved {
        name: SnapshotName,
        /// The absolute path of the folder.
        folder: String,
        end: SaveEnd,
    },
    /// Windlass itself failed while it performed an effect. It is unknown how much of the effect
    /// happened.
    EffectBroken {
        effect: EffectId,
        /// The error.
        what: String,
    },
}

impl Event {
    /// Returns the `type` of the event in the log.
    pub fn word(&self) -> &'static str {
        match self {
            Event::RunStarted { .. } => "run_started",
            Event::OwnerChanged => "owner_changed",
            Event::RequestRefused { .. } => "request_refused",
            Event::Forked { .. } => "forked",
            Event::Allowed { .. } => "allowed",
            Event::DayAllowed { .. } => "day_allowed",
            Event::Prepared { .. } => "prepared",
            Event::SessionStarted { .. } => "session_started",
            Event::SessionEnded { .. } => "session_ended",
            Event::HookAsked { .. } => "hook_asked",
            Event::Inspected { .. } => "inspected",
            Event::ChecksFinished { .. } => "checks_finished",
            Event::ShellEnded { .. } => "shell_ended",
            Event::RunSpent { .. } => "run_spent",
            Event::RunEnded { .. } => "run_ended",
            Event::TaskClaimed { .. } => "task_claimed",
            Event::TaskSettled { .. } => "task_settled",
            Event::WorktreeMade { .. } => "worktree_made",
            Event::Landed { .. } => "landed",
            Event::WaitOver { .. } => "wait_over",
            Event::RunTimedOut => "run_timed_out",
            Event::CancelAsked { .. } => "cancel_asked",
            Event::InterruptAsked { .. } => "interrupt_asked",
            Event::Continued { .. } => "continued",
            Event::ParentEnded { .. } => "outer_ended",
            Event::PauseAsked { .. } => "pause_asked",
            Event::UnpauseAsked { .. } => "go_on_asked",
            Event::RetryAsked { .. } => "retry_asked",
            Event::EventReceived { .. } => "told",
            Event::PersonAnswered { .. } => "person_answered",
            Event::CleanedUp { .. } => "cleaned_up",
            Event::FolderSaved { .. } => "folder_saved",
            Event::EffectBroken { .. } => "effect_broken",
        }
    }
}

/// The result of saving the state of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveEnd {
    Saved(FolderSnapshot),
    Failed { why: String },
}

/// The texts that an entity contributes to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityTexts {
    pub prompt: String,
    /// The system prompt.
    pub system: Option<String>,
    /// Warnings for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<String>,
}

/// The state of unfinished work, for an agent that did not do it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkSoFar {
    /// The commits of the run, newest first, each as its hash and title.
    pub commits: Vec<String>,
    /// The files that differ from the start of the run, each with its numbers of changed lines.
    pub files: Vec<String>,
}

/// The result of preparing a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrepareEnd {
    Ready {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        texts: Option<EntityTexts>,
        /// A digest of tracker and repository before the first turn.
        fingerprint: String,
        /// The state of the work, for the driver that takes it over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<WorkSoFar>,
    },
    Failed {
        why: String,
    },
}

/// The result of making a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeEnd {
    Made {
        /// The absolute path of the worktree.
        workspace: String,
        branch: String,
        /// The branch on which the work lands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The commit at which the work starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// The branch of an existing worktree contains its target now.
    Renewed {
        /// The commit of the branch.
        commit: String,
        /// The files that are now as on the target because both sides changed them.
        files: Vec<String>,
    },
    /// Nothing works in the worktree any more.
    Left {
        /// It contains work, so it still exists.
        kept: bool,
    },
    Failed {
        why: String,
    },
    /// The branches to start from conflict with each other. Other worktrees can still be made.
    Conflict {
        why: String,
    },
}

/// The result of landing the commits of a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingEnd {
    /// The commits are on the target branch.
    Landed {
        /// The place where the commits landed, for people.
        what: String,
        /// The branch had no commits that the target lacked, so nothing moved.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_empty: bool,
    },
    /// The commits did not land, but another attempt can succeed.
    Refused {
        why: String,
        /// The checks that failed, and whether the shell could start their commands, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        checks: BTreeMap<String, bool>,
    },
    /// The commits did not land, because the target has other changes in the same files.
    Conflict {
        files: Vec<String>,
        /// The commit with the agent's version of the files. `None` if the agent was to resolve a
        /// conflict and has committed nothing since.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
        /// The description, for people.
        why: String,
    },
    /// The commits did not land, and only a person can fix the cause.
    Hindered { why: String },
}

/// The exit code of a command that ran out of time.
pub(crate) const EXIT_TIMED_OUT: i32 = 124;
/// The exit code of a command that Windlass could not start, or ended for another reason.
pub(crate) const EXIT_BY_WINDLASS: i32 = 125;

/// The result of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellEnd {
    Exited {
        passed: bool,
        /// The way it ended, for people.
        how: String,
        /// The last part of the output. Standard output alone if the command passed.
        output: String,
        /// Standard output, if it is not the same: its last part, or all of it if it is JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stdout: Option<String>,
    },
    /// The command started, but it is unknown whether it finished its work.
    Unknown,
}

impl ShellEnd {
    /// Returns the end of a command that printed only this.
    pub fn exited(passed: bool, how: impl Into<String>, output: impl Into<String>) -> ShellEnd {
        ShellEnd::Exited { passed, how: how.into(), output: output.into(), stdout: None }
    }

    /// Returns the exit code. A command that did not exit by itself has the one that shells and `timeout` give.
    pub fn exit_code(&self) -> Option<i32> {
        let ShellEnd::Exited { how, .. } = self else { return None };
        let number = |before: &str| how.strip_prefix(before)?.parse::<i32>().ok();
        let signal = || Some(128 + number("killed by signal ")?);
        let timeout = || (how == "timed out").then_some(EXIT_TIMED_OUT);
        number("exit code ").or_else(signal).or_else(timeout).or(Some(EXIT_BY_WINDLASS))
    }
}

/// The result of a child run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    pub outcome: Outcome,
    pub spent: Spent,
    /// The output of the last node that was not skipped, or the last message of an agent.
    pub text: String,
    /// The value of the same node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonReply {
    /// Answers by question text.
    Answers {
        /// Pairs of question text and answer. An empty question text applies to all questions.
        answers: Vec<(String, String)>,
    },
    Approve,
    Reject {
        /// The reason, for the agent.
        reason: String,
    },
}

impl PersonReply {
    /// Returns the reason of a refusal, if the person gave one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            PersonReply::Reject { reason } => Some(reason.trim()).filter(|reason| !reason.is_empty()),
            PersonReply::Approve | PersonReply::Answers { .. } => None,
        }
    }
}

/// The person who answered, and the place of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerOrigin {
    /// The login name, or the number of a user without one.
    pub user: String,
    /// The way: `terminal` for the terminal that shows the run, otherwise the command.
    pub way: String,
    /// The process that sent the answer.
    pub pid: u32,
    /// The terminal of that process, if it has one: `pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<String>,
}

impl AnswerOrigin {
    /// The way of an answer at the terminal that shows the run.
    pub const TERMINAL: &str = "terminal";
}

/// The result of a turn's process, judged by its whole stream and its exit together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    pub verdict: SessionVerdict,
    pub last_message: Option<String>,
    /// The structured answer, if the turn had a schema and the CLI returns the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    pub usage: Usage,
    /// The number of tool calls in the stream for which a hook should have arrived.
    pub tool_calls: u32,
    /// The agent answered at least once, so there is a conversation to resume.
    pub spoke: bool,
    /// The number of bytes read from the stream.
    pub offset: u64,
    /// Hook calls of the turn that no owner answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
    /// The id of the conversation, if the CLI chose another one than Windlass planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The usage covers the whole conversation so far, not this turn alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usage_is_cumulative: bool,
    /// The usage by model, if the CLI reports its models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelUsage>,
    /// The time for which the process ran; 0 if it is unknown.
    #[serde(default)]
    pub took_ms: u64,
}

/// The verdict on a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionVerdict {
    /// The agent ended its turn.
    Completed,
    /// The agent's process exited with success but never reported the end of its turn.
    NothingSaid {
        what: String,
    },
    /// The agent reached a usage limit. The run waits until it resets.
    RateLimited {
        /// The time at which the limit resets, if the CLI reports it.
        resets_at: Option<Moment>,
    },
    /// An error that may pass.
    Transient {
        what: String,
    },
    /// Something cut off the process: it was killed, it crashed, or its host died.
    Interrupted {
        what: String,
    },
    TimedOut,
    /// An error that will not pass.
    Failed {
        #[serde(default)]
        cause: SessionFailure,
        /// The error, for people.
        what: String,
    },
}

/// The kind of error that ended a turn for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFailure {
    NotStarted,
    /// No user is logged in, or the API refused the key.
    Login,
    Refused,
    /// The service does not have the model, or not for this user.
    Model,
    /// The agent reached a limit of its own CLI, on turns or money.
    OwnLimit,
    /// The agent CLI does not find the conversation that it was asked to continue.
    NoConversation,
    Process,
    /// The agent printed output that Windlass cannot read.
    Unreadable,
    /// Any other error that the agent CLI reports.
    #[default]
    Other,
}
