//! Answers `windlass --version`, `--help` and `help` without building the clap command.
//!
//! People and scripts ask for these all the time. `--help` fits one screen (`short_help.txt`); `windlass help`
//! has examples and exit codes (`help.txt`). Tests compare both with the clap command.

/// The output of `windlass --help`.
pub(super) const SHORT: &str = include_str!("short_help.txt");
/// The output of `windlass help`.
pub(super) const LONG: &str = include_str!("help.txt");
/// The output of `windlass --version`.
pub(super) const VERSION: &str = concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n");

/// Returns the text to print if the only argument asks for help or the version.
pub(super) fn answer() -> Option<&'static str> {
    let mut args = std::env::args_os().skip(1);
    let (first, second) = (args.next()?, args.next());
    if second.is_some() {
        return None;
    }
    text_for(first.to_str()?)
}

fn text_for(word: &str) -> Option<&'static str> {
    match word {
        "--version" | "-V" | "version" => Some(VERSION),
        "--help" | "-h" => Some(SHORT),
        "help" => Some(LONG),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::command::{Windlass, grammar};

    #[test]
    fn says_what_the_grammar_says() {
        for (flag, word) in [("--version", "version"), ("-V", "-V"), ("--help", "help"), ("-h", "help")] {
            let error = Windlass::try_parse_from(["windlass", flag]).unwrap_err();
            // If you changed the help on purpose, put the left side into help.txt.
            assert_eq!(Some(error.render().to_string().as_str()), text_for(word));
        }
        assert_eq!(text_for("run"), None);
    }

    #[test]
    fn the_short_help_names_every_verb_and_leaves_room_on_one_screen() {
        let lines: Vec<&str> = SHORT.lines().collect();
        // A line about this folder and the shell's prompt follow.
        assert!(lines.len() <= 22, "{} lines", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{SHORT}");
        let words: Vec<&str> = SHORT.split_whitespace().collect();
        for verb in grammar().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            assert!(words.contains(&verb.get_name()), "add `{}` to short_help.txt", verb.get_name());
        }
    }
}
