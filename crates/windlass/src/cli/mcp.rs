//! `windlass mcp`: the MCP server for agents. It is hidden from the help, because no person types it.

use super::invocation::block_on;
use super::report::Report;
use crate::exit::Exit;
use crate::mcp::PermissionPrompt;

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

/// Serves until the agent closes its end.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let prompt =
        args.prompt.map(|event| PermissionPrompt { event, refusal: args.refusal.unwrap_or_default() });
    block_on(async {
        let served = crate::mcp::serve(prompt).await;
        served.map_err(|error| Report::new(Exit::Unexpected, "the MCP server ended").caused_by(&*error))
    })?;
    Ok(Exit::Completed)
}
