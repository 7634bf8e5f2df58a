//! Finds and kills every process below the host, until none is left.
//!
//! It searches in three ways, because each misses some processes:
//! - By the child's cgroup, if it has one.
//! - By descent: the host is a subreaper, so a process that double-forked or left its session is still below
//!   it. A host without a child has nothing below it.
//! - By cookie: a process that an outside service started with the child's environment. A process may clear
//!   its environment, but cannot change its descent. Processes that are older than the host cannot have it.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, wait};
use windlass_core::hook::wire::env;

use crate::os::{Cgroup, PidCount, Process, Signals, processes};

/// The time limit of a sweep. A process that survives SIGKILL for this long hangs in the kernel.
const LIMIT: Duration = Duration::from_secs(10);
/// The longest grace for leftover processes: they only need to clean up.
const LONGEST_GRACE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Ends and reaps processes until no child and no process with the cookie is left.
///
/// Each process first gets SIGTERM, so that git removes its locks, and SIGKILL after the grace. Repeats,
/// because a process may fork during the search. `since` is a moment before the child started. Returns false
/// if a process could not be killed.
pub(super) fn sweep(
    cookie: &str,
    grace: Duration,
    group: Option<&Cgroup>,
    signals: &Signals,
    since: Option<&PidCount>,
) -> io::Result<bool> {
    let started = Instant::now();
    let grace = grace.min(LONGEST_GRACE);
    let mut asked = HashSet::new();
    let entry = format!("{}={cookie}", env::SESSION);
    loop {
        let childless = reap_all()?;
        // Without a child, only processes that are younger than the host can be left.
        let least = since.filter(|_| childless).map_or(0, PidCount::least_since);
        let left = find(entry.as_bytes(), group, childless, least)?;
        if childless && left.is_empty() {
            return Ok(true);
        }
        if started.elapsed() > LIMIT {
            return Ok(false);
        }
        let is_due = started.elapsed() >= grace;
        for process in &left {
            if is_due {
                process.signal(Signal::KILL);
            } else if asked.insert((process.pid, process.start)) {
                process.signal(Signal::TERM);
            }
        }
        // Not while the host itself is in the cgroup.
        if let Some(group) = group.filter(|group| is_due && !group.processes().contains(&getpid())) {
            group.kill();
        }
        signals.wait(Some(PAUSE))?;
    }
}

/// Reaps all ended children. Returns true if no child is left.
fn reap_all() -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns all processes in the cgroup, below this process, or with this variable in their environment,
/// except this one.
fn find(entry: &[u8], group: Option<&Cgroup>, childless: bool, least: i32) -> io::Result<Vec<Process>> {
    let me = getpid();
    let grouped = group.map(Cgroup::processes).unwrap_or_default();
    let mut born = 0;
    let is_other = |process: &Process| {
        if process.pid == me {
            born = process.start;
        }
        process.pid != me
    };
    let everybody: Vec<Process> = processes(least)?.filter(is_other).collect();
    let below = if childless { HashSet::new() } else { descendants(me, &everybody) };
    let is_left = |process: &Process| {
        let is_below = grouped.contains(&process.pid) || below.contains(&process.pid);
        is_below || process.start >= born && process.carries(entry)
    };
    Ok(everybody.into_iter().filter(is_left).collect())
}

fn descendants(root: Pid, everybody: &[Process]) -> HashSet<Pid> {
    let mut below = HashSet::from([root]);
    loop {
        let known = below.len();
        let children = everybody
            .iter()
            .filter(|process| Pid::from_raw(process.parent).is_some_and(|parent| below.contains(&parent)));
        let found: Vec<Pid> = children.map(|process| process.pid).collect();
        below.extend(found);
        if below.len() == known {
            below.remove(&root);
            return below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid: Pid::from_raw(pid).unwrap(), parent, start: 0 }
    }

    #[test]
    fn descent_is_followed_in_any_order_and_strangers_are_left_alone() {
        let everybody = [process(9, 8), process(8, 5), process(6, 1), process(5, 2)];
        let expected: HashSet<Pid> = [9, 8, 5].into_iter().filter_map(Pid::from_raw).collect();
        assert_eq!(descendants(Pid::from_raw(2).unwrap(), &everybody), expected);
    }
}
