//! The mark that every process below a session inherits, in two resource limits that the kernel does not
//! use otherwise.
//!
//! Hosts set both (`pawl::host`). The limit of file locks shows that no person started the process. The
//! limit of real-time work encodes the child it came from. An agent can lower the second limit: it helps
//! to find leftover processes and proves nothing.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};
use windlass_core::launch::limit_tag;

use super::processes::limits;

const LOCKS: &str = "Max file locks";
const REAL_TIME: &str = "Max realtime timeout";

/// Decides whether a session or Windlass itself started the process or any of its past ancestors.
pub(crate) fn is_marked(pid: i32) -> bool {
    hard_limit(pid, LOCKS) == Some(0)
}

/// Decides whether a process came from the child with this cookie.
pub(crate) fn is_of(pid: i32, cookie: &str) -> bool {
    hard_limit(pid, REAL_TIME) == Some(limit_tag(cookie))
}

/// Marks a program that is about to start.
#[expect(unsafe_code, reason = "a limit that only the new program has can only be set in the child itself")]
pub(crate) fn mark(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes one system call; it takes no lock and allocates
    // nothing.
    unsafe {
        command.pre_exec(lower);
    }
}

fn lower() -> io::Result<()> {
    setrlimit(Resource::Locks, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

/// Reads the hard limit from `NAME  SOFT  HARD  UNIT`. Returns `None` if it is unlimited or not visible.
fn hard_limit(pid: i32, name: &str) -> Option<u64> {
    let text = String::from_utf8(limits(pid)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn a_mark_is_handed_down_and_an_ordinary_program_has_none() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(!is_marked(me) && !is_of(me, "r1.fix.1.1.session"));
        for is_to_be in [true, false] {
            #[expect(clippy::disallowed_methods, reason = "a stand-in for a git and what is below it")]
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "env -i setsid cat; :"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            if is_to_be {
                mark(&mut command);
            }
            let mut child = command.spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            assert_eq!(is_marked(pid), is_to_be);
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
