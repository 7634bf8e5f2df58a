//! `windlass mcp`: the MCP server for agents. It is hidden from the help, because no person types it. `main`
//! starts it before it builds the command line; only its help is here.

use super::report::Report;
use crate::exit::Exit;

/// Serve MCP on standard input and output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Hook event that passes permission prompts to the run
    #[arg(long, value_name = "EVENT")]
    prompt: Option<String>,

    /// Answer to a permission prompt if the run does not answer
    #[arg(long, value_name = "TEXT", requires = "prompt", allow_hyphen_values = true)]
    refusal: Option<String>,
}

/// Reports that `mcp` was reached by the wrong way. `main` starts it, so nobody sees this.
pub(crate) fn perform(_: &Args) -> Result<Exit, Report> {
    Err(Report::usage("`windlass mcp` must come before its options"))
}
