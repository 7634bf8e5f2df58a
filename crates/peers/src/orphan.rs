//! Finds processes by their command line or their cookie when their folder is gone.
//!
//! Normally a child's folder gives its state ([`crate::child`]). If somebody deleted the folder, or no
//! record of it exists, only the processes themselves are left.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::child::{Terminate, sweep_cookie};
use crate::os::{self, HeldProcess};

/// Time for a host to end its child.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ends the processes of a child whose folder is gone: first the host, because it would write into a new
/// folder of that name, then every process with the cookie. Returns the number of processes ended and
/// whether all of them are gone.
pub fn end_orphans(dir: &Path, cookie: &str) -> (usize, bool) {
    let hosts = hosts_below(dir);
    let is_gone = hosts.iter().filter(|(pid, _)| !end_host(*pid, dir)).count() == 0;
    let swept = sweep_cookie(cookie, Terminate::WithGrace);
    (hosts.len() + swept.killed, is_gone && swept.left == 0)
}

/// Asks a host to end its child, waits for it, and kills the host if that takes too long.
fn end_host(pid: i32, dir: &Path) -> bool {
    let until = Instant::now() + PATIENCE;
    let mut signal = Signal::TERM;
    loop {
        let Ok(host) = HeldProcess::open(pid) else { return true };
        // Checked after the process is pinned, so that its id cannot be reused.
        if host_dir(pid).is_none_or(|of| !of.starts_with(dir)) {
            return true;
        }
        if signal == Signal::TERM || Instant::now() >= until {
            host.signal(signal);
        }
        if Instant::now() >= until + PATIENCE {
            return false;
        }
        // One SIGTERM is enough: a second one would leave the child no grace period.
        signal = Signal::KILL;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Returns the hosts of children in or below a folder, even if the folder is gone.
fn hosts_below(dir: &Path) -> Vec<(i32, PathBuf)> {
    let hosts = os::processes().into_iter().filter_map(|pid| Some((pid, host_dir(pid)?)));
    hosts.filter(|(_, of)| of.starts_with(dir)).collect()
}

/// Returns the folder of a host, from its arguments `… host DIR`.
fn host_dir(pid: i32) -> Option<PathBuf> {
    let line = os::arguments(pid);
    let mut args = line.strip_suffix(&[0])?.rsplit(|byte| *byte == 0);
    let (dir, word) = (args.next()?, args.next()?);
    (word == b"host").then(|| PathBuf::from(std::ffi::OsStr::from_bytes(dir)))
}

/// Decides whether a process was stopped (Ctrl-Z, SIGSTOP).
pub fn is_stopped(pid: u32) -> bool {
    matches!(i32::try_from(pid).ok().and_then(state), Some('T' | 't'))
}

/// Decides whether a process has ended and only waits to be reaped.
pub(crate) fn is_zombie(pid: i32) -> bool {
    matches!(state(pid), Some('Z' | 'X'))
}

fn state(pid: i32) -> Option<char> {
    os::status(pid).map(|status| status.state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Pid;
    use std::io::PipeWriter;
    use std::process::{Child, Command, Stdio};

    /// A child, and what it waits to read from.
    struct Reaped(Child, #[expect(dead_code, reason = "held open")] PipeWriter);
    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a stand-in for a host")]
    fn host(dir: &str, cookie: &str) -> Reaped {
        let mut command = Command::new("/bin/sh");
        let (reader, writer) = std::io::pipe().unwrap();
        // It starts nobody: a copy that has not become another program yet would be taken for a second host.
        command.args(["-c", "read line", "host", dir]).stdin(reader).stdout(Stdio::null());
        Reaped(command.env("WINDLASS_SESSION", cookie).spawn().unwrap(), writer)
    }

    #[test]
    fn a_host_whose_folder_is_gone_is_found_and_ended_and_no_other() {
        let dir = Path::new("/nowhere/runs/r/loop.1.1.session");
        let (mut ours, mut below) =
            (host(dir.to_str().unwrap(), "a"), host(&format!("{}/1-1", dir.display()), "b"));
        let mut other = host("/nowhere/runs/r/loop.1.1.session2", "c");
        let until = Instant::now() + PATIENCE;
        while hosts_below(dir).len() < 2 {
            assert!(Instant::now() < until, "they have begun");
            std::thread::yield_now();
        }
        let waits = [std::thread::spawn(move || ours.0.wait()), std::thread::spawn(move || below.0.wait())];
        assert_eq!(end_orphans(dir, "no.such.cookie"), (2, true));
        waits.into_iter().for_each(|wait| assert!(wait.join().unwrap().is_ok()));
        assert!(other.0.try_wait().unwrap().is_none());
    }

    #[test]
    fn a_process_that_was_stopped_is_told_from_one_that_runs() {
        let child = host("/nowhere", "d");
        let pid = Pid::from_raw(i32::try_from(child.0.id()).unwrap()).unwrap();
        assert!(!is_stopped(child.0.id()));
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        let until = Instant::now() + PATIENCE;
        while !is_stopped(child.0.id()) {
            assert!(Instant::now() < until, "it is stopped");
            std::thread::yield_now();
        }
    }
}
