//! Facts: what happened, as the log keeps it.
//!
//! A fact is put into the log by the run's owner and never changed. What follows from it is
//! the engine's to say.

pub mod upcast;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::Planned;
use crate::graph::workflow::Budget;
use crate::hook::HookCall;
use crate::id::{EffectId, HookId, InboxId, RunId, SessionId};
use crate::looping::verdict::{CheckResult, Inspection};
use crate::run::{News, Outcome, Spent};
use crate::spec::{Policy, Spec};
use crate::tasks::{Claim, TaskStatus};
use crate::time::Moment;
use crate::usage::Usage;

/// The version of a stored record. Older ones are brought to it by [`upcast`].
pub const RECORD_VERSION: u32 = 4;

/// One line of the log: a fact, what it made the engine do, and what people are told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`RECORD_VERSION`].
    pub v: u32,
    /// When it was seen.
    pub at: Moment,
    /// What happened.
    pub event: Event,
    /// What is to be done about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<Planned>,
    /// What it means to people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub news: Vec<News>,
}

impl Record {
    /// Whether the run has spent more after it: a turn begins, or it is known what one has cost.
    pub fn spends(&self) -> bool {
        matches!(self.event, Event::SessionEnded { .. } | Event::RunSpent { .. } | Event::RunEnded { .. })
            || self.effects.iter().any(Planned::begins_turn)
    }
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// The run exists.
    RunStarted {
        /// What it was asked to do.
        spec: Box<Spec>,
    },
    /// A new owner took the run over after the former one was gone.
    OwnerChanged,
    /// Somebody who is no person asked for what only a person may decide. Nothing came of it.
    RequestRefused {
        /// What was asked and why it was refused, for people.
        why: String,
    },
    /// The run goes its own way from here: it was begun with the log of another.
    Forked {
        /// The other.
        from: RunId,
        /// How much of its log was taken.
        at: u64,
        /// Random text from which session ids are derived from here on.
        seed: String,
        /// What happens from here on when something would wait for a person; nothing where that stays as
        /// it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        policy: Option<Policy>,
    },
    /// Others spent of what this run may spend too: so much is the most that it may in all.
    Allowed {
        /// What it may spend.
        budget: Budget,
    },
    /// Text, tracker and state file are there, or why not.
    Prepared {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: PrepareEnd,
        /// The commit the run began on, in a repository.
        #[serde(default)]
        base: Option<String>,
        /// What people should know of what was found there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        odd: Vec<String>,
    },
    /// The host was started for a turn.
    SessionStarted {
        /// The effect it settles the first half of.
        effect: EffectId,
        /// The conversation.
        session: SessionId,
    },
    /// A turn's process is over and its stream read to the end.
    SessionEnded {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: SessionEnd,
    },
    /// A hook asked.
    HookAsked {
        /// What.
        call: HookCall,
    },
    /// Tracker and repository were looked at.
    Inspected {
        /// The effect it settles.
        effect: EffectId,
        /// What was seen.
        sight: Inspection,
    },
    /// The checks have run.
    ChecksFinished {
        /// The effect it settles.
        effect: EffectId,
        /// Their results, in the order of the spec.
        results: Vec<CheckResult>,
    },
    /// A command line is over.
    ShellEnded {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: ShellEnd,
    },
    /// A run that was started from here has spent this much so far.
    RunSpent {
        /// The effect that started it.
        effect: EffectId,
        /// In all.
        spent: Spent,
    },
    /// A run that was started from here is over.
    RunEnded {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: Box<RunEnd>,
    },
    /// A task was chosen, or why none was.
    TaskClaimed {
        /// The effect it settles.
        effect: EffectId,
        /// What there is to do.
        claim: Claim,
        /// What the file says of tasks that is not believed, for people.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        odd: Vec<String>,
    },
    /// It stands in the file how a task went, or why not.
    TaskSettled {
        /// The effect it settles.
        effect: EffectId,
        /// How far it is now.
        status: TaskStatus,
        /// What was wrong, for the next try.
        why: Option<String>,
        /// Why it could not be written.
        error: Option<String>,
    },
    /// A worktree is there, or why not.
    WorktreeMade {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: WorktreeEnd,
    },
    /// A worktree's commits were brought back, or why not.
    Landed {
        /// The effect it settles.
        effect: EffectId,
        /// How it went.
        end: LandingEnd,
    },
    /// A wait is over.
    WaitOver {
        /// The effect it settles.
        effect: EffectId,
    },
    /// The whole run's time is spent.
    RunTimedOut,
    /// Somebody cancelled the run.
    CancelAsked {
        /// The request, when it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// The run that started this one ends it.
    OuterEnded {
        /// The request, when it came through the inbox.
        inbox: Option<InboxId>,
        /// Why.
        why: String,
    },
    /// Somebody paused the run: what is under way goes on, nothing new begins.
    PauseAsked {
        /// The request, when it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Somebody lets a paused run go on.
    GoOnAsked {
        /// The request, when it came through the inbox.
        inbox: Option<InboxId>,
    },
    /// Somebody told the run that something happened.
    Told {
        /// The request.
        inbox: InboxId,
        /// What.
        name: String,
        /// What they said of it.
        text: String,
    },
    /// A person answered a question or a permission request.
    PersonAnswered {
        /// The request.
        inbox: InboxId,
        /// Which hook call is answered; the oldest open one when none is named.
        hook: Option<HookId>,
        /// What they said.
        reply: PersonReply,
    },
    /// Everything of a node was put away.
    CleanedUp {
        /// The effect it settles.
        effect: EffectId,
    },
    /// Windlass itself broke while it performed an effect. Nobody knows how far it came.
    EffectBroken {
        /// The effect it settles.
        effect: EffectId,
        /// What broke.
        what: String,
    },
}

impl Event {
    /// Returns its type, as the log has it.
    pub fn word(&self) -> &'static str {
        match self {
            Event::RunStarted { .. } => "run_started",
            Event::OwnerChanged => "owner_changed",
            Event::RequestRefused { .. } => "request_refused",
            Event::Forked { .. } => "forked",
            Event::Allowed { .. } => "allowed",
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
            Event::OuterEnded { .. } => "outer_ended",
            Event::PauseAsked { .. } => "pause_asked",
            Event::GoOnAsked { .. } => "go_on_asked",
            Event::Told { .. } => "told",
            Event::PersonAnswered { .. } => "person_answered",
            Event::CleanedUp { .. } => "cleaned_up",
            Event::EffectBroken { .. } => "effect_broken",
        }
    }
}

/// What an entity says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityTexts {
    /// What the agent is told.
    pub prompt: String,
    /// Who it is to be.
    pub system: Option<String>,
    /// What was odd about making it, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<String>,
}

