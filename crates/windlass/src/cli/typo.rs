//! Detects a mistyped flag where a text may start with dashes too.
//!
//! `windlass run "--keep the dashes"` is a text. Without this check `--dryrun` would be one too, and an agent
//! would work on it.

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};

use super::command::grammar;

/// Returns clap's error if the text is nearly a flag.
pub(super) fn mistyped(text: &str, words: impl IntoIterator<Item = OsString>) -> Option<clap::Error> {
    if !text.starts_with("--") || text.contains(char::is_whitespace) {
        return None;
    }
    let mut error = strict(grammar()).try_get_matches_from(words).err()?;
    let is_near =
        error.kind() == ErrorKind::UnknownArgument && error.get(ContextKind::SuggestedArg).is_some();
    // clap suggests `-- --flag`, but everything after `--` goes to the agent.
    error.remove(ContextKind::Suggested);
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
        let all = std::iter::once("windlass").chain(words.iter().copied()).map(OsString::from);
        mistyped(text, all).map(|error| error.to_string())
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
            assert!(error.contains(&format!("'{meant}'")), "{words:?}: {error}");
            assert!(!error.contains("as a value"), "{words:?}: {error}");
        }
    }

    #[test]
    fn any_other_text_is_one() {
        for text in ["--leading-dashes", "--dryrun it and see", "-dry-run"] {
            assert_eq!(said(text, &["run", text]), None, "{text}");
        }
    }
}
