//! Ends the processes that are left in the cgroup of a lost child, and removes the cgroup.
//!
//! The host creates the cgroup and writes down its path (`pawl::host`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_core::launch::{cgroup_name, files};

use super::{ChildState, child_state, is_locked};
use crate::files::read_bounded;
use crate::os::{group_folders, is_group, kill_group, members};

/// Time for a process to clean up.
const GRACE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Ends every process in the child's cgroup, first with SIGTERM, then with SIGKILL, and removes the
/// cgroup. Returns true if no process is left or the child has no cgroup.
pub fn sweep_group(dir: &Path, cookie: &str) -> bool {
    let Some(group) = group_of(dir, cookie) else { return true };
    let begun = Instant::now();
    let mut asked = BTreeSet::new();
    loop {
        let folders = group_folders(&group);
        let left: Vec<i32> = folders.iter().flat_map(|folder| members(folder)).collect();
        if left.is_empty() {
            // Innermost folders first.
            for folder in folders.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        if !group.exists() {
            let _ = fs::remove_file(dir.join(files::CGROUP));
            return true;
        }
        if begun.elapsed() >= GRACE + PATIENCE {
            return false;
        }
        match begun.elapsed() < GRACE {
            true => left.iter().filter(|pid| asked.insert(**pid)).for_each(|pid| signal(*pid, Signal::TERM)),
            // `cgroup.kill` ends all at once, so that none can fork away. Old kernels lack it.
            false if kill_group(&group) => {}
            false => left.iter().for_each(|pid| signal(*pid, Signal::KILL)),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the cgroup of a dead child. Normally the guard does this, unless it was killed.
pub fn clear_group(dir: &Path, cookie: &str) {
    if !dir.join(files::CGROUP).exists() {
        return;
    }
    let is_dead = match child_state(dir) {
        ChildState::Running { .. } => false,
        // The guard is still cleaning up.
        ChildState::Ended(_) => !is_locked(dir),
        ChildState::NotStarted | ChildState::Lost => true,
    };
    if is_dead {
        sweep_group(dir, cookie);
    }
}

/// Returns the path of the cgroup from the host's note. An agent can write the note, so the name must
/// match.
fn group_of(dir: &Path, cookie: &str) -> Option<PathBuf> {
    let bytes = read_bounded(&dir.join(files::CGROUP), 4096).ok()?;
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    let is_ours = path.is_absolute() && path.file_name()? == cgroup_name(cookie).as_str();
    (is_ours && is_group(&path)).then_some(path)
}

fn signal(pid: i32, signal: Signal) {
    // The process was in the cgroup a moment ago. If it ended meanwhile, the signal is lost without
    // harm.
    if let Some(pid) = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 1) {
        let _ = kill_process(pid, signal);
    }
}