/// How it went to make what a node with an agent needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrepareEnd {
    /// Everything is there.
    Ready {
        /// What the entity says, and who the agent is to be.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        texts: Option<EntityTexts>,
        /// A digest of tracker and repository before the first turn.
        fingerprint: String,
    },
    /// It could not be made.
    Failed {
        /// Why.
        why: String,
    },
}

/// How it went to make a worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeEnd {
    /// It is there.
    Made {
        /// Its absolute folder.
        workspace: String,
        /// Its branch.
        branch: String,
        /// The branch that what is done there is to come back to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// It could not be made.
    Failed {
        /// Why.
        why: String,
    },
}

/// How it went to bring the commits of a worktree back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingEnd {
    /// They are on the target.
    Landed {
        /// Where, in words.
        what: String,
    },
    /// They are not, for something that another try can do better.
    Refused {
        /// Why.
        why: String,
    },
    /// They are not, for something that only a person can put right: no agent could, in however many tries.
    Hindered {
        /// Why.
        why: String,
    },
}

/// How a command line went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellEnd {
    /// It is over.
    Exited {
        /// With success.
        passed: bool,
        /// How it ended, in words.
        how: String,
        /// The end of its output.
        output: String,
    },
    /// It was begun, and nobody knows whether it did its work.
    Unknown,
}

/// How a run went that was started from another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// How and why.
    pub outcome: Outcome,
    /// What it spent in all.
    pub spent: Spent,
    /// What the last of its nodes gave that was not left out, or the last words of an agent.
    pub text: String,
    /// The value that this node gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonReply {
    /// Answers, by question text; a single text answers every question.
    Answers {
        /// Question text and answer; an empty question text stands for all.
        answers: Vec<(String, String)>,
    },
    /// The tool may run.
    Approve,
    /// The tool may not run.
    Reject {
        /// Why, for the agent.
        reason: String,
    },
}

/// How a turn's process went, read from its whole stream and its exit together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnd {
    /// Judged by all the evidence.
    pub verdict: SessionVerdict,
    /// The agent's last words.
    pub last_message: Option<String>,
    /// What it answered, where a schema was given and the CLI hands the value over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// What it spent.
    pub usage: Usage,
    /// Tool calls in the stream for which a hook should have come.
    pub tool_calls: u32,
    /// The agent answered at least once, so that there is a conversation to go on with.
    pub spoke: bool,
    /// Bytes of the stream that were read.
    pub offset: u64,
    /// Hook calls of the turn that no owner answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
}

/// How a turn went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionVerdict {
    /// The agent ended its turn.
    Completed,
    /// The agent's process ended well and said nothing that counts as an end of its turn.
    NothingSaid {
        /// What is known.
        what: String,
    },
    /// A usage limit: to be waited for.
    RateLimited {
        /// When it ends, if the CLI says.
        resets_at: Option<Moment>,
    },
    /// An error that may pass.
    Transient {
        /// What it was.
        what: String,
    },
    /// The process was cut off: killed, crashed, or its host died.
    Interrupted {
        /// What is known.
        what: String,
    },
    /// Its deadline passed.
    TimedOut,
    /// An error that will not pass.
    Failed {
        /// What kind of error it was.
        #[serde(default)]
        cause: SessionFailure,
        /// What it was, for people.
        what: String,
    },
}

/// Why a turn failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionFailure {
    /// The agent could not be started.
    NotStarted,
    /// Nobody is logged in, or the key was refused.
    Login,
    /// The model's API refused the request.
    Refused,
    /// A limit of the agent CLI itself was reached: turns or money.
    OwnLimit,
    /// The agent's process ended with an error.
    Process,
    /// The agent printed what Windlass cannot read.
    Unreadable,
    /// Anything else that the agent CLI reports.
    #[default]
    Other,
}
