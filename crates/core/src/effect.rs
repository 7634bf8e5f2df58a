//! What is to be done in the world. In the log before it is done, each with an id.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::workflow::Expression;
use crate::hook::Answer;
use crate::id::{EffectId, HookId, RunId, SessionId};
use crate::spec::Spec;
use crate::tasks::{Attempts, TaskId};
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
    /// Make the text of an entity, the tracker (never over an existing one) and, in `plugin`
    /// mode, the state file. Settled by `Prepared`.
    Prepare {
        /// What the entity is told, where it is one that speaks.
        args: Option<String>,
    },
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
    RunChecks {
        /// Which; all of them where none is named.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        /// Where.
        workspace: String,
    },
    /// Run a command line of the workflow's author. Settled by `ShellEnded`.
    RunShell {
        /// What is run by `sh -c`.
        command: String,
        /// Where.
        workspace: String,
        /// It may be run again when nobody knows whether it was.
        idempotent: bool,
        /// When it must have ended.
        deadline: Option<Moment>,
    },
    /// Start another run and see it to its end. Settled by `RunEnded`.
    StartRun {
        /// Its id; chosen here, so that it is never started twice.
        run: RunId,
        /// Its orders.
        spec: Box<Spec>,
    },
    /// Choose the next task of a file and mark it as begun. Settled by `TaskClaimed`.
    ClaimTask {
        /// The file; the usual places where nothing is said.
        path: Option<String>,
        /// Which of the ready tasks may be taken.
        select: Option<Expression>,
        /// What this run is at already.
        busy: Vec<TaskId>,
        /// How often each may be tried, and was.
        attempts: Attempts,
    },
    /// Say in the file how a task went. Settled by `TaskSettled`.
    SettleTask {
        /// The file; the usual places where nothing is said.
        path: Option<String>,
        /// Which.
        task: TaskId,
        /// What was done for it succeeded, its checks too.
        ok: bool,
        /// The last words of the last agent that was asked how the task is, empty where it said nothing;
        /// none where no agent was asked.
        said: Option<String>,
        /// What was wrong, where something was.
        why: Option<String>,
        /// The branch of its worktree, where nothing is brought back from there: it is taken away
        /// if it holds no work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// Put a task back in the file that is not worked on any more, though it was not done. Settled
    /// by `TaskSettled`.
    ReleaseTask {
        /// The file; the usual places where nothing is said.
        path: Option<String>,
        /// Which.
        task: TaskId,
        /// The branch of its worktree, which is taken away if it holds no work.
        branch: Option<String>,
        /// What kept it from being done, where it was that and not the end of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Make a worktree for a task. Settled by `WorktreeMade`.
    MakeWorktree {
        /// The task it is for.
        task: TaskId,
        /// The try, from 1.
        attempt: u32,
        /// The branch it begins at, once that is decided; that of the workspace where it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// Bring what was done for a task in a worktree back where it is claimed to be done, with the
    /// checks run on it. Settled by `Landed`.
    Land {
        /// The worktree.
        workspace: String,
        /// Its branch.
        branch: String,
        /// The branch it is brought back to; that of the workspace where none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The file of the task; the usual places where nothing is said.
        path: Option<String>,
        /// The task.
        task: TaskId,
        /// The last words of the last agent that was asked how the task is, empty where it said nothing;
        /// none where no agent was asked.
        said: Option<String>,
    },
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
    /// End what is left of a node: every child, a run it started; mark its tracker inactive and
    /// remove its state file. Settled by `CleanedUp`.
    CleanUp {
        /// Turns finished.
        iteration: u32,
    },
}

impl Effect {
    /// Whether it needs an outcome in the log: what is open after a crash is settled.
    pub fn is_settled_by_an_event(&self) -> bool {
        match self {
            Effect::Prepare { .. }
            | Effect::StartSession(_)
            | Effect::Inspect { .. }
            | Effect::RunChecks { .. }
            | Effect::RunShell { .. }
            | Effect::StartRun { .. }
            | Effect::ClaimTask { .. }
            | Effect::SettleTask { .. }
            | Effect::ReleaseTask { .. }
            | Effect::MakeWorktree { .. }
            | Effect::Land { .. }
            | Effect::WaitUntil { .. }
            | Effect::CleanUp { .. } => true,
            Effect::KillChildren | Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => false,
        }
    }
}

impl Effect {
    /// Whether it begins something that a paused run does not begin.
    pub fn begins_work(&self) -> bool {
        match self {
            Effect::StartSession(_)
            | Effect::RunShell { .. }
            | Effect::StartRun { .. }
            | Effect::ClaimTask { .. }
            | Effect::MakeWorktree { .. }
            | Effect::Land { .. } => true,
            Effect::Prepare { .. }
            | Effect::KillChildren
            | Effect::Inspect { .. }
            | Effect::RunChecks { .. }
            | Effect::SettleTask { .. }
            | Effect::ReleaseTask { .. }
            | Effect::AnswerHook { .. }
            | Effect::WaitUntil { .. }
            | Effect::MarkTracker { .. }
            | Effect::CleanUp { .. } => false,
        }
    }
}

/// One turn of an agent CLI, decided before it is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPlan {
    /// The conversation; chosen here, so that it is in the log before the spawn.
    pub session: SessionId,
    /// Go on with that conversation rather than begin it.
    pub resume: bool,
    /// What the agent is told.
    pub prompt: String,
    /// The loop lives in the Stop hook: the CLI's own cap on blocks must not end it.
    pub holds_stop: bool,
    /// When the turn must have ended, for the node's or the whole run's sake.
    pub deadline: Option<Moment>,
    /// The JSON Schema of what it must answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}
