//! Finds and ends runs by their folders, when the log cannot be read or does not have them.
//!
//! The live processes of a run hold the locks in its folder, and its owner listens on its socket. Neither
//! needs the log.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_core::id::{InboxId, RunId};
use windlass_core::launch::{Launch, files as names};
use windlass_peers::child::{ChildState, child_state};
use windlass_peers::orphan::is_stopped;
use windlass_peers::{files, hook_socket};
use windlass_store::owner_of;

use crate::children::{self, EndedChildren};
use crate::error::RunError;
use crate::handle::{LiveChild, OwnerProcess, StrayRun};
use crate::home::Home;
use crate::inbox::{InboxMessage, SocketRequest};

/// The time that an owner may take to end its agents and itself.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The limit for reading a launch file.
const LAUNCH_MAX: u64 = 16 << 20;

/// Returns the runs that have a live process.
pub fn alive(home: &Home) -> Vec<StrayRun> {
    let entries = std::fs::read_dir(home.state.join("runs")).into_iter().flatten().flatten();
    let runs = entries.filter_map(|entry| entry.file_name().into_string().ok()).map(RunId::new);
    let mut found: Vec<StrayRun> = runs.map(|run| look(home, run)).collect();
    found.retain(|stray| stray.owner.is_some() || !stray.living.is_empty());
    found.sort_by(|one, other| one.run.cmp(&other.run));
    found
}

/// Returns the live run whose id starts with `prefix`, if there is exactly one.
pub fn find(home: &Home, prefix: &str) -> Option<StrayRun> {
    one_of(alive(home), prefix)
}

/// Returns the run with this exact id, or else the only run whose id starts with it.
pub(crate) fn one_of(mut found: Vec<StrayRun>, prefix: &str) -> Option<StrayRun> {
    found.retain(|stray| stray.run.as_str().starts_with(prefix));
    let exact = found.iter().position(|stray| stray.run.as_str() == prefix);
    match exact {
        Some(exact) => Some(found.swap_remove(exact)),
        None if found.len() == 1 => found.pop(),
        None => None,
    }
}

/// Returns the saved remains of logs that somebody emptied or deleted.
pub fn kept_aside(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&home.state).into_iter().flatten().flatten().map(|entry| entry.path());
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let mut kept: Vec<PathBuf> = entries
        .filter(|path| name(path).is_some_and(|name| name.starts_with("windlass.db-wal.lost-")))
        .collect();
    kept.sort();
    kept
}

/// Ends a run: asks its owner, if any, and then ends every process that is still alive. Deletes and records
/// nothing. Returns the owner if it is still there.
pub fn end(home: &Home, run: &RunId) -> Result<(EndedChildren, Option<OwnerProcess>), RunError> {
    let dir = home.state.join("runs").join(run.as_str());
    let before = children_of(&dir).len();
    if let Some(owner) = owner_process(&dir) {
        if owner.is_stopped {
            return Err(RunError::Unheard { run: run.clone(), owner: Some(owner) });
        }
        ask_to_end(home, run)?;
        let until = Instant::now() + PATIENCE;
        while owner_of(&dir) == Some(owner.pid) && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    let mut ended = children::end_all(run, &dir);
    ended.children = ended.children.max(before);
    Ok((ended, owner_process(&dir)))
}

/// Asks the owner to end the run. A missing reply is no error, because `end` kills the processes anyway; a
/// refusal is.
fn ask_to_end(home: &Home, run: &RunId) -> Result<(), RunError> {
    let asked = SocketRequest { id: InboxId::new(crate::random::token()), message: InboxMessage::Cancel };
    let payload = serde_json::to_string(&asked).map_err(RunError::Encode)?;
    let path = hook_socket::path_for(&home.state, run, &home.temp)?;
    match hook_socket::request(&path, &payload) {
        Ok(reply) if reply.exit == crate::owner::REFUSED => Err(RunError::Refused(reply.stderr)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the process that owns the run of a folder, if any.
pub(crate) fn owner_process(dir: &Path) -> Option<OwnerProcess> {
    owner_of(dir).map(|pid| OwnerProcess { pid, is_stopped: is_stopped(pid) })
}

fn look(home: &Home, run: RunId) -> StrayRun {
    let dir = home.state.join("runs").join(run.as_str());
    let (owner, living) = (owner_of(&dir), children_of(&dir));
    StrayRun { run, dir, owner, living }
}

/// Returns the live children of a run.
pub(crate) fn children_of(run_dir: &Path) -> Vec<LiveChild> {
    let living = |dir: PathBuf| {
        let ChildState::Running { host_pid } = child_state(&dir) else { return None };
        let launch = files::read_bounded(&dir.join(names::LAUNCH), LAUNCH_MAX).ok();
        let launch = launch.and_then(|bytes| serde_json::from_slice::<Launch>(&bytes).ok());
        let workspace = launch.map(|launch| PathBuf::from(launch.cwd));
        Some(LiveChild { name: children::name(run_dir, &dir)?, host: host_pid, workspace })
    };
    children::dirs(run_dir, None).into_iter().filter_map(living).collect()
}
