//! Starts a command line under its own host, or finds it again after a crash, and waits for its end.
//!
//! The caller decides what the end means and whether an interrupted command starts again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::id::NodeId;
use windlass_core::launch::{EndedBy, ExitFile, LAUNCH_VERSION, Launch, files as names};
use windlass_peers::child::{
    ChildState, Terminate, child_state, forget_half_exit, sweep_cookie, sweep_group,
};
use windlass_peers::git;
use windlass_peers::process::env::plain_env;
use windlass_peers::process::{end_all_adopted, start_host};
use windlass_peers::tail::{TailEvent, Watcher};

use super::gate::Gate;
use super::{RunContext, StartFailure};
use crate::supervise::blocking;

/// The maximum output of a command line; beyond it, the host ends the command.
const OUTPUT_MAX_MB: u64 = 64;

/// Starts hosts for a node and watches how their children end.
pub(super) struct HostStarter<'a> {
    pub(super) exe: &'a Path,
    pub(super) watcher: &'a Watcher,
    /// The variables that crash tests pass to hosts.
    pub(super) env: Vec<(String, String)>,
    pub(super) node: NodeId,
    pub(super) gate: &'a Gate,
}

impl HostStarter<'_> {
    /// Returns the starter for a node.
    pub(super) fn of<'g>(context: &'g RunContext, node: &NodeId) -> HostStarter<'g> {
        let (exe, watcher, gate) = (&context.exe, &context.watcher, &context.gate);
        HostStarter { exe, watcher, env: context.home.crash_env(), node: node.clone(), gate }
    }
}

/// The end of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildEnd {
    /// It ended, and none of its processes is left.
    Exited(ExitFile),
    /// Its host died. The child may have done something, and none of its processes is left.
    Lost,
    /// Its host died before the child started: nothing was done.
    NotStarted,
}

/// The destination of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    Merged,
    Apart,
}

/// Adds the environment variables of the workflow. They replace those of the user.
fn with_own(mut env: Vec<(String, String)>, own: &BTreeMap<String, String>) -> Vec<(String, String)> {
    env.retain(|(name, _)| !own.contains_key(name));
    env.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    env
}

/// Describes a command line in the plain environment of a run. Its cookie is that of its folder.
pub(super) fn launch(
    context: &RunContext,
    dir: &Path,
    command: &str,
    workspace: &str,
    env: &BTreeMap<String, String>,
    errors: Errors,
) -> Launch {
    Launch {
        v: LAUNCH_VERSION,
        cookie: context.cookie(&context.child_name(dir).unwrap_or_default()),
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()],
        env: with_own(plain_env(&context.home.env, &context.run), env),
        cwd: workspace.to_owned(),
        stdin: None,
        stdin_until: None,
        linger_ms: None,
        deadline_ms: None,
        grace_ms: context.spec.limits.grace_ms,
        merge_stderr: errors == Errors::Merged,
        output_max: Some(OUTPUT_MAX_MB << 20),
        writes_in: None,
    }
}

/// Starts the child of a folder, or adopts the one that runs there, and waits for its end.
pub(super) async fn see_through(
    hosts: &HostStarter<'_>,
    dir: &Path,
    launch: &Launch,
) -> Result<ChildEnd, StartFailure> {
    let host = match child_state(dir) {
        ChildState::NotStarted => {
            let start = || start_host(hosts.exe, dir, launch, &hosts.env);
            let started = hosts.gate.start(&hosts.node, dir, start);
            match started.map_err(|error| StartFailure::of(&error, dir, hosts.exe))? {
                Some(host) => Some(host),
                // The node is being cleaned up, so no one waits for this child.
                None => std::future::pending().await,
            }
        }
        ChildState::Running { .. } => None,
        state @ (ChildState::Ended(_) | ChildState::Lost) => return Ok(end(dir, launch, state).await),
    };
    let mut events = hosts.watcher.watch(dir, 0, host);
    while let Some(event) = events.recv().await {
        match event {
            TailEvent::Lines(_) => {}
            TailEvent::Ended(state) => return Ok(end(dir, launch, state).await),
        }
    }
    match child_state(dir) {
        // The watcher is gone, so this process is about to end. The child keeps running until the run is
        // resumed.
        ChildState::Running { .. } => std::future::pending().await,
        state => Ok(end(dir, launch, state).await),
    }
}

async fn end(dir: &Path, launch: &Launch, state: ChildState) -> ChildEnd {
    match state {
        ChildState::NotStarted => return ChildEnd::NotStarted,
        ChildState::Ended(exit) => {
            forget_secrets(dir);
            return ChildEnd::Exited(exit);
        }
        ChildState::Lost | ChildState::Running { .. } => {}
    }
    clear_lost_child(dir, launch.cookie.clone(), &launch.cwd).await;
    forget_secrets(dir);
    ChildEnd::Lost
}

/// Ends the remaining processes of a child whose host died. Removes what they left unfinished: the host's
/// exit file and unowned git locks. Returns the locks that remain.
pub(super) async fn clear_lost_child(dir: &Path, cookie: String, workspace: &str) -> Vec<PathBuf> {
    let (dir, workspace) = (dir.to_owned(), PathBuf::from(workspace));
    let put_away = move || {
        // This waits for the last process.
        sweep_group(&dir, &cookie);
        sweep_cookie(&cookie, Terminate::WithGrace);
        end_all_adopted();
        forget_half_exit(&dir);
        clear_locks(&dir, &workspace)
    };
    blocking(put_away).await
}

/// Removes the git locks that a killed child left. Returns the locks that remain.
pub(super) async fn clear_dead_locks(dir: &Path, workspace: &str) -> Vec<PathBuf> {
    let (dir, workspace) = (dir.to_owned(), PathBuf::from(workspace));
    blocking(move || clear_locks(&dir, &workspace)).await
}

/// Only a lock made since the child started can be the child's.
fn clear_locks(dir: &Path, workspace: &Path) -> Vec<PathBuf> {
    let started = std::fs::metadata(dir.join(names::STARTED)).and_then(|meta| meta.modified());
    let Ok(started) = started else { return Vec::new() };
    git::clear_dead_locks(workspace, started).unwrap_or_default()
}

/// Removes the launch file, which contains the environment and may contain keys.
fn forget_secrets(dir: &Path) {
    let _ = std::fs::remove_file(dir.join(names::LAUNCH));
}

/// Decides whether the child ended by itself with exit code 0.
pub(super) fn has_passed(exit: &ExitFile) -> bool {
    exit.code == Some(0) && exit.ended_by.is_none() && !exit.too_much_output
}

/// Describes how the child ended.
pub(super) fn how(exit: &ExitFile) -> String {
    if exit.too_much_output {
        return format!("printed more than {OUTPUT_MAX_MB} MB and was ended");
    }
    match (exit.ended_by, exit.code, exit.signal) {
        (Some(EndedBy::Deadline), ..) => "timed out".to_owned(),
        (Some(EndedBy::Request | EndedBy::Linger), ..) => "stopped".to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None, None) => exit.spawn_error.clone().unwrap_or_else(|| "unknown end".to_owned()),
    }
}
