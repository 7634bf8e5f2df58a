//! Errors for people: what went wrong, why, and what to do, with an exit code.
//!
//! Everything printed to standard error passes through this file.

use std::error::Error;
use std::io::Write;

use windlass_core::id::RunId;
use windlass_runtime::catalog::Diagnostic;
use windlass_runtime::error::{BusyRun, LostFile, RunError};
use windlass_runtime::handle::OwnerProcess;
use windlass_runtime::tasks::TasksError;
use windlass_runtime::user_error::UserError;

use super::fit;
use super::next_command;
use super::sanitize::plain;
use super::terminal::error_columns;
use crate::exit::Exit;

/// An error with its causes, a hint and an exit code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    text: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl Report {
    /// Creates an error without causes and hint.
    pub(crate) fn new(exit: Exit, text: impl Into<String>) -> Report {
        Report { exit, text: text.into(), causes: Vec::new(), hint: None }
    }

    /// Creates an error about the command line.
    pub(crate) fn usage(text: impl Into<String>) -> Report {
        Report::new(Exit::Usage, text)
    }

    /// Adds the cause and its own causes.
    pub(crate) fn caused_by(mut self, cause: &dyn Error) -> Report {
        let mut next = Some(cause);
        while let Some(cause) = next {
            let text = cause.to_string();
            // A transparent error has the same text as its cause.
            if self.causes.last() != Some(&text) && self.text != text {
                self.causes.push(text);
            }
            next = cause.source();
        }
        self
    }

    /// Adds what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Report {
        Report { hint: Some(hint.into()), ..self }
    }

    /// Converts an error about a run.
    pub(crate) fn from_error(error: &RunError) -> Report {
        let report = Report::new(exit_of(error), error.to_string());
        let report = match error.source() {
            Some(cause) => report.caused_by(cause),
            None => report,
        };
        match hint_of(error) {
            Some(hint) => report.hint(hint),
            None => report,
        }
    }

    /// Returns the error and its causes on one line.
    pub(crate) fn one_line(&self) -> String {
        [std::slice::from_ref(&self.text), &self.causes].concat().join(": ")
    }

    /// Returns the hint.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns the text for standard error.
    fn shown(&self) -> String {
        let mut shown = format!("error: {}\n", plain(&self.text));
        for cause in &self.causes {
            shown.push_str(&format!("  because {}\n", plain(cause)));
        }
        if let Some(hint) = &self.hint {
            shown.push_str(&format!("  hint: {}\n", plain(hint)));
        }
        shown
    }

    /// Prints the error and returns its exit code.
    pub(crate) fn print(&self) -> Exit {
        say(&fitted(&self.shown()));
        self.exit
    }
}

/// Prints a warning.
pub(crate) fn warn(text: &str) {
    say(&fitted(&format!("warning: {}\n", plain(text))));
}

/// Prints a message that is not data, so it does not belong on standard output.
pub(crate) fn note(text: &str) {
    say(&fitted(&format!("{}\n", plain(text))));
}

/// Prints the diagnostics of files.
pub(crate) fn tell(problems: &[Diagnostic]) {
    for problem in problems {
        note(&on_screen(problem));
    }
}

/// Formats a diagnostic to fit the terminal on standard error.
pub(crate) fn on_screen(problem: &Diagnostic) -> String {
    match error_columns() {
        Some(columns) => problem.on_screen(columns),
        None => problem.to_string(),
    }
}

/// Prints the prompt for a person to type after.
pub(crate) fn ask_for_line() {
    say("  > ");
}

/// Wraps lines that are wider than the terminal, except for quotations from files.
fn fitted(text: &str) -> String {
    let Some(columns) = error_columns() else { return text.to_owned() };
    let is_quoted = |line: &str| {
        let number = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        number.trim_start().starts_with('|')
    };
    let fit = |line: &str| match is_quoted(line) {
        true => vec![line.to_owned()],
        false => fit::wrap_all(&[line.to_owned()], 2, Some(columns)),
    };
    text.lines().flat_map(fit).map(|line| format!("{line}\n")).collect()
}

/// Prints a question for a person to answer on the same line.
pub(crate) fn ask(text: &str) {
    say(&plain(text));
}

/// Sends an escape sequence of our own to the terminal on standard error.
pub(crate) fn send_to_terminal(sequence: &str) {
    say(sequence);
}

