//! Effects: actions in the world that the engine plans.
//!
//! Each effect has an id, and Windlass logs it before performing it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::workflow::{Expression, ShellProgram};
use crate::hook::HookAnswer;
use crate::id::{EffectId, HookId, RunId, SessionId};
use crate::run::Continuation;
use crate::spec::Spec;
use crate::tasks::{Attempts, TaskId};
use crate::time::Moment;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    pub id: EffectId,
    pub effect: Effect,
}

/// An action that Windlass performs outside the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Effect {
    /// Render the prompt of an entity and create the tracker (never overwriting an existing one)
    /// and, in `plugin` mode, the state file. Settled by `Prepared`.
    Prepare {
        /// The arguments of the entity, if it takes any.
        args: Option<String>,
        /// Another driver takes the work over, so describe it as well.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hand_over: bool,
    },
    /// Run one turn of the agent. Settled by `SessionEnded`.
    StartSession(SessionPlan),
    /// Kill every child process of the run, agents and checks alike, without a grace period:
    /// whoever cancels a second time does not want to wait.
    KillChildren,
    /// Inspect the tracker and the repository. Settled by `Inspected`.
    Inspect {
        /// The agent's last message, which may contain its completion promise.
        last_message: Option<String>,
    },
    /// Run the checks. Settled by `ChecksFinished`.
    RunChecks {
        /// The checks to run. Empty means all of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
        workspace: String,
        /// Environment variables from the workflow.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
    /// Run a command line from the workflow. Settled by `ShellEnded`.
    RunShell(ShellPlan),
    /// Start a child run and follow it to its end. Settled by `RunEnded`.
    StartRun {
        /// The id of the child run. Chosen here so that it never starts twice.
        run: RunId,
        spec: Box<Spec>,
        /// The additions with which a child run that has ended continues.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<Box<Continuation>>,
    },
    /// Choose the next task of a file and mark it as started. Settled by `TaskClaimed`.
    ClaimTask {
        /// The task file. `None` means the default locations.
        path: Option<String>,
        /// A filter on the ready tasks.
        select: Option<Expression>,
        /// The tasks that this run already works on.
        busy: Vec<TaskId>,
        /// The attempts made and allowed for each task.
        attempts: Attempts,
    },
    /// Write the result of a task into its file. Settled by `TaskSettled`.
    SettleTask {
        /// The task file. `None` means the default locations.
        path: Option<String>,
        task: TaskId,
        /// The work for the task and its checks succeeded.
        ok: bool,
        /// The last message of the last agent that was asked about the task, or an empty text if it
        /// said nothing. `None` if no agent was asked.
        said: Option<String>,
        /// The problem, if there was one.
        why: Option<String>,
        /// The branch of the task's worktree if nothing lands from it. Windlass removes the
        /// worktree if it contains no work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// Return an unfinished task to the file. Settled by `TaskSettled`.
    ReleaseTask {
        /// The task file. `None` means the default locations.
        path: Option<String>,
        task: TaskId,
        /// The branch of the task's worktree. Windlass removes the worktree if it contains no work.
        branch: Option<String>,
        /// The obstacle, unless the task is released because the run ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Make a worktree for a task. Settled by `WorktreeMade`.
    MakeWorktree {
        task: TaskId,
        /// The attempt, counted from 1.
        attempt: u32,
        /// The branch to start from. `None` means the branch of the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The branches with the work of the task's dependencies. The worktree starts from them instead.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        from: Vec<String>,
    },
    /// Merge the target into the branch of a task's worktree, with the target's version of the files
    /// in conflict. Settled by `WorktreeMade`.
    RenewWorktree {
        task: TaskId,
        /// The path of the worktree.
        workspace: String,
        branch: String,
        /// The branch to merge. `None` means the branch of the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// Remove a worktree if it contains no work, and otherwise keep it. Settled by `WorktreeMade`.
    LeaveWorktree { branch: String },
    /// Land the work of a task if it claims to be done, after running the checks on it. Settled by
    /// `Landed`.
    Land {
        /// The path of the worktree.
        workspace: String,
        branch: String,
        /// The branch to land on. `None` means the branch of the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The task file. `None` means the default locations.
        path: Option<String>,
        task: TaskId,
        /// The last message of the last agent that was asked about the task, or an empty text if it
        /// said nothing. `None` if no agent was asked.
        said: Option<String>,
        /// The conflict that the agent was to resolve.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<OpenConflict>,
        /// Environment variables from the workflow, for the checks.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
    /// Answer a hook. The log keeps the answer, so a repeated call gets the same one.
    AnswerHook { hook: HookId, answer: HookAnswer },
    /// Wait. Settled by `WaitOver`.
    WaitUntil { until: Moment },
    /// Show the counters in the tracker's frontmatter.
    MarkTracker {
        /// The number of turns started.
        iteration: u32,
        active: bool,
    },
    /// End the remains of a node: kill its child processes, end its child run, mark its tracker
    /// inactive and remove its state file. Settled by `CleanedUp`.
    CleanUp {
        /// The number of finished turns.
        iteration: u32,
    },
}

/// The properties of an effect that the code that plans, commits, performs or counts it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectTraits {
    /// The commit that plans the effect must be on disk before Windlass performs it, because the
    /// effect starts, ends or locks something outside.
    pub needs_disk: bool,
    /// The `type` of the event that settles the effect. The effect stays open until that event is
    /// in the log, even across a crash. `None` if nothing waits for an outcome.
    pub settled_by: Option<&'static str>,
    /// A paused run does not start this effect.
    pub begins_work: bool,
    pub turn: BeginsTurn,
}

/// The attempts of an effect that start a turn of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeginsTurn {
    Never,
    /// The first attempt. Later attempts repeat the same turn.
    AtFirstAttempt,
    Always,
}

impl Effect {
    /// Returns the properties of this effect. No other code decides them.
    pub const fn traits(&self) -> EffectTraits {
        /// On disk before it is performed, and open until this event.
        const fn open(settled_by: &'static str) -> EffectTraits {
            let settled_by = Some(settled_by);
            EffectTraits { needs_disk: true, settled_by, begins_work: false, turn: BeginsTurn::Never }
        }
        /// The same, and deferred while the run is paused.
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
            Effect::RunShell(_) => work("shell_ended"),
            Effect::StartRun { .. } => work("run_ended"),
            Effect::ClaimTask { .. } => work("task_claimed"),
            Effect::SettleTask { .. } | Effect::ReleaseTask { .. } => open("task_settled"),
            Effect::MakeWorktree { .. } | Effect::RenewWorktree { .. } => work("worktree_made"),
            Effect::LeaveWorktree { .. } => open("worktree_made"),
            Effect::Land { .. } => work("landed"),
            // The agent takes another turn in the same session.
            Effect::AnswerHook { answer: HookAnswer::Block { .. }, .. } => {
                EffectTraits { needs_disk: true, turn: BeginsTurn::Always, ..ONCE }
            }
            // After a crash, the same permission can be decided again with the same result.
            Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => ONCE,
            Effect::WaitUntil { .. } => open("wait_over"),
            Effect::CleanUp { .. } => open("cleaned_up"),
        }
    }

    /// Decides whether the effect stays open until an event settles it.
    pub const fn is_settled_by_an_event(&self) -> bool {
        self.traits().settled_by.is_some()
    }

    /// Decides whether a paused run defers this effect.
    pub const fn begins_work(&self) -> bool {
        self.traits().begins_work
    }
}

impl Planned {
    /// Decides whether a turn of an agent starts with this effect.
    pub fn begins_turn(&self) -> bool {
        match self.effect.traits().turn {
            BeginsTurn::Never => false,
            BeginsTurn::AtFirstAttempt => self.id.attempt == 1,
            BeginsTurn::Always => true,
        }
    }
}

/// A conflict that an agent was to resolve before its work lands, or because of which it did the task again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenConflict {
    pub files: Vec<String>,
    /// The commit at which the agent started. Without another one, nothing is resolved.
    pub since: String,
}

/// A command line of the workflow, as planned before it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShellPlan {
    /// The command line for the shell.
    pub command: String,
    pub workspace: String,
    /// The command may run again if it is unknown whether it ran.
    pub idempotent: bool,
    pub deadline: Option<Moment>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub shell: ShellProgram,
    /// Environment variables from the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The standard input. `None` means that it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Standard output is JSON and must be kept whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub json: bool,
}

impl ShellPlan {
    /// Returns the texts that the command gets.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let own = [Some(self.command.as_str()), self.stdin.as_deref()].into_iter().flatten();
        own.chain(self.env.values().map(String::as_str))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One turn of an agent CLI, as planned before it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPlan {
    /// The session id. Chosen here so that it is in the log before the process starts.
    pub session: SessionId,
    /// Resume the session instead of starting it.
    pub resume: bool,
    pub prompt: String,
    /// The loop runs inside the Stop hook, so the CLI's own limit on blocked stops must not end it.
    pub holds_stop: bool,
    /// The deadline of the node or of the whole run.
    pub deadline: Option<Moment>,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Environment variables from the workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The driver, if it is not the node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The model, if the node has models of its own to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
