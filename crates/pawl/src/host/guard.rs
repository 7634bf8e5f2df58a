//! The guard: a second process above the host, which does nothing as long as the host lives.
//!
//! A host that is killed cannot kill what is left below it. Its guard inherits all of that, ends it, and only then
//! goes, so the lock of the folder, which both hold, says the truth all the while. A copy of the
//! host made by `fork`: it costs no program start and next to no memory.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

use super::signals::{Signals, Wake};

/// Who one is after the split.
pub(super) enum Side {
    /// The host.
    Host,
    /// Its guard.
    Guard {
        /// The host.
        host: Pid,
    },
}

/// Becomes two processes; the host is born in the group, where there is one.
pub(super) fn split(group: Option<&File>) -> io::Result<Side> {
    let pid = match group.map(fork_into) {
        Some(Ok(pid)) => pid,
        Some(Err(error)) => return Err(error),
        None => fork()?,
    };
    match Pid::from_raw(pid) {
        None => Ok(Side::Host),
        Some(host) => {
            // Without another name it would be taken for the host.
            let _ = rename();
            Ok(Side::Guard { host })
        }
    }
}

#[expect(unsafe_code, reason = "there is no safe fork")]
fn fork() -> io::Result<i32> {
    // SAFETY: the host has one thread, so the copy has everything that the original has.
    let pid = unsafe { libc::fork() };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

#[expect(unsafe_code, reason = "no library forks into a group")]
fn fork_into(group: &File) -> io::Result<i32> {
    // SAFETY: an all-zero clone_args is valid, and lives through the call. The memory is copied as by fork, and
    // there is one thread.
    let pid = unsafe {
        let mut args: libc::clone_args = std::mem::zeroed();
        args.flags = CLONE_INTO_CGROUP;
        args.exit_signal = libc::SIGCHLD as u64;
        args.cgroup = group.as_raw_fd() as u64;
        libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>())
    };
    match i32::try_from(pid) {
        Ok(pid) if pid >= 0 => Ok(pid),
        _ => Err(io::Error::last_os_error()),
    }
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

const HOST: &[u8] = b"\0host\0";
const GUARD: &[u8] = b"keep";

/// Shows itself as `windlass keep DIR` in the list of processes.
fn rename() -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let line = fs::read("/proc/self/cmdline")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // The 48th field is where the arguments begin; the third is the first behind the name.
    let start: Option<u64> = fields.split_ascii_whitespace().nth(45).and_then(|field| field.parse().ok());
    let word = line.windows(HOST.len()).position(|window| window == HOST);
    match start.zip(word) {
        Some((start, word)) => {
            let memory = fs::OpenOptions::new().write(true).open("/proc/self/mem")?;
            memory.write_all_at(GUARD, start + word as u64 + 1)
        }
        None => Ok(()),
    }
}
