//! Forks this process into a cgroup, and renames the guard in the process list.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks so that the child starts in the cgroup.
#[expect(unsafe_code, reason = "no library forks into a group")]
pub(crate) fn fork_into(group: &File) -> io::Result<i32> {
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

const HOST: &[u8] = b"\0host\0";
const GUARD: &[u8] = b"keep";

/// Changes the command line of this process to `windlass keep DIR` in the process list.
pub(crate) fn show_as_guard() -> io::Result<()> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let line = fs::read("/proc/self/cmdline")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // The 48th field is the address of the arguments. `fields` starts at the third field, after the name.
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
