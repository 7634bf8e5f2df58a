//! `windlass completions`: a script that lets a shell complete the command line.

use clap_complete::Shell;

use super::command::grammar;
use super::output::Out;
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish";

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar(), "windlass", &mut script);
    let mut out = Out::stdout();
    out.text(&String::from_utf8_lossy(&script));
    out.end(Exit::Completed)
}
