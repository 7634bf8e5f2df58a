//! Whose descendant a process is: an agent's, or nobody's that Windlass started.
//!
//! A host adopts every orphan below it, so whatever an agent starts stays below its host: with another
//! environment, in another session, behind a pseudo terminal, after a double fork. The host carries a mark in
//! its own environment, which the kernel fixed when it was started and nothing below it can take away.
//! When everybody above is dead, a limit still tells: the kernel hands it down, and only root can raise it.
//! What somebody below a session may do is for others to say.

use windlass_core::hook::wire::env;
use windlass_core::launch::is_cgroup_name;

use crate::os;
use crate::process::owns_all_below;

/// No chain of parents is longer; a wrong one must not be followed for ever.
const DEEPEST: usize = 4096;
/// A parent may end while it is looked at: then the process has another.
const TRIES: usize = 20;

/// Where a process comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descent {
    /// No session is above it.
    Free,
    /// It is below the child of a host: of an agent, a check or a command line.
    Session {
        /// The child's cookie, or the run alone where no more is known.
        cookie: String,
    },
    /// A session, or a program that Windlass runs itself, left it behind: nobody above it says which.
    Orphan,
    /// It is gone, or in a place that cannot be looked into.
    Unseen,
}

impl Descent {
    /// The run of the session above it.
    pub fn run(&self) -> Option<&str> {
        match self {
            Descent::Session { cookie } => cookie.split('.').next().filter(|run| !run.is_empty()),
            Descent::Free | Descent::Orphan | Descent::Unseen => None,
        }
    }
}

/// Looks at this process.
pub fn own_descent() -> Descent {
    descent(i32::try_from(std::process::id()).unwrap_or_default())
}

/// Looks at a process and everybody above it.
pub fn descent(pid: i32) -> Descent {
    for _ in 0..TRIES {
        if let Some(found) = walk(pid) {
            return found;
        }
    }
    Descent::Unseen
}

/// One walk up; nothing where the chain changed under way.
fn walk(asked: i32) -> Option<Descent> {
    let (mut said, mut is_grouped) = (None, false);
    let (mut pid, mut born) = (asked, None);
    for _ in 0..DEEPEST {
        let Some(status) = os::status(pid) else {
            return match born {
                // A parent of another user is not ours to see; a host would be.
                Some(_) if os::others_are_hidden() => Some(finish(asked, said, is_grouped)),
                Some(_) => None,
                None => Some(Descent::Unseen),
            };
        };
        // Born after its child, it is another process with the id of the parent.
        if born.is_some_and(|child| status.start > child) {
            return None;
        }
        // What has lost everybody else above it was adopted here.
        if born.is_some() && is_own(pid) && owns_all_below() {
            return Some(Descent::Session { cookie: env::OWN_PROGRAM.to_owned() });
        }
        match mark(pid) {
            Some(Mark::Host(cookie)) => return Some(Descent::Session { cookie }),
            // What is nearer to the host is less in the agent's hand.
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

/// What to make of a process above which no host lives.
fn finish(pid: i32, said: Option<String>, is_grouped: bool) -> Descent {
    match said {
        Some(cookie) => Descent::Session { cookie },
        None if is_grouped || os::is_marked(pid) => Descent::Orphan,
        None => Descent::Free,
    }
}

/// What tells that a process belongs to a session.
enum Mark {
    /// It is the host, or a program that Windlass runs itself.
    Host(String),
    /// Its environment says so.
    Said(String),
    /// It is in the group of processes that a host made, and nothing says whose.
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