/// Writes to standard error. If that is closed too, there is nobody to tell.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

impl From<UserError> for Report {
    fn from(problem: UserError) -> Report {
        let report = Report::new(problem.class.into(), problem.text());
        Report { hint: problem.hint, ..report }
    }
}

impl From<RunError> for Report {
    fn from(error: RunError) -> Report {
        Report::from_error(&error)
    }
}

fn exit_of(error: &RunError) -> Exit {
    match error {
        RunError::Open(_)
        | RunError::Append(_)
        | RunError::Create(_)
        | RunError::Read(_)
        | RunError::Store(_)
        | RunError::Inbox(_)
        | RunError::OtherVersion { .. }
        | RunError::Diverged { .. }
        | RunError::Socket { .. }
        | RunError::Place { .. }
        | RunError::NoRoom { .. }
        | RunError::CutOff(_)
        | RunError::NoFolder { .. }
        | RunError::NotInLog { .. }
        | RunError::StateGone(_)
        | RunError::LogGone { .. }
        | RunError::LogBehind { .. }
        | RunError::NoWorktree(_)
        | RunError::UncountedCost(_)
        | RunError::Watch(_) => Exit::Configuration,
        RunError::Lease { .. }
        | RunError::NoSuchRun(_)
        | RunError::Ambiguous { .. }
        | RunError::Over(_)
        | RunError::Final { .. }
        | RunError::WouldEnd { .. }
        | RunError::AlreadyAnswered(_)
        | RunError::NothingAsked(_)
        | RunError::FolderBusy { .. }
        | RunError::Tasks(TasksError::Held { .. }) => Exit::Usage,
        RunError::Tasks(_) => Exit::Configuration,
        RunError::LoopHeld { .. } | RunError::Refused(_) => Exit::Refused,
        RunError::Detach(_) | RunError::Unheard { .. } => Exit::Agent,
        RunError::BadLog { .. } | RunError::Encode(_) | RunError::Abandoned => Exit::Unexpected,
    }
}

