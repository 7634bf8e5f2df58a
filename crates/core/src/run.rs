//! A run: its state, which is the fold of its events, and what people are told of it.
//!
//! Moving the state on is `engine`'s alone.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::effect::Planned;
use crate::hook::Answer;
use crate::id::{EffectId, HookId, RunId, SessionId};
use crate::looping::verdict::Sight;
use crate::spec::Spec;
use crate::time::Moment;
use crate::usage::Usage;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The work is done, by the evidence.
    Completed,
    /// A person is needed.
    Blocked,
    /// Its turns are spent.
    Exhausted,
    /// It cannot go on.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

impl Status {
    /// The word used in output.
    pub fn word(self) -> &'static str {
        match self {
            Status::Completed => "completed",
            Status::Blocked => "blocked",
            Status::Exhausted => "exhausted",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The completion marker stood in the tracker.
    Marker,
    /// The promise stood in the final message.
    Promise,
    /// The signal stood in the final message.
    Signal,
    /// The one turn was done.
    TurnDone,
    /// The agent wrote the blocked marker.
    BlockedMarker,
    /// Nothing changed for several turns.
    Stuck,
    /// The agent asked and nobody may answer.
    Question,
    /// A tool needed a permission and nobody may give it.
    Permission,
    /// The turns are spent.
    MaxIterations,
    /// The tracker was gone or unreadable.
    MissingTracker,
    /// Tools were used and no hook arrived.
    HookTransport,
    /// The checks of a single turn failed.
    ChecksFailed,
    /// The agent reported an error that will not pass.
    AgentFailed,
    /// An error that should pass did not.
    TransientErrors,
    /// The agent's process was cut off again and again.
    Interrupted,
    /// Time is up.
    Timeout,
    /// Tracker or state file could not be made.
    PrepareFailed,
    /// The plugin ended its loop before it was done.
    PluginStopped,
    /// A person cancelled it.
    User,
}

impl Reason {
    /// The word used in output.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Marker => "marker",
            Reason::Promise => "promise",
            Reason::Signal => "signal",
            Reason::TurnDone => "turn_done",
            Reason::BlockedMarker => "blocked_marker",
            Reason::Stuck => "stuck",
            Reason::Question => "question",
            Reason::Permission => "permission",
            Reason::MaxIterations => "max_iterations",
            Reason::MissingTracker => "missing_tracker",
            Reason::HookTransport => "hook_transport",
            Reason::ChecksFailed => "checks_failed",
            Reason::AgentFailed => "agent_failed",
            Reason::TransientErrors => "transient_errors",
            Reason::Interrupted => "interrupted",
            Reason::Timeout => "timeout",
            Reason::PrepareFailed => "prepare_failed",
            Reason::PluginStopped => "plugin_stopped",
            Reason::User => "user",
        }
    }
}

/// How and why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How.
    pub status: Status,
    /// Why.
    pub reason: Reason,
    /// Why, in words.
    pub detail: Option<String>,
}

impl Outcome {
    /// Without words.
    pub fn new(status: Status, reason: Reason) -> Outcome {
        Outcome { status, reason, detail: None }
    }

    /// With words.
    pub fn because(self, detail: impl Into<String>) -> Outcome {
        Outcome { detail: Some(detail.into()), ..self }
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
}

/// Something only a person can answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The hook call that waits.
    pub hook: HookId,
    /// The tool that is asked about; `None` for a question of the agent.
    pub tool: Option<String>,
    /// The tool's or question's input.
    pub input: Value,
    /// What was answered so far, by question text: it goes on when nothing is left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<(String, String)>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It works.
    Running,
    /// It waits.
    Waiting(Waiting),
    /// It is over.
    Finished(Outcome),
}

impl Standing {
    /// The word used in output.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Running => "running",
            Standing::Waiting(_) => "waiting",
            Standing::Finished(outcome) => outcome.status.word(),
        }
    }
}

