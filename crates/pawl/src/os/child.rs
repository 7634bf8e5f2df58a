//! Settings that a new child applies to itself between fork and exec, with system calls only.

use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};

/// Asks the kernel to send this process SIGTERM when its parent dies.
pub(crate) fn end_with_parent(parent: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // If the parent died before the line above, no signal would ever come.
    if getppid() != Some(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Marks the child and all its descendants as not being a person, using two resource limits.
///
/// The kernel has not used the limit of file locks since 2.6, passes it to every descendant, and lets only
/// root raise it again. So neither a new environment nor the death of all ancestors removes the mark. The
/// other limit identifies the child.
pub(crate) fn mark(tag: u64) {
    let at_most = |value| Rlimit { current: Some(value), maximum: Some(value) };
    let _ = setrlimit(Resource::Locks, at_most(0));
    // Refused if the limit is already lower, inside another session. The sweep of that session finds this
    // process.
    let _ = setrlimit(Resource::Rttime, at_most(tag));
}
