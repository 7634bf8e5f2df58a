//! Decides whether a request comes from a person or from inside the session of a run.
//!
//! An agent must not decide for the person it works for. Neither must a check or a command of a workflow,
//! because an agent can write the script that it runs.

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

#[cfg(test)]
mod tests {
    use super::*;

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
