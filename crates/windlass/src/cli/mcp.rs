//! `windlass mcp`: the server that agents are given; hidden, nobody types it.

use super::here::block_on;
use super::report::Report;
use crate::exit::Exit;

/// Serve MCP on standard input and output
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Serves until the agent closes its end.
pub(crate) fn perform(_: &Args) -> Result<Exit, Report> {
    block_on(async {
        let served = crate::mcp::serve().await;
        served.map_err(|error| Report::new(Exit::Unexpected, "the MCP server ended").caused_by(&*error))
    })?;
    Ok(Exit::Completed)
}
