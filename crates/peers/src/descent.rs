//! Finds the session above a process, if any.
//!
//! A host adopts every orphan below it, so every process that an agent starts stays below its host: with
//! another environment, in another session, behind a pseudo terminal, after a double fork. The host
//! carries a mark in its own environment. The kernel fixed that environment when the host started, and
//! no process below can change it. When every ancestor is dead, a resource limit still identifies the
//! process: children inherit it, and only root can raise it. This module only reports the descent; the
//! callers decide what a process below a session may do.

use windlass_core::hook::wire::env;
use windlass_core::launch::is_cgroup_name;

use crate::os;
use crate::process::owns_all_below;

/// An upper bound for a chain of parents, so that a wrong chain is not followed forever.
const DEEPEST: usize = 4096;
/// A parent may end during the walk; the process then gets another parent.
const TRIES: usize = 20;

/// The origin of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descent {
    /// No session is above the process.
    Free,
    /// The process is below the child of a host: an agent, a check or a command line.
    Session {
        /// The child's cookie, or the run's id if nothing else is known.
        cookie: String,
    },
    /// A session, or a program that Windlass runs itself, left the process behind, and no ancestor
    /// identifies it.
    Orphan,
    /// The process is gone or not visible.
    Unseen,
}

impl Descent {
    /// Returns the run of the session above the process.
    pub fn run(&self) -> Option<&str> {
        match self {
            Descent::Session { cookie } => cookie.split('.').next().filter(|run| !run.is_empty()),
            Descent::Free | Descent::Orphan | Descent::Unseen => None,
        }
    }
}

/// Returns the descent of this process.
pub fn own_descent() -> Descent {
    descent(i32::try_from(std::process::id()).unwrap_or_default())
}

/// Returns the descent of a process by checking all of its ancestors.
pub fn descent(pid: i32) -> Descent {
    for _ in 0..TRIES {
        if let Some(found) = walk(pid) {
            return found;
        }
    }
    Descent::Unseen
}

/// Walks up once. Returns `None` if the chain of parents changed during the walk.
fn walk(asked: i32) -> Option<Descent> {
    let (mut said, mut is_grouped) = (None, false);
    let (mut pid, mut born) = (asked, None);
    for _ in 0..DEEPEST {
        let Some(status) = os::status(pid) else {
            return match born {
                // Processes of other users may be hidden, but a host would be visible.
                Some(_) if os::others_are_hidden() => Some(finish(asked, said, is_grouped)),
                Some(_) => None,
                None => Some(Descent::Unseen),
            };
        };
        // A parent that is younger than its child is another process that reuses the id.
        if born.is_some_and(|child| status.start > child) {
            return None;
        }
        // This process adopted a process whose other ancestors are gone.
        if born.is_some() && is_own(pid) && owns_all_below() {
            return Some(Descent::Session { cookie: env::OWN_PROGRAM.to_owned() });
        }
        match mark(pid) {
            Some(Mark::Host(cookie)) => return Some(Descent::Session { cookie }),
            // A mark nearer to the host is harder for the agent to forge.
            Some(Mark::Said(cookie)) => said = Some(cookie),
            Some(Mark::Group) => is_grouped = true,
            None => {}
        }
        if status.parent <= 0 {
            return Some(finish(asked, said, is_grouped));
        }
        (pid, born) = (status.parent, Some(status.start));
    }
    None
}

fn is_own(pid: i32) -> bool {
    u32::try_from(pid) == Ok(std::process::id())
}

/// Decides the descent of a process without a live host above it.
fn finish(pid: i32, said: Option<String>, is_grouped: bool) -> Descent {
    match said {
        Some(cookie) => Descent::Session { cookie },
        None if is_grouped || os::is_marked(pid) => Descent::Orphan,
        None => Descent::Free,
    }
}

/// A sign that a process belongs to a session.
enum Mark {
    /// The process is a host, or a program that Windlass runs itself.
    Host(String),
    /// The environment of the process names the session.
    Said(String),
    /// The process is in a cgroup that a host created, and no cookie names the session.
    Group,
}

fn mark(pid: i32) -> Option<Mark> {
    let environ = os::environment(pid).unwrap_or_default();
    let entries = || environ.split(|byte| *byte == 0);
    let value = |name: &str| {
        let found = entries().find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        found.filter(|value| !value.is_empty()).map(|value| String::from_utf8_lossy(value).into_owned())
    };
    if let Some(cookie) = value(env::HOST) {
        return Some(Mark::Host(cookie));
    }
    if let Some(said) = value(env::SESSION).or_else(|| value(env::RUN)) {
        return Some(Mark::Said(said));
    }
    os::groups_around(pid).iter().any(|name| is_cgroup_name(name)).then_some(Mark::Group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// A process of `sh`, which says the id of the one that is asked about.
    struct Asked {
        child: Child,
        pid: i32,
    }

    impl Drop for Asked {
        fn drop(&mut self) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(self.pid).unwrap(),
                rustix::process::Signal::KILL,
            );
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a stand-in for a host and what is below it")]
    fn asked(variables: &[(&str, &str)], script: &str) -> Asked {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env_clear().env("PATH", "/usr/bin:/bin").envs(variables.iter().copied());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Asked { child, pid: line.trim().parse().unwrap() }
    }

    fn session(cookie: &str) -> Descent {
        Descent::Session { cookie: cookie.to_owned() }
    }

    const STAY: &str = "echo $$; while :; do sleep 1; done";

    #[test]
    fn a_process_of_nobody_is_free_and_one_that_is_gone_is_unseen() {
        let free = asked(&[], STAY);
        assert_eq!(descent(free.pid), Descent::Free);
        let pid = free.pid;
        drop(free);
        assert_eq!(descent(pid), Descent::Unseen);
        assert_eq!((descent(0), descent(-1)), (Descent::Unseen, Descent::Unseen));
    }

    #[test]
    fn what_is_below_a_host_is_its_own_whatever_its_environment_says() {
        let host = [(env::HOST, "r1.fix.1.1.session")];
        for script in [
            format!("env -i sh -c '{STAY}'; :"),
            format!("env -i setsid sh -c '{STAY}' & wait"),
            format!("env -i {}=r2.other.1.1.session sh -c '{STAY}'; :", env::SESSION),
        ] {
            let below = asked(&host, &script);
            assert_eq!(descent(below.pid), session("r1.fix.1.1.session"), "{script}");
            assert_eq!(descent(below.pid).run(), Some("r1"));
        }
    }

    #[test]
    fn without_a_host_the_environment_nearest_to_it_counts() {
        let script = format!("{}=r2.forged sh -c '{STAY}'; :", env::SESSION);
        let below = asked(&[(env::SESSION, "r1.true")], &script);
        assert_eq!(descent(below.pid), session("r1.true"));
        let said = asked(&[(env::RUN, "r3")], STAY);
        assert_eq!(descent(said.pid), session("r3"));
    }
}
