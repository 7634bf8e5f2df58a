//! `windlass help` and `windlass version`.
//!
//! `fast_help.rs` answers both without arguments. This file explains one command.

use super::command::grammar;
use super::complete;
use super::fast_help;
use super::mistake::no_command;
use super::output::OutputWriter;
use super::report::Report;
use super::sanitize::plain;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass help                list all commands, with examples and exit codes
  windlass help tasks run      the same as `windlass tasks run --help`";

/// Explain a command, or list all commands
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Command to explain [default: list all commands]
    #[arg(value_name = "COMMAND", add = complete::verbs())]
    words: Vec<String>,
}

/// Print the version
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  windlass version")]
pub(crate) struct VersionArgs {}

/// Prints the help of a command, as `--help` does.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let grammar = grammar();
    let mut verb = &grammar;
    for (at, word) in args.words.iter().enumerate() {
        let path = args.words.get(..at).unwrap_or_default();
        verb = verb.find_subcommand(word).ok_or_else(|| no_command(verb, path, word))?;
    }
    if args.words.is_empty() {
        return show(fast_help::LONG);
    }
    let words = ["windlass"].into_iter().chain(args.words.iter().map(String::as_str)).chain(["--help"]);
    match grammar.clone().try_get_matches_from(words) {
        Err(help) => show(&plain(&help.render().to_string())),
        Ok(_) => Err(Report::new(Exit::Unexpected, "the command has no help")),
    }
}

/// Prints the version.
pub(crate) fn version() -> Result<Exit, Report> {
    show(fast_help::VERSION)
}

/// Prints a text to standard output.
pub(super) fn show(text: &str) -> Result<Exit, Report> {
    let mut out = OutputWriter::stdout();
    out.text(text);
    out.end(Exit::Completed)
}
