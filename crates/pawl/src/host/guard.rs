//! The guard: a second process above the host, which does nothing while the host lives.
//!
//! A killed host cannot end the processes below it. Its guard inherits them, ends them, and only then exits.
//! Both hold the lock of the folder, so the lock stays held until everything has ended. The guard is a fork
//! of the host: it needs no program start and almost no memory.

use std::fs::File;
use std::io;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use crate::os::{self, Signals, Wake};

/// The role of a process after the fork.
pub(super) enum ForkSide {
    Host,
    Guard { host: Pid },
}

/// Forks into host and guard. The host starts in the cgroup, if there is one.
pub(super) fn split(group: Option<&File>) -> io::Result<ForkSide> {
    let pid = match group.map(os::fork_into) {
        Some(Ok(pid)) => pid,
        Some(Err(error)) => return Err(error),
        None => fork()?,
    };
    match Pid::from_raw(pid) {
        None => Ok(ForkSide::Host),
        Some(host) => {
            // Under the same name, people would take it for the host.
            let _ = os::show_as_guard();
            Ok(ForkSide::Guard { host })
        }
    }
}

#[expect(unsafe_code, reason = "there is no safe fork")]
fn fork() -> io::Result<i32> {
    // SAFETY: the host has one thread, so the copy has everything that the original has.
    let pid = unsafe { libc::fork() };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Waits for the end of the host. Passes requests to end on to the host.
pub(super) fn watch(host: Pid, signals: &Signals) -> io::Result<WaitStatus> {
    loop {
        while let Some((pid, status)) = wait(WaitOptions::NOHANG)? {
            if pid == host {
                return Ok(status);
            }
        }
        if signals.wait(None)? == Wake::Terminate {
            let _ = kill_process(host, Signal::TERM);
        }
    }
}

/// Exits in the same way as the host.
pub(super) fn end_alike(status: WaitStatus) -> std::process::ExitCode {
    if status.terminating_signal().is_some() {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    code.map_or(std::process::ExitCode::FAILURE, std::process::ExitCode::from)
}
