//! Exit codes of `windlass`.
//!
//! They are part of the interface: a code never changes its meaning.

use std::process::ExitCode;

use windlass_core::run::{EndReason, FinalStatus, Outcome};
use windlass_runtime::user_error::UserErrorKind;

/// The way in which `windlass` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded; a run completed.
    Completed,
    /// An error that should not happen.
    Unexpected,
    /// The command line is wrong or names something that does not exist.
    Usage,
    /// A file, a setting or the state folder must be fixed first.
    Configuration,
    /// The agent or a process failed.
    Agent,
    /// A policy forbids it.
    Refused,
    /// The time limit of the run is over.
    Timeout,
    /// The output could not be written.
    Output,
    /// The run is blocked: a person is needed.
    Blocked,
    /// The run has used up its iterations or its budget.
    Exhausted,
    /// Somebody cancelled the run or interrupted the command.
    Interrupted,
}

impl Exit {
    #[cfg(test)]
    const ALL: [Exit; 11] = [
        Exit::Completed,
        Exit::Unexpected,
        Exit::Usage,
        Exit::Configuration,
        Exit::Agent,
        Exit::Refused,
        Exit::Timeout,
        Exit::Output,
        Exit::Blocked,
        Exit::Exhausted,
        Exit::Interrupted,
    ];

    /// Returns the number for the shell.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Completed => 0,
            Exit::Unexpected => 1,
            Exit::Usage => 2,
            Exit::Configuration => 3,
            Exit::Agent => 4,
            Exit::Refused => 5,
            Exit::Timeout => 6,
            Exit::Output => 7,
            Exit::Blocked => 8,
            Exit::Exhausted => 9,
            Exit::Interrupted => 130,
        }
    }

    /// Returns the exit code of a run.
    pub(crate) fn of_outcome(outcome: &Outcome) -> Exit {
        if outcome.reason == EndReason::Timeout {
            return Exit::Timeout;
        }
        if outcome.fixed() == Some(EndReason::CheckCannotStart) {
            return Exit::Configuration;
        }
        if outcome.reason == EndReason::InternalError {
            return Exit::Unexpected;
        }
        match outcome.status {
            FinalStatus::Completed => Exit::Completed,
            FinalStatus::Blocked => Exit::Blocked,
            FinalStatus::Exhausted => Exit::Exhausted,
            FinalStatus::Failed => Exit::Agent,
            FinalStatus::Interrupted | FinalStatus::Cancelled => Exit::Interrupted,
        }
    }
}

impl From<UserErrorKind> for Exit {
    fn from(class: UserErrorKind) -> Exit {
        match class {
            UserErrorKind::Usage => Exit::Usage,
            UserErrorKind::Configuration => Exit::Configuration,
            UserErrorKind::Agent => Exit::Agent,
            UserErrorKind::Refused => Exit::Refused,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ended_says_how_by_its_code() {
        let code = |status, reason| Exit::of_outcome(&Outcome::new(status, reason)).code();
        assert_eq!(code(FinalStatus::Completed, EndReason::Marker), 0);
        assert_eq!(code(FinalStatus::Failed, EndReason::AgentFailed), 4);
        assert_eq!(code(FinalStatus::Failed, EndReason::Timeout), 6);
        assert_eq!(code(FinalStatus::Failed, EndReason::InternalError), 1);
        assert_eq!(code(FinalStatus::Failed, EndReason::CheckCannotStart), 3);
        assert_eq!(code(FinalStatus::Blocked, EndReason::Question), 8);
        assert_eq!(code(FinalStatus::Exhausted, EndReason::MaxIterations), 9);
        assert_eq!(code(FinalStatus::Cancelled, EndReason::User), 130);
    }

    /// Returns the codes that a text lists below the heading.
    fn listed(text: &str, heading: &str) -> Vec<u8> {
        let section = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
        let numbers = section.split(|c: char| !c.is_ascii_alphanumeric() && c != '`' && c != '_');
        let mut codes: Vec<u8> = numbers.filter_map(|word| word.parse().ok()).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    }

    #[test]
    fn every_list_of_the_exit_codes_is_complete() {
        let codes = Exit::ALL.map(Exit::code);
        for (file, text) in [
            ("cli/help.txt", include_str!("cli/help.txt")),
            ("README.md", include_str!("../../../README.md")),
            ("docs/cli.md", include_str!("../../../docs/cli.md")),
        ] {
            let heading = if file.ends_with(".md") { "## Exit codes" } else { "Exit codes:" };
            assert_eq!(listed(text, heading), codes, "{file}");
        }
    }

    #[test]
    fn what_is_wrong_before_a_run_has_its_own_codes() {
        let classes = [
            UserErrorKind::Usage,
            UserErrorKind::Configuration,
            UserErrorKind::Agent,
            UserErrorKind::Refused,
        ];
        assert_eq!(classes.map(|class| Exit::from(class).code()), [2, 3, 4, 5]);
    }
}
