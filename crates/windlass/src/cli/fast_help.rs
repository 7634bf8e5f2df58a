//! Answers `windlass --version` and `windlass --help` without building the clap command.
//!
//! People and scripts ask for these all the time. The help text is in `help.txt`; a test compares it with
//! what clap prints.

/// The output of `windlass --help`.
const HELP: &str = include_str!("help.txt");
const VERSION: &str = concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n");

/// Returns the text to print if the only argument asks for help or the version.
pub(super) fn answer() -> Option<&'static str> {
    let mut args = std::env::args_os().skip(1);
    let (first, second) = (args.next()?, args.next());
    if second.is_some() {
        return None;
    }
    text_for(first.to_str()?)
}

fn text_for(flag: &str) -> Option<&'static str> {
    match flag {
        "--version" | "-V" => Some(VERSION),
        "--help" | "-h" => Some(HELP),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::command::Windlass;

    #[test]
    fn says_what_the_grammar_says() {
        for flag in ["--version", "-V", "--help", "-h"] {
            let error = Windlass::try_parse_from(["windlass", flag]).unwrap_err();
            // If you changed the help on purpose, put the left side into help.txt.
            assert_eq!(Some(error.render().to_string().as_str()), text_for(flag));
        }
        assert_eq!(text_for("run"), None);
    }
}
