//! What a new child sets for itself between fork and exec: system calls only.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};

/// Lets this process be asked to end when its parent dies.
pub(crate) fn end_with_parent(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // A parent that died before the line above would never be noticed.
    if getppid() != Some(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Marks the child and everything that it will ever start as no person. The kernel has not used the limit of file
/// locks since 2.6, hands it down to every process below, and lets nobody but root raise it again: neither another
/// environment nor the death of everybody above takes it away. The other limit says which child it was.
pub(crate) fn mark(tag: u64) {
    let at_most = |value| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = setrlimit(Resource::Locks, at_most(0));
    // Refused where it is lower already, below another session: that one's sweep finds it.
    let _ = setrlimit(Resource::Rttime, at_most(tag));
}
