//! The command line: what a person types, and what they are shown.

use std::process::ExitCode;

/// Reads the arguments and does what they ask.
#[expect(clippy::print_stderr, reason = "the binary is where things are printed")]
pub(crate) fn main() -> ExitCode {
    eprintln!("usage: windlass COMMAND");
    ExitCode::from(2)
}
