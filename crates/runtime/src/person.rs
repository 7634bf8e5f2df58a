//! Decides whether a request comes from a person or from inside the session of a run.
//!
//! An agent must not decide for the person it works for. Neither must a check or a command of a workflow,
//! because an agent can write the script that it runs.
//!
//! Also describes the person who answers: the name, the way and the terminal.

use std::os::fd::AsFd;

use windlass_core::event::AnswerOrigin;
use windlass_core::hook::wire::env::OWN_PROGRAM;
use windlass_peers::descent::{Descent, own_descent};

/// Returns the reason why this process may not do what only a person may, or `None` if it may.
pub fn refusal(what: &str) -> Option<String> {
    why_not(&own_descent(), what)
}

/// Returns the same for another process.
pub(crate) fn why_not(from: &Descent, what: &str) -> Option<String> {
    match from {
        Descent::Free => None,
        Descent::Session { cookie } if cookie == OWN_PROGRAM => {
            Some(format!("this comes from a program that Windlass runs itself: only a person may {what}"))
        }
        Descent::Session { .. } => Some(match from.run() {
            Some(run) => format!("this comes from the session of run {run}: only a person may {what}"),
            None => format!("this comes from the session of an agent: only a person may {what}"),
        }),
        Descent::Orphan => {
            Some(format!("this comes from a process that a session left behind: only a person may {what}"))
        }
        Descent::Unseen => {
            Some(format!("Windlass cannot see which process this comes from: only a person may {what}"))
        }
    }
}

/// The users of this machine, one per line.
const USERS: &str = "/etc/passwd";

/// The way in which a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerWay {
    /// At the terminal that shows the run.
    Terminal,
    /// With `windlass answer`.
    AnswerCommand,
    /// With `windlass approve`.
    ApproveCommand,
}

impl AnswerWay {
    /// Describes this process and its user. Reads nothing from the environment.
    pub(crate) fn origin(self) -> AnswerOrigin {
        let way = match self {
            AnswerWay::Terminal => AnswerOrigin::TERMINAL,
            AnswerWay::AnswerCommand => "windlass answer",
            AnswerWay::ApproveCommand => "windlass approve",
        };
        AnswerOrigin { user: user(), way: way.to_owned(), pid: std::process::id(), tty: own_terminal() }
    }
}

/// Returns the login name of the user of this process. Reads nothing from the environment.
pub(crate) fn user() -> String {
    let uid = rustix::process::getuid().as_raw();
    let users = std::fs::read_to_string(USERS).unwrap_or_default();
    user_named(&users, uid).unwrap_or_else(|| format!("user {uid}"))
}

/// Finds the login name of a user.
fn user_named(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    })
}

/// Returns the terminal of this process, without `/dev/`.
fn own_terminal() -> Option<String> {
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    let streams = [input.as_fd(), error.as_fd(), output.as_fd()];
    let path = streams.into_iter().find_map(|stream| rustix::termios::ttyname(stream, Vec::new()).ok())?;
    let path = path.to_string_lossy();
    Some(path.strip_prefix("/dev/").unwrap_or(&path).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_the_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n:x:7:7::/:\nanna:x:1000:1000::/home/anna:/bin/sh\n";
        assert_eq!(user_named(users, 1000).as_deref(), Some("anna"));
        assert_eq!(user_named(users, 0).as_deref(), Some("root"));
        assert_eq!([user_named(users, 7), user_named(users, 1), user_named("x", 0)], [None, None, None]);
    }

    #[test]
    fn only_what_is_below_no_session_may_decide_for_a_person() {
        assert_eq!(why_not(&Descent::Free, "answer"), None);
        let session = Descent::Session { cookie: "r1.fix.1.1.session".into() };
        assert_eq!(
            why_not(&session, "answer").as_deref(),
            Some("this comes from the session of run r1: only a person may answer")
        );
        let some_run = Descent::Session { cookie: String::new() };
        assert_eq!(
            why_not(&some_run, "answer").as_deref(),
            Some("this comes from the session of an agent: only a person may answer")
        );
        let git = Descent::Session { cookie: OWN_PROGRAM.into() };
        assert_eq!(
            why_not(&git, "answer").as_deref(),
            Some("this comes from a program that Windlass runs itself: only a person may answer")
        );
        assert_eq!(
            why_not(&Descent::Orphan, "answer").as_deref(),
            Some("this comes from a process that a session left behind: only a person may answer")
        );
        assert!(why_not(&Descent::Unseen, "answer").is_some());
    }
}