/// What a fact means to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum News {
    /// A turn's process was started.
    SessionStarted {
        /// The conversation.
        session: SessionId,
        /// The turn, from 1.
        iteration: u32,
        /// The try, from 1.
        attempt: u32,
        /// An earlier conversation goes on.
        resumed: bool,
    },
    /// A hook was answered.
    HookDecided {
        /// Which call.
        hook: HookId,
        /// `tool`, `question`, `stop` or the hook's own name.
        asked: String,
        /// The tool, where one was asked for.
        tool: Option<String>,
        /// What it was told.
        answer: Answer,
    },
    /// A turn is over and judged.
    IterationFinished {
        /// The turn, from 1.
        iteration: u32,
        /// The checks, by name.
        checks: Vec<(String, bool)>,
        /// Another turn follows.
        goes_on: bool,
        /// What the next turn is told about failures.
        feedback: Option<String>,
    },
    /// The run waits.
    Waiting(Waiting),
    /// The wait is over.
    WaitOver,
    /// A new owner took over.
    TakenOver,
    /// The turn is tried again.
    Retrying {
        /// What went wrong.
        what: String,
        /// The try that follows.
        attempt: u32,
    },
    /// The run is over.
    Finished {
        /// How and why.
        outcome: Outcome,
        /// Turns.
        iterations: u32,
        /// What it spent.
        usage: Usage,
    },
}

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
}

/// What a run is doing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum Phase {
    /// Tracker and state file are made.
    Preparing,
    /// The agent works.
    InTurn,
    /// A finished turn is looked at.
    Judging {
        /// The Stop hook that waits for the verdict.
        hook: Option<HookId>,
        /// What was seen, once it was.
        sight: Option<Sight>,
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
    /// It is over.
    Done {
        /// How it ended.
        outcome: Outcome,
    },
}

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started: Moment,
    /// What it was asked to do.
    pub spec: Spec,
    /// What it is doing.
    pub phase: Phase,
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
    /// The conversation.
    pub session: Option<SessionId>,
    /// The process, while it runs.
    pub turn: Option<Turn>,
    /// What the next prompt says about failures.
    pub feedback: Option<String>,
    /// The digest after the last turn.
    pub fingerprint: String,
    /// The commit the run began on, in a repository.
    #[serde(default)]
    pub base: Option<String>,
    /// Turns in a row that changed nothing.
    pub idle_turns: u32,
    /// What it spent.
    pub usage: Usage,
    /// What only a person can answer, oldest first.
    pub asks: Vec<Ask>,
    /// The latest hook answers, for resends.
    pub answered: VecDeque<(HookId, Answer)>,
    /// Effects without an outcome yet.
    pub open: Vec<Planned>,
    /// The agent's last words.
    pub last_message: Option<String>,
}

impl State {
    /// Where the run stands.
    pub fn standing(&self) -> Standing {
        if let Phase::Done { outcome } = &self.phase {
            return Standing::Finished(outcome.clone());
        }
        if let Some(ask) = self.asks.first() {
            return Standing::Waiting(Waiting::Person(ask.clone()));
        }
        match &self.phase {
            Phase::Pausing { waiting, .. } => Standing::Waiting(waiting.clone()),
            _ => Standing::Running,
        }
    }

    /// Whether it is over.
    pub fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    /// The turn under way, or the last one, from 1.
    pub fn current_turn(&self) -> u32 {
        if self.is_done() { self.turns } else { self.turns + 1 }
    }

    /// The answer a hook call already got.
    pub fn answer_to(&self, hook: &HookId) -> Option<&Answer> {
        self.answered.iter().find(|(id, _)| id == hook).map(|(_, answer)| answer)
    }

    /// When the whole run's time is spent.
    pub fn deadline(&self) -> Option<Moment> {
        self.spec.limits.run_ms.map(|ms| self.started.plus_ms(ms))
    }
}
