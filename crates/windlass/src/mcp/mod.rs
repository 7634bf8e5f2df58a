//! `windlass mcp`: the stdio MCP server given to the agents of a run.
//!
//! So far it has the permission prompt alone, for agent CLIs that ask an MCP tool about a tool call by rules of
//! their own. The run's rules or a person decide, as they do for hooks.

mod prompt;
mod server;

pub(crate) use prompt::PermissionPrompt;
pub(crate) use server::serve;
