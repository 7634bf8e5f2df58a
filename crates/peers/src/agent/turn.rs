//! One turn to be started: what a dialect is told about it, and what is the same for every agent CLI.

use std::path::{Path, PathBuf};

use windlass_core::effect::SessionPlan;
use windlass_core::hook::wire::env::{FOLDER, RUN, SESSION, SOCKET};
use windlass_core::id::{EffectId, RunId};
use windlass_core::launch::{LAUNCH_VERSION, Launch};
use windlass_core::spec::{SessionSettings, Spec};
use windlass_core::time::Moment;

use crate::process::env::passed_on;

/// The turn, for the agent's tools.
const NODE: &str = "WINDLASS_NODE";
const ITERATION: &str = "WINDLASS_ITERATION";
const ATTEMPT: &str = "WINDLASS_ATTEMPT";

/// One turn to be started.
#[derive(Debug, Clone, Copy)]
pub struct TurnRequest<'a> {
    /// The run's orders.
    pub spec: &'a Spec,
    /// The node's orders.
    pub settings: &'a SessionSettings,
    /// The folder that the session works in.
    pub workspace: &'a str,
    /// The role of the agent.
    pub system: Option<&'a str>,
    /// The prompt and the session of this turn.
    pub plan: &'a SessionPlan,
    /// The run.
    pub run: &'a RunId,
    /// The effect that starts the turn; iteration and attempt are in it.
    pub effect: &'a EffectId,
    /// The present, to turn the deadline into a span.
    pub now: Moment,
}

/// Where the files and programs of a turn are.
#[derive(Debug, Clone, Copy)]
pub struct TurnPaths<'a> {
    /// The turn's own folder, absolute.
    pub dir: &'a Path,
    /// The run's socket.
    pub socket: &'a Path,
    /// The Windlass binary, for hooks and the MCP server.
    pub windlass_exe: &'a Path,
}

/// What a turn takes from the user's machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct UserEnvironment<'a> {
    /// The environment that Windlass itself was started with.
    pub env: &'a [(String, String)],
    /// The text of the user's own settings of the CLI ([`Dialect::user_settings`](super::Dialect::user_settings)).
    pub user_settings: Option<&'a str>,
}

/// A launch, and the files it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The program, its arguments and its environment, for the host.
    pub launch: Launch,
    /// Files to write first, each 0600.
    pub files: Vec<(PathBuf, Vec<u8>)>,
}

impl TurnRequest<'_> {
    /// The mark by which the descendants of the turn's process are found.
    pub fn cookie(&self) -> String {
        format!("{}.{}", self.run, self.effect)
    }

    /// The variables of Windlass's own that the agent, its hooks and its tools get.
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
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Makes the launch of a CLI that is started with `argv` and reads `stdin`. It gets what a child may get of
    /// the environment, and Windlass's own variables.
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
            deadline_ms: self.plan.deadline.map(|deadline| deadline.since(self.now).max(1)),
            grace_ms: self.spec.limits.grace_ms,
            merge_stderr: false,
            // What an agent says is the record of its work: it is never cut.
            output_max: None,
            cookie: self.cookie(),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
