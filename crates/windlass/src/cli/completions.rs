//! `windlass completions`: prints a script that lets a shell complete the command line.
//!
//! The script asks `windlass` itself for each word, so it always knows the current entities.

use clap::builder::PossibleValuesParser;
use clap_complete::env::Shells;

use super::complete::ASKED;
use super::output::OutputWriter;
use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass completions bash >> ~/.bash_completion
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish";

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell that will run the script
    #[arg(value_name = "SHELL", value_parser = PossibleValuesParser::new(SHELLS))]
    shell: String,
}

/// Prints the script.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let written = shells
        .completer(&args.shell)
        .map(|shell| shell.write_registration(ASKED, "windlass", "windlass", "windlass", &mut script));
    if !matches!(written, Some(Ok(()))) {
        return Err(Report::usage("there is no completion for this shell"));
    }
    let mut out = OutputWriter::stdout();
    if args.shell == "bash" {
        // Without this, bash splits `front:component` into three words.
        out.text("COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n");
    }
    out.text(&String::from_utf8_lossy(&script));
    out.end(Exit::Completed)
}
