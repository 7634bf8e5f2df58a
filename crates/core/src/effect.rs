//! What is to be done in the world. In the log before it is done, each with an id.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::workflow::Expression;
use crate::hook::HookAnswer;
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
        answer: HookAnswer,
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

/// What holds for an effect, for all who plan, commit, perform or count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectTraits {
    /// The commit that plans it must be on disk before it is performed: it starts, ends or holds
    /// something outside.
    pub needs_disk: bool,
    /// The `type` of the event that settles it: the effect is open until that is in the log, also
    /// after a crash. None where nobody waits for an outcome.
    pub settled_by: Option<&'static str>,
    /// It begins something that a paused run does not begin.
    pub begins_work: bool,
    /// Whether a turn of an agent begins with it.
    pub turn: BeginsTurn,
}

/// Whether a turn of an agent begins with an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeginsTurn {
    /// It does not.
    Never,
    /// With the first attempt; the others repeat that turn.
    AtFirstAttempt,
    /// Each time.
    Always,
}

impl Effect {
    /// Returns what holds for this effect. The only place that says so.
    pub const fn traits(&self) -> EffectTraits {
        /// Committed before it is performed, and open until this event.
        const fn open(settled_by: &'static str) -> EffectTraits {
            let settled_by = Some(settled_by);
            EffectTraits { needs_disk: true, settled_by, begins_work: false, turn: BeginsTurn::Never }
        }
        /// The same, and held back while the run is paused.
        const fn work(settled_by: &'static str) -> EffectTraits {
            EffectTraits { begins_work: true, ..open(settled_by) }
        }
        const ONCE: EffectTraits =
            EffectTraits { needs_disk: false, settled_by: None, begins_work: false, turn: BeginsTurn::Never };
        match self {
            Effect::Prepare { .. } => open("prepared"),
            Effect::StartSession(_) => {
                EffectTraits { turn: BeginsTurn::AtFirstAttempt, ..work("session_ended") }
            }
            Effect::KillChildren => EffectTraits { needs_disk: true, ..ONCE },
            Effect::Inspect { .. } => EffectTraits { needs_disk: false, ..open("inspected") },
            Effect::RunChecks { .. } => open("checks_finished"),
            Effect::RunShell { .. } => work("shell_ended"),
            Effect::StartRun { .. } => work("run_ended"),
            Effect::ClaimTask { .. } => work("task_claimed"),
            Effect::SettleTask { .. } | Effect::ReleaseTask { .. } => open("task_settled"),
            Effect::MakeWorktree { .. } => work("worktree_made"),
            Effect::Land { .. } => work("landed"),
            // Another turn in the same session.
            Effect::AnswerHook { answer: HookAnswer::Block { .. }, .. } => {
                EffectTraits { needs_disk: true, turn: BeginsTurn::Always, ..ONCE }
            }
            // A tool's permission can be decided again alike.
            Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => ONCE,
            Effect::WaitUntil { .. } => open("wait_over"),
            Effect::CleanUp { .. } => open("cleaned_up"),
        }
    }

    /// Whether it needs an outcome in the log: what is open after a crash is settled.
    pub const fn is_settled_by_an_event(&self) -> bool {
        self.traits().settled_by.is_some()
    }

    /// Whether it begins something that a paused run does not begin.
    pub const fn begins_work(&self) -> bool {
        self.traits().begins_work
    }
}

impl Planned {
    /// Whether a turn of an agent begins with it.
    pub fn begins_turn(&self) -> bool {
        match self.effect.traits().turn {
            BeginsTurn::Never => false,
            BeginsTurn::AtFirstAttempt => self.id.attempt == 1,
            BeginsTurn::Always => true,
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
