//! What is to be done in the world. In the log before it is done, each with an id.

use serde::{Deserialize, Serialize};

use crate::hook::Answer;
use crate::id::{EffectId, HookId, SessionId};
use crate::time::Moment;

/// An effect and its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Its name.
    pub id: EffectId,
    /// What to do.
    pub effect: Effect,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Effect {
    /// Make the tracker (never over an existing one) and, in `plugin` mode, the state file.
    Prepare,
    /// Run one turn of the agent. Settled by `SessionEnded`.
    StartSession(SessionPlan),
    /// Kill every child of the run, agents and checks alike, without grace: somebody who
    /// cancelled already does not want to wait.
    KillChildren,
    /// Look at tracker and repository. Settled by `Inspected`.
    Inspect {
        /// The agent's last words, in which a promise is looked for.
        last_message: Option<String>,
    },
    /// Run the checks. Settled by `ChecksFinished`.
    RunChecks,
    /// Answer a hook; the answer is in the log, so a resend gets the same.
    AnswerHook {
        /// Which call.
        hook: HookId,
        /// What it is told.
        answer: Answer,
    },
    /// Wait. Settled by `WaitOver`.
    WaitUntil {
        /// Until when.
        until: Moment,
    },
    /// Show the counters to people in the tracker's frontmatter.
    MarkTracker {
        /// Turns begun.
        iteration: u32,
        /// The loop goes on.
        active: bool,
    },
    /// End every child that is left, mark the tracker inactive, remove the state file. Settled
    /// by `CleanedUp`.
    CleanUp {
        /// Turns finished.
        iteration: u32,
    },
}

impl Effect {
    /// Whether it needs an outcome in the log: what is open after a crash is settled.
    pub fn is_settled_by_an_event(&self) -> bool {
        match self {
            Effect::Prepare
            | Effect::StartSession(_)
            | Effect::Inspect { .. }
            | Effect::RunChecks
            | Effect::WaitUntil { .. }
            | Effect::CleanUp { .. } => true,
            Effect::KillChildren | Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => false,
        }
    }
}

/// One turn of an agent CLI, decided before it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlan {
    /// The conversation; chosen here, so that it is in the log before the spawn.
    pub session: SessionId,
    /// Go on with that conversation rather than begin it.
    pub resume: bool,
    /// What the agent is told.
    pub prompt: String,
    /// The loop lives in the Stop hook: the CLI's own cap on blocks must not end it.
    pub holds_stop: bool,
    /// When the turn must have ended, for the whole run's sake.
    pub deadline: Option<Moment>,
}
