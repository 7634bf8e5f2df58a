//! Ends what is left in the group of processes of a lost child, and removes the group.
//!
//! The host made it and noted where it is; making one is `pawl::host`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use windlass_core::launch::{cgroup_name, files};

use super::{ChildState, child_state, is_locked};
use crate::files::read_bounded;
use crate::os::{group_folders, is_group, kill_group, members};

/// So long a process may take to put its things away.
const GRACE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Asks everybody in the child's group to end, kills who does not, and removes the group. Whether nobody
/// is left; so it is where the child has no group.
pub fn sweep_group(dir: &Path, cookie: &str) -> bool {
    let Some(group) = group_of(dir, cookie) else { return true };
    let begun = Instant::now();
    let mut asked = BTreeSet::new();
    loop {
        let folders = group_folders(&group);
        let left: Vec<i32> = folders.iter().flat_map(|folder| members(folder)).collect();
        if left.is_empty() {
            // From the inside out.
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
            // All at one stroke, so that none can fork away; an old kernel cannot.
            false if kill_group(&group) => {}
            false => left.iter().for_each(|pid| signal(*pid, Signal::KILL)),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the group of a child of which nobody lives any more: its guard does that, unless it was killed.
pub fn clear_group(dir: &Path, cookie: &str) {
    if !dir.join(files::CGROUP).exists() {
        return;
    }
    let is_dead = match child_state(dir) {
        ChildState::Running { .. } => false,
        // The guard is still at it.
        ChildState::Ended(_) => !is_locked(dir),
        ChildState::NotStarted | ChildState::Lost => true,
    };
    if is_dead {
        sweep_group(dir, cookie);
    }
}

/// Where the group is, by the host's note. An agent can write the note: only a group of the right name counts.
fn group_of(dir: &Path, cookie: &str) -> Option<PathBuf> {
    let bytes = read_bounded(&dir.join(files::CGROUP), 4096).ok()?;
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    let is_ours = path.is_absolute() && path.file_name()? == cgroup_name(cookie).as_str();
    (is_ours && is_group(&path)).then_some(path)
}

fn signal(pid: i32, signal: Signal) {
    // It was in the group a moment ago; one that ended meanwhile is not asked again.
    if let Some(pid) = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 1) {
        let _ = kill_process(pid, signal);
    }
}
