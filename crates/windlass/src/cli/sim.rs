//! `windlass sim`: the simulated agent. `main` starts it before it builds the command line; only its help
//! is here.

use super::report::Report;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass sim --check script.json               find the mistakes in a script
  WINDLASS_SIM_SCRIPT=script.json windlass loop \"try it\" --driver sim
  windlass loop \"try it\" --driver codex --agent-bin \"windlass sim --as codex\"

docs/sim.md explains the scripts and the formats.";

/// Play a script as an agent, without a model
///
/// A run with `--driver sim` starts it in place of Claude Code, and `windlass sim --as NAME` takes the place of
/// another agent CLI. The script says what the agent does in each turn.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_version_flag = true)]
pub(crate) struct Args {
    /// Check each SCRIPT, and play nothing
    #[arg(long, value_name = "SCRIPT", num_args = 1..)]
    check: Vec<String>,

    /// Play the format of this agent CLI: claude, codex, opencode, copilot, gemini, acp (Agent Client Protocol) or
    /// plain (neutral)
    #[arg(long = "as", value_name = "NAME")]
    format: Option<String>,

    /// The arguments that a run gives to its agent CLI
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Reports that `sim` was reached by the wrong way. `main` starts it, so nobody sees this.
pub(crate) fn perform(_: &Args) -> Result<Exit, Report> {
    Err(Report::usage("`windlass sim` takes its arguments as an agent CLI does")
        .hint("`windlass help sim` explains it"))
}
