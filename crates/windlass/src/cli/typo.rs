//! Detects a mistyped flag where a text may start with dashes too.
//!
//! `windlass run "--keep the dashes"` is a text. Without this check `--dryrun` would be one too, and an agent
//! would work on it.

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};

use super::command::grammar;

/// Returns clap's error if the text is nearly a flag.
pub(super) fn mistyped(text: &str, words: &[OsString]) -> Option<clap::Error> {
    if !text.starts_with("--") || text.contains(char::is_whitespace) {
        return None;
    }
    nearly_a_flag(words)
}

/// Returns the error about a mistyped flag that clap took for a text, or else the error itself. In
/// `loop --max-iteration 3 x`, clap takes the flag for the prompt and complains about the 3.
pub(super) fn mistyped_before(error: clap::Error, words: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    nearly_a_flag(words).unwrap_or(error)
}

/// Returns the error about a word that is nearly a flag, if no text may start with a dash.
fn nearly_a_flag(words: &[OsString]) -> Option<clap::Error> {
    let error = strict(grammar()).try_get_matches_from(words).err()?;
    let is_near =
        error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::SuggestedArg).is_some();
    is_near.then_some(error)
}

/// Returns the command line with a stricter rule: no text may start with a dash.
fn strict(verb: clap::Command) -> clap::Command {
    verb.mut_args(|arg| if arg.is_positional() { arg.allow_hyphen_values(false) } else { arg })
        .mut_subcommands(strict)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message about `text` in a command line.
    fn said(text: &str, words: &[&str]) -> Option<String> {
        let all: Vec<OsString> = ["windlass"].iter().chain(words).map(OsString::from).collect();
        let error = mistyped(text, &all)?;
        Some(error.get(ContextKind::SuggestedArg)?.to_string())
    }

    #[test]
    fn a_text_that_is_nearly_a_flag_is_a_slip() {
        for (text, words, meant) in [
            ("--dryrun", &["run", "--workflow", "fix", "--dryrun"][..], "--dry-run"),
            ("--workflw", &["run", "--workflw", "fix", "x"], "--workflow"),
            ("--max-iteration", &["loop", "--max-iteration", "3"], "--max-iterations"),
            ("--job", &["tasks", "run", "--job"], "--jobs"),
        ] {
            let error = said(text, words).unwrap_or_default();
            assert_eq!(error, meant, "{words:?}");
        }
    }

    #[test]
    fn any_other_text_is_one() {
        for text in ["--leading-dashes", "--dryrun it and see", "-dry-run"] {
            assert_eq!(said(text, &["run", text]), None, "{text}");
        }
    }
}
