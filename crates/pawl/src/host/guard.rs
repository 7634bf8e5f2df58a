//! The guard: a second process above the host, which does nothing as long as the host lives.
//!
//! A host that is killed cannot kill what is left below it. Its guard inherits all of that, ends it, and only then
//! goes, so the lock of the folder, which both hold, says the truth all the while. A copy of the
//! host made by `fork`: it costs no program start and next to no memory.

use std::fs::File;
use std::io;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use crate::os::{self, Signals, Wake};

/// Who one is after the split.
pub(super) enum ForkSide {
    /// The host.
    Host,
    /// Its guard.
    Guard {
        /// The host.
        host: Pid,
    },
}

/// Becomes two processes; the host is born in the group, where there is one.
pub(super) fn split(group: Option<&File>) -> io::Result<ForkSide> {
    let pid = match group.map(os::fork_into) {
        Some(Ok(pid)) => pid,
        Some(Err(error)) => return Err(error),
        None => fork()?,
    };
    match Pid::from_raw(pid) {
        None => Ok(ForkSide::Host),
        Some(host) => {
            // Without another name it would be taken for the host.
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

/// Waits for the end of the host. What others ask of the guard is meant for the host.
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

/// Ends as the host did.
pub(super) fn end_alike(status: WaitStatus) -> std::process::ExitCode {
    if status.terminating_signal().is_some() {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    code.map_or(std::process::ExitCode::FAILURE, std::process::ExitCode::from)
}
