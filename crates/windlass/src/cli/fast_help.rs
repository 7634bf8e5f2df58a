//! `--version` and `--help`, answered before the grammar of the command line is even built.
//!
//! People and scripts ask these all the time; the text is kept in `help.txt`, and a test holds
//! it to what the grammar says.

/// What `windlass --help` prints.
const HELP: &str = include_str!("help.txt");
const VERSION: &str = concat!("windlass ", env!("CARGO_PKG_VERSION"), "\n");

/// The text that answers the arguments, when they ask for nothing else.
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
            // When help has changed on purpose, this is the new help.txt.
            assert_eq!(Some(error.render().to_string().as_str()), text_for(flag));
        }
        assert_eq!(text_for("run"), None);
    }
}
