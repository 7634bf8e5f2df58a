//! Lists processes and signals exactly one of them. Reads `/proc`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

/// Enough room for most files of a process.
const USUAL: usize = 4 << 10;
/// More than the kernel allows for the environment of a new program.
const LARGEST_ENVIRON: u64 = 8 << 20;

/// Opens a descriptor for a process. While it is open, the kernel gives the process id to no other process.
/// It becomes readable when the process ends.
pub(crate) fn pin(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Lists the visible processes whose id is at least `from`.
pub(crate) fn processes(from: i32) -> io::Result<impl Iterator<Item = Process>> {
    let names = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(names.filter(move |pid| *pid >= from).filter_map(Pid::from_raw).filter_map(Process::read))
}

/// A moment in the count of the process ids. The kernel counts up, skips ids in use, and begins again after
/// the largest id.
pub(crate) struct PidCount {
    pid: i32,
    /// The processes and threads that were started up to then, and those that lived then.
    started: u64,
    alive: u64,
}

impl PidCount {
    /// Returns the moment now, in which this process is alive.
    pub(crate) fn now() -> Option<PidCount> {
        let alive = fs::read_to_string("/proc/loadavg").ok()?;
        let alive = alive.split_once('/')?.1.split_ascii_whitespace().next()?.parse().ok()?;
        Some(PidCount { pid: getpid().as_raw_nonzero().get(), started: started()?, alive })
    }

    /// Returns an id that is not larger than that of any process since then.
    pub(crate) fn least_since(&self) -> i32 {
        let largest = fs::read_to_string("/proc/sys/kernel/pid_max").ok();
        let largest: Option<u64> = largest.and_then(|text| text.trim().parse().ok());
        match (largest, started()) {
            (Some(largest), Some(started)) if self.reaches(started) < largest => self.pid,
            _ => 0,
        }
    }

    /// Returns the largest id that can be in use after this number of starts.
    fn reaches(&self, started: u64) -> u64 {
        let since = started.saturating_sub(self.started);
        u64::from(self.pid.unsigned_abs()).saturating_add(since).saturating_add(self.alive)
    }
}

/// Returns the number of processes and threads that the system has started.
fn started() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("processes "))?.trim().parse().ok()
}

/// A snapshot of a process. The start time distinguishes it from a later process with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) parent: i32,
    pub(crate) start: u64,
}

impl Process {
    fn read(pid: Pid) -> Option<Process> {
        let (parent, start) = parse_stat(&read_file(pid, "stat")?)?;
        Some(Process { pid, parent, start })
    }

    /// Signals this process and no other: opens the descriptor first, then checks the start time again.
    pub(crate) fn signal(&self, signal: Signal) {
        let Ok(descriptor) = pin(self.pid) else { return };
        if Process::read(self.pid).is_some_and(|now| now.start == self.start) {
            let _ = pidfd_send_signal(descriptor, signal);
        }
    }

    /// Returns the program and its arguments. A process that is ending has none.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let line = read_file(self.pid, "cmdline").unwrap_or_default();
        let arguments = line.split(|byte| *byte == 0).filter(|argument| !argument.is_empty());
        arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
    }

    pub(crate) fn carries(&self, entry: &[u8]) -> bool {
        let environ = read_file(self.pid, "environ").unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == entry)
    }
}

/// Reads a file of a process, or what is left of it.
fn read_file(pid: Pid, name: &str) -> Option<Vec<u8>> {
    // The kernel tells no size: with less room, reading takes many small steps.
    let mut text = Vec::with_capacity(USUAL);
    let file = File::open(format!("/proc/{}/{name}", pid.as_raw_nonzero())).ok()?;
    // Fails for a process of another user, or one that just ended.
    let _ = file.take(LARGEST_ENVIRON).read_to_end(&mut text);
    Some(text)
}

/// Parses parent and start time from `PID (NAME) STATE PARENT …`. The name may contain brackets.
fn parse_stat(text: &[u8]) -> Option<(i32, u64)> {
    let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end_of_name + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some((parent, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_younger_process_has_a_larger_id_until_the_count_begins_again() {
        let then = PidCount { pid: 900, started: 5000, alive: 60 };
        assert_eq!((then.reaches(5000), then.reaches(5010)), (960, 970));
        let now = PidCount::now().unwrap();
        assert!(now.started > 0 && now.alive > 0);
        assert!([0, now.pid].contains(&now.least_since()));
    }

    #[test]
    fn a_name_with_brackets_hides_nothing() {
        let text = b"42 (evil) S 1) R 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n";
        assert_eq!(parse_stat(text), Some((7, 12345)));
    }

    #[test]
    fn half_a_line_is_no_process() {
        assert_eq!(parse_stat(b"42 (sh) S 1 2 3"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn this_process_reads_itself() {
        let me = Process::read(getpid()).unwrap();
        assert_eq!(Some(me.parent), rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()));
        assert!(me.start > 0);
    }
}