fn hint_of(error: &RunError) -> Option<String> {
    Some(match error {
        RunError::Open(_) | RunError::Place { .. } => return error.place_hint(),
        RunError::Append(_) | RunError::Store(_) | RunError::NoRoom { .. } | RunError::CutOff(_) => {
            "no recorded step is lost: fix the problem, then `windlass resume` continues the run".to_owned()
        }
        RunError::NoFolder { run, .. } => format!(
            "no step of the run is lost: put the folder back, then `windlass resume {run}` continues it; \
             `windlass cancel {run}` ends it"
        ),
        RunError::Lease { run, .. } if error.is_locked() => {
            format!("`windlass logs -f {run}` follows a run that another process runs")
        }
        RunError::Lease { run, .. } => {
            format!("no step of the run is lost: fix the problem, then `windlass resume {run}` continues it")
        }
        RunError::NotInLog { run, .. } => format!(
            "somebody emptied, deleted or replaced the log: `windlass ps` lists such runs, and \
             `windlass cancel {run}` ends the processes of this one"
        ),
        RunError::LogGone { run, how: LostFile::Moved, .. } => format!(
            "put it back, then `windlass resume {run}` continues the run; without it, start a new run"
        ),
        RunError::LogGone { dir, .. } => format!(
            "the run cannot continue: start a new one; the output of its agents is in {}",
            dir.display()
        ),
        RunError::LogBehind { run, .. } => format!(
            "the log is older than the run: put the newer log back, then `windlass resume {run}` continues \
             it; `windlass cancel {run}` ends it"
        ),
        RunError::StateGone(_) => "the log was in that folder: start a new run".to_owned(),
        RunError::Tasks(error) => return error.hint(),
        RunError::LoopHeld { run, .. } => {
            let run = run.as_ref().map_or("RUN", RunId::as_str);
            format!(
                "`windlass cancel {run}` ends it; if its process is gone, `windlass resume {run}` continues it"
            )
        }
        RunError::FolderBusy { run, other, .. } => {
            let look = match other {
                BusyRun::Owned => format!("`windlass attach {run}` follows it"),
                BusyRun::Orphaned => format!("its agent still works: `windlass resume {run}` continues it"),
                BusyRun::NotInLog => format!("its agent still works: `windlass cancel {run}` ends it"),
            };
            format!("{look}; --worktree gives a new run its own folder, --beside works here anyway")
        }
        RunError::NoSuchRun(_) => "`windlass ps` lists the runs".to_owned(),
        RunError::Ambiguous { .. } => "type more of the id".to_owned(),
        RunError::Over(run) => format!("`windlass show {run}` shows how it ended"),
        RunError::Final { run, .. } => {
            format!(
                "`windlass show {run}` shows how it ended; `windlass fork {run} --at NODE` starts a new run from there"
            )
        }
        // Its text says what to do.
        RunError::UncountedCost(_) => return None,
        RunError::WouldEnd { run, outcome } => return Some(next_command::more_of(run, outcome)),
        RunError::AlreadyAnswered(run) | RunError::NothingAsked(run) => {
            format!("`windlass show {run}` shows what it is doing")
        }
        RunError::BadLog { .. } => "the log is unchanged, and `windlass ps` still lists the run".to_owned(),
        RunError::OtherVersion { run, binary, .. } => {
            let how = binary.as_ref().map(|path| format!(": `{} resume {run}`", path.display()));
            format!(
                "no step is lost, and `windlass ps` still lists it: show or finish the run with the windlass \
                 that recorded it{}",
                how.unwrap_or_default()
            )
        }
        RunError::Diverged { run, binary, .. } => {
            let how = binary.as_ref().map(|path| format!(": `{} resume {run}`", path.display()));
            format!(
                "no step is lost: resume it with the windlass that started it{}; `windlass replay {run}` \
                 shows what differs, and `windlass cancel {run}` ends it",
                how.unwrap_or_default()
            )
        }
        RunError::Refused(_) => super::invocation::OWN_TERMINAL.to_owned(),
        RunError::Unheard { run, owner } => match owner {
            Some(OwnerProcess { pid, is_stopped: true }) => {
                format!(
                    "let it continue (`fg` in its terminal, or `kill -CONT {pid}`), then repeat the command"
                )
            }
            Some(OwnerProcess { pid, .. }) => {
                format!(
                    "repeat the command; if the process hangs, end it (`kill {pid}`) and `windlass resume {run}`"
                )
            }
            None => format!("repeat the command, or `windlass resume {run}`"),
        },
        RunError::Abandoned => "`windlass resume` continues it".to_owned(),
        RunError::Create(_)
        | RunError::NoWorktree(_)
        | RunError::Read(_)
        | RunError::Inbox(_)
        | RunError::Encode(_)
        | RunError::Socket { .. }
        | RunError::Watch(_)
        | RunError::Detach(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use windlass_runtime::user_error::UserErrorKind;

    use super::*;

    #[test]
    fn says_what_why_and_what_to_do() {
        let cause = std::io::Error::other("no space left on device");
        let report = Report::new(Exit::Output, "cannot write the output").caused_by(&cause).hint("free some");
        let expected =
            "error: cannot write the output\n  because no space left on device\n  hint: free some\n";
        assert_eq!(report.shown(), expected);
    }

    #[test]
    fn nothing_foreign_reaches_the_terminal_as_it_is() {
        let report = Report::usage("no file `\u{1b}[2J`").hint("try \u{7}");
        assert_eq!(report.shown(), "error: no file `^[[2J`\n  hint: try ^G\n");
    }

    #[test]
    fn an_ambiguous_run_lists_the_candidates() {
        let candidates = vec![RunId::new("abc1"), RunId::new("abd2")];
        let report = Report::from(RunError::Ambiguous { prefix: "ab".to_owned(), candidates });
        assert_eq!(report.exit, Exit::Usage);
        assert_eq!(report.shown(), "error: `ab` could be any of: abc1, abd2\n  hint: type more of the id\n");
    }

    #[test]
    fn a_place_that_cannot_be_used_is_a_matter_of_configuration() {
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let report = Report::from(RunError::Place { path: "/x".into(), source });
        assert_eq!(report.exit, Exit::Configuration);
        assert!(report.shown().contains("cannot use /x\n  because permission denied"), "{}", report.shown());
    }

    #[test]
    fn a_problem_before_a_run_keeps_its_hint() {
        let report = Report::from(UserError::new(UserErrorKind::Refused, "no").hint("ask"));
        assert_eq!((report.exit, report.shown().as_str()), (Exit::Refused, "error: no\n  hint: ask\n"));
    }
}
