//! The mark that every process below a session inherits, in two resource limits that the kernel does not
//! use otherwise.
//!
//! Hosts set both (`pawl::host`); [`super::start`] sets the first. The limit of file locks shows that no person started the process. The
//! limit of real-time work encodes the child it came from. An agent can lower the second limit: it helps
//! to find leftover processes and proves nothing.

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

/// Reads the hard limit from `NAME  SOFT  HARD  UNIT`. Returns `None` if it is unlimited or not visible.
fn hard_limit(pid: i32, name: &str) -> Option<u64> {
    let text = String::from_utf8(limits(pid)).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::{NewProgram, start};
    use rustix::process::{WaitOptions, waitpid};
    use std::ffi::OsStr;
    use std::os::fd::AsFd;
    use std::path::Path;

    #[test]
    fn a_mark_is_handed_down_and_an_ordinary_program_has_none() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(!is_marked(me) && !is_of(me, "r1.fix.1.1.session"));
        for is_to_be in [true, false] {
            let (input, held) = std::io::pipe().unwrap();
            let null = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
            let pid = start(&NewProgram {
                program: Path::new("/bin/sh"),
                args: &[OsStr::new("-c"), OsStr::new("env -i setsid cat; :")],
                env: &[("PATH".into(), "/usr/bin:/bin".into())],
                cwd: Path::new("/"),
                streams: [input.as_fd(), null.as_fd(), null.as_fd()],
                is_marked: is_to_be,
            });
            let pid = pid.unwrap();
            assert_eq!(is_marked(pid.as_raw_nonzero().get()), is_to_be);
            drop((input, held));
            waitpid(Some(pid), WaitOptions::empty()).unwrap();
        }
    }
}
