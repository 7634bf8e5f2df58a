//! Finds and kills everything left below the host, until nothing is.
//!
//! Three ways of finding, as each misses something. By the child's own group, where it has one. By descent: the host is subreaper, so whatever
//! double-forked or left its session is still below it. By cookie: what a service outside started
//! with the child's environment. A process may wipe its environment, but not its descent.

use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, wait};
use windlass_core::hook::wire::env;

use crate::os::{Cgroup, Process, Signals, processes};

/// What SIGKILL has not ended by then hangs in the kernel, and waiting would not help.
const LIMIT: Duration = Duration::from_secs(10);
/// What a child leaves behind has had its time; this is for its things alone.
const LONGEST_GRACE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Ends and reaps until no child and no bearer of the cookie is left: each is asked first, so that
/// git takes its locks away, and killed after the grace. Rounds, because a process may fork while it
/// is being looked for. False when something would not go.
pub(super) fn sweep(
    cookie: &str,
    grace: Duration,
    group: Option<&Cgroup>,
    signals: &Signals,
) -> io::Result<bool> {
    let started = Instant::now();
    let grace = grace.min(LONGEST_GRACE);
    let mut asked = HashSet::new();
    let entry = format!("{}={cookie}", env::SESSION);
    loop {
        let childless = reap_all()?;
        let left = find(entry.as_bytes(), group)?;
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
        // The host is in the group itself.
        if let Some(group) = group.filter(|group| is_due && !group.processes().contains(&getpid())) {
            group.kill();
        }
        signals.wait(Some(PAUSE))?;
    }
}

/// Reaps whoever has ended; true when no child is left at all.
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

/// Everybody in the group, below this process or with this variable in the environment, itself excepted.
fn find(entry: &[u8], group: Option<&Cgroup>) -> io::Result<Vec<Process>> {
    let me = getpid();
    let grouped = group.map(Cgroup::processes).unwrap_or_default();
    let everybody: Vec<Process> = processes()?.filter(|process| process.pid != me).collect();
    let below = descendants(me, &everybody);
    let is_left = |process: &Process| {
        grouped.contains(&process.pid) || below.contains(&process.pid) || process.carries(entry)
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
