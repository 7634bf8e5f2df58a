//! The end of a turn, where OpenCode says more on its standard error than in its output.

use windlass_core::event::{SessionFailure, SessionVerdict};

use super::super::transcript::{ProcessEnd, Transcript};

/// The start of an error of OpenCode's own database.
const DATABASE: &str = "Failed query:";

/// Judges how a turn went. OpenCode colours its errors even where nobody sees colours.
///
/// Now and then OpenCode cannot open its database and ends before it does anything. The next attempt succeeds.
pub(super) fn judge(transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
    let has_begun = transcript.last_message().is_some();
    match transcript.judge(over, &without_colours(stderr)) {
        SessionVerdict::Failed { cause: SessionFailure::Process, what }
            if !has_begun && what.contains(DATABASE) =>
        {
            SessionVerdict::Transient { what }
        }
        verdict => verdict,
    }
}

/// Removes the escape sequences of terminals.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = match part.strip_prefix('[') {
            Some(sequence) => {
                let end = sequence.find(|c: char| ('@'..='~').contains(&c));
                end.and_then(|end| sequence.get(end + 1..)).unwrap_or_default()
            }
            None => part,
        };
        plain.push_str(after);
    }
    plain
}

#[cfg(test)]
mod tests {
    use windlass_core::launch::ExitFile;

    use super::*;

    fn judged(stderr: &str) -> SessionVerdict {
        let exit = ExitFile {
            v: 1,
            code: Some(1),
            signal: None,
            ended_by: None,
            spawn_error: None,
            too_much_output: false,
        };
        judge(&Transcript::default(), ProcessEnd::Exited(&exit), stderr)
    }

    #[test]
    fn an_error_is_told_without_its_colours() {
        let verdict = judged("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\u{1b}");
        let what = "ended with code 1: Error: Session not found".to_owned();
        assert_eq!(verdict, SessionVerdict::Failed { cause: SessionFailure::Process, what });
    }

    #[test]
    fn a_database_that_does_not_open_is_tried_again() {
        let stderr = "\u{1b}[91mError: \u{1b}[0mUnexpected error\n\nFailed query: PRAGMA wal_checkpoint(PASSIVE)\nparams: ";
        let verdict = judged(stderr);
        assert!(matches!(verdict, SessionVerdict::Transient { .. }), "{verdict:?}");
    }
}
