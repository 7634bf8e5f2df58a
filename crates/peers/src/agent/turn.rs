//! A request to start one turn, and the parts of a launch that every agent CLI shares.

use std::path::{Path, PathBuf};

use windlass_core::effect::SessionPlan;
use windlass_core::hook::wire::env::{FOLDER, RUN, SESSION, SOCKET};
use windlass_core::id::{EffectId, RunId};
use windlass_core::launch::{LAUNCH_VERSION, Launch};
use windlass_core::run::TaskPosition;
use windlass_core::spec::{SessionSettings, Spec};
use windlass_core::time::Moment;

use crate::process::env::passed_on;

/// The variables that describe the turn to the agent's tools.
const NODE: &str = "WINDLASS_NODE";
const ITERATION: &str = "WINDLASS_ITERATION";
const ATTEMPT: &str = "WINDLASS_ATTEMPT";
const TASK: &str = "WINDLASS_TASK";
const TASK_ATTEMPT: &str = "WINDLASS_TASK_ATTEMPT";
const TASK_NODE: &str = "WINDLASS_TASK_NODE";

/// A request to start one turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnRequest<'a> {
    /// The settings of the run.
    pub spec: &'a Spec,
    /// The settings of the node.
    pub settings: &'a SessionSettings,
    /// The folder in which the session works.
    pub workspace: &'a str,
    /// The role of the agent.
    pub system: Option<&'a str>,
    /// The prompt and the session of this turn.
    pub plan: &'a SessionPlan,
    pub run: &'a RunId,
    /// The effect that starts the turn; it contains the iteration and the attempt.
    pub effect: &'a EffectId,
    /// The task that the session works on.
    pub task: Option<&'a TaskPosition>,
    /// The current time, to turn the deadline into a duration.
    pub now: Moment,
}

/// The paths of the files and programs of a turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnPaths<'a> {
    /// The turn's own folder, absolute.
    pub dir: &'a Path,
    /// A private folder of the driver that stays for the whole run, for a CLI that keeps its sessions and
    /// settings in a home folder. It may not exist yet.
    pub home: &'a Path,
    /// The run's socket.
    pub socket: &'a Path,
    /// The Windlass binary, for hooks.
    pub windlass_exe: &'a Path,
}

/// The parts of the user's environment that a turn needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserEnvironment<'a> {
    /// The environment in which Windlass itself was started.
    pub env: &'a [(String, String)],
    /// The text of the user's own settings of the CLI
    /// ([`Dialect::user_settings`](super::Dialect::user_settings)).
    pub user_settings: Option<&'a str>,
}

/// A launch and the files it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The program, its arguments and its environment, for the host.
    pub launch: Launch,
    /// Files to write before the launch, each with mode 0600 and in folders that only the user can read.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    /// Links to make before the launch, each with the file of the user that it leads to. Windlass leaves out a
    /// link to a missing file.
    pub links: Vec<(PathBuf, PathBuf)>,
}

impl TurnRequest<'_> {
    /// Returns the mark by which Windlass finds the descendants of the turn's process.
    pub fn cookie(&self) -> String {
        format!("{}.{}", self.run, self.effect)
    }

    /// Returns the model of the turn. `None` means that the CLI chooses.
    pub fn model(&self) -> Option<&String> {
        self.plan.model.as_ref().or(self.settings.driver.model.as_ref())
    }

    /// Returns Windlass's own variables for the agent, its hooks and its tools.
    pub fn own_env(&self, paths: &TurnPaths<'_>) -> Vec<(String, String)> {
        let pairs = [
            (RUN, self.run.to_string()),
            (SESSION, self.cookie()),
            (SOCKET, text(paths.socket)),
            (FOLDER, text(paths.dir)),
            (NODE, self.effect.node.to_string()),
            (ITERATION, self.effect.iteration.to_string()),
            (ATTEMPT, self.effect.attempt.to_string()),
        ];
        let of_task = self.task.into_iter().flat_map(|task| {
            [
                (TASK, task.id.to_string()),
                (TASK_ATTEMPT, task.attempt.to_string()),
                (TASK_NODE, task.node.to_string()),
            ]
        });
        pairs.into_iter().chain(of_task).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Creates the launch of a CLI that is started with `argv` and reads `stdin`. Its environment is the
    /// allowed part of the user's environment plus Windlass's own variables.
    pub fn launch(
        &self,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
        argv: Vec<String>,
        stdin: Option<&Path>,
    ) -> Launch {
        let mut env = passed_on(outside.env);
        env.extend(self.own_env(paths));
        Launch {
            v: LAUNCH_VERSION,
            argv,
            env,
            cwd: self.workspace.to_owned(),
            stdin: stdin.map(text),
            stdin_until: None,
            linger_ms: None,
            deadline_ms: self.plan.deadline.map(|deadline| deadline.since(self.now).max(1)),
            grace_ms: self.spec.limits.grace_ms,
            merge_stderr: false,
            // The agent's output is the record of its work, so it is never truncated.
            output_max: None,
            writes_in: None,
            cookie: self.cookie(),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
