//! Lists the folders of a run's children, and ends live children without the run's log.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_peers::child::{
    ChildState, Terminate, child_state, clear_group, sweep_cookie, sweep_group, terminate_host,
};

/// The time that hosts may take to end their children, before they are told to kill them at once.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns the folders of all children: sessions, checks and commands. Limited to one node if `of` names it.
pub(crate) fn dirs(run_dir: &Path, of: Option<&NodeId>) -> Vec<PathBuf> {
    let list = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let is_one = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.parse::<EffectId>().is_ok_and(|effect| of.is_none_or(|node| effect.node == *node))
    };
    let mut dirs: Vec<PathBuf> = list(run_dir).into_iter().filter(is_one).collect();
    dirs.extend(dirs.clone().iter().flat_map(|dir| list(dir)));
    dirs
}

/// Returns the name of a child: its path below the run's folder, with dots for slashes.
pub(crate) fn name(run_dir: &Path, dir: &Path) -> Option<String> {
    let name = dir.strip_prefix(run_dir).ok()?.to_str()?;
    Some(name.replace('/', "."))
}

/// Returns the cookie that marks the processes of a child.
pub(crate) fn cookie(run: &RunId, name: &str) -> String {
    format!("{run}.{name}")
}

/// The result of ending the children of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndedChildren {
    /// Agents and commands that their host ended.
    pub children: usize,
    /// Other processes that were killed because no host was alive.
    pub processes: usize,
    /// Processes that could not be ended.
    pub left: usize,
}

/// Ends every child of a run and waits until they are gone. Uses the run's folder and not its log.
pub(crate) fn end_all(run: &RunId, run_dir: &Path) -> EndedChildren {
    let dirs = dirs(run_dir, None);
    let living: Vec<&PathBuf> =
        dirs.iter().filter(|dir| matches!(child_state(dir), ChildState::Running { .. })).collect();
    let mut ended = EndedChildren { children: living.len(), ..EndedChildren::default() };
    for how in [Terminate::WithGrace, Terminate::Now] {
        for dir in &living {
            terminate_host(dir, how);
        }
        let until = Instant::now() + PATIENCE;
        while living.iter().any(|dir| is_running(dir)) && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }
    ended.left = living.iter().filter(|dir| is_running(dir)).count();
    for dir in dirs.iter().filter(|dir| !matches!(child_state(dir), ChildState::Ended(_))) {
        let Some(name) = name(run_dir, dir).filter(|_| !is_running(dir)) else { continue };
        let cookie = cookie(run, &name);
        let swept = sweep_cookie(&cookie, Terminate::WithGrace);
        ended.processes += swept.killed;
        ended.left += swept.left + usize::from(!sweep_group(dir, &cookie));
    }
    ended
}

/// Removes the cgroups that killed guards of this run left behind.
pub(crate) fn clear_groups(run: &RunId, run_dir: &Path) {
    for dir in dirs(run_dir, None) {
        if let Some(name) = name(run_dir, &dir) {
            clear_group(&dir, &cookie(run, &name));
        }
    }
}

fn is_running(dir: &Path) -> bool {
    matches!(child_state(dir), ChildState::Running { .. })
}
