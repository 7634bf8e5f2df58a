//! The orphans of this process.

use std::fs;

use rustix::process::{Pid, getpid, set_child_subreaper};

/// Makes this process the parent of every orphan below it. Whether the system does that.
pub(crate) fn adopt_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

/// The children of this process that its first thread has: the kernel hands every orphan to that one.
pub(crate) fn children() -> Option<Vec<Pid>> {
    let me = std::process::id();
    let text = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect())
}
