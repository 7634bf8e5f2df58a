//! The end of a turn, where OpenCode says more on its standard error than in its output.

use windlass_core::event::SessionVerdict;

use super::super::transcript::{ProcessEnd, Transcript};

/// Judges how a turn went. OpenCode colours its errors even where nobody sees colours.
pub(super) fn judge(transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
    transcript.judge(over, &without_colours(stderr))
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

    #[test]
    fn an_error_is_told_without_its_colours() {
        let exit = ExitFile {
            v: 1,
            code: Some(1),
            signal: None,
            ended_by: None,
            spawn_error: None,
            too_much_output: false,
        };
        let stderr = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\u{1b}";
        let verdict = judge(&Transcript::default(), ProcessEnd::Exited(&exit), stderr);
        let SessionVerdict::Failed { what, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!(what, "ended with code 1: Error: Session not found");
    }
}
