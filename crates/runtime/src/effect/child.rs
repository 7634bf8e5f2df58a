//! A command line under a host of its own: started, or found again after a crash, and waited for.
//!
//! What its end means, and whether one that was cut off is begun anew, is decided by whoever
//! wanted it.

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

/// What a command line may print before it is taken for one that never ends.
const OUTPUT_MAX_MB: u64 = 64;

/// What starts hosts, and sees how their children end.
pub(super) struct HostStarter<'a> {
    /// The binary.
    pub(super) exe: &'a Path,
    /// Notices the end.
    pub(super) watcher: &'a Watcher,
    /// What hosts are told of crash tests.
    pub(super) env: Vec<(String, String)>,
    /// The node they are for.
    pub(super) node: NodeId,
    /// Whether they may still be started.
    pub(super) gate: &'a Gate,
}

impl HostStarter<'_> {
    /// Those of a node.
    pub(super) fn of<'g>(context: &'g RunContext, node: &NodeId) -> HostStarter<'g> {
        let (exe, watcher, gate) = (&context.exe, &context.watcher, &context.gate);
        HostStarter { exe, watcher, env: context.home.crash_env(), node: node.clone(), gate }
    }
}

/// What became of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChildEnd {
    /// It ended, and nothing is left of it.
    Exited(ExitFile),
    /// Its host died. It may have done something, and nothing of it is left.
    Lost,
    /// Its host died before it began: nothing was done.
    NotStarted,
}

/// How standard error is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    /// Among standard output.
    Merged,
    /// In a file of its own.
    Apart,
}

/// A command line of the workflow's author or the settings, in the plain environment of a run.
/// Its cookie is that of its folder.
pub(super) fn launch(
    context: &RunContext,
    dir: &Path,
    command: &str,
    workspace: &str,
    errors: Errors,
) -> Launch {
    Launch {
        v: LAUNCH_VERSION,
        cookie: context.cookie(&context.child_name(dir).unwrap_or_default()),
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()],
        env: plain_env(&context.home.env, &context.run),
        cwd: workspace.to_owned(),
        stdin: None,
        deadline_ms: None,
        grace_ms: context.spec.limits.grace_ms,
        merge_stderr: errors == Errors::Merged,
        output_max: Some(OUTPUT_MAX_MB << 20),
    }
}

/// Starts the child of a folder, or takes up the one that is there, and waits for its end.
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
                // Nobody waits for what it would have done.
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
        // The watcher is gone, and so is this process in a moment: the child goes on without it,
        // for whoever resumes the run.
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
    put_away_lost(dir, launch.cookie.clone(), &launch.cwd).await;
    forget_secrets(dir);
    ChildEnd::Lost
}

/// Ends whoever is left of a child whose host died, and takes away what they left half done: the exit
/// file of the host, and locks of git's that nobody holds. Gives the locks that are still there.
pub(super) async fn put_away_lost(dir: &Path, cookie: String, workspace: &str) -> Vec<PathBuf> {
    let (dir, workspace) = (dir.to_owned(), PathBuf::from(workspace));
    let put_away = move || {
        // It waits for the last of them.
        sweep_group(&dir, &cookie);
        sweep_cookie(&cookie, Terminate::WithGrace);
        end_all_adopted();
        forget_half_exit(&dir);
        clear_locks(&dir, &workspace)
    };
    blocking(put_away).await
}

/// Takes away the locks of git's that a child left which was killed. Gives those that are still there.
pub(super) async fn put_away_locks(dir: &Path, workspace: &str) -> Vec<PathBuf> {
    let (dir, workspace) = (dir.to_owned(), PathBuf::from(workspace));
    blocking(move || clear_locks(&dir, &workspace)).await
}

/// Only what was made since the child was started can be its own.
fn clear_locks(dir: &Path, workspace: &Path) -> Vec<PathBuf> {
    let started = std::fs::metadata(dir.join(names::STARTED)).and_then(|meta| meta.modified());
    let Ok(started) = started else { return Vec::new() };
    git::clear_dead_locks(workspace, started).unwrap_or_default()
}

/// The launch file held the environment, and with it perhaps keys.
fn forget_secrets(dir: &Path) {
    let _ = std::fs::remove_file(dir.join(names::LAUNCH));
}

/// Whether it ended by itself, and well.
pub(super) fn has_passed(exit: &ExitFile) -> bool {
    exit.code == Some(0) && exit.ended_by.is_none() && !exit.too_much_output
}

/// How it ended, in words.
pub(super) fn how(exit: &ExitFile) -> String {
    if exit.too_much_output {
        return format!("printed more than {OUTPUT_MAX_MB} MB and was ended");
    }
    match (exit.ended_by, exit.code, exit.signal) {
        (Some(EndedBy::Deadline), ..) => "timed out".to_owned(),
        (Some(EndedBy::Request), ..) => "stopped".to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None, None) => exit.spawn_error.clone().unwrap_or_else(|| "unknown end".to_owned()),
    }
}
