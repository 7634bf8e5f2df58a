//! The orphans of this process.

use std::fs;

use rustix::process::{Pid, getpid, set_child_subreaper};

/// Makes this process the parent of every orphan below it. Returns false if the system cannot do that.
pub(crate) fn adopt_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

/// Returns the children of the first thread of this process. The kernel gives every orphan to that
/// thread.
pub(crate) fn children() -> Option<Vec<Pid>> {
    let me = std::process::id();
    let text = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect())
}
