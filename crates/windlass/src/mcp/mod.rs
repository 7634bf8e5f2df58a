//! `windlass mcp`: the stdio MCP server given to the agents of a run.
//!
//! So far it only has the permission prompt, for agent CLIs that follow rules of their own and ask an MCP
//! tool about a tool call. The run's rules or a person decide, as they do for hooks.

mod prompt;
mod server;

pub(crate) use prompt::PermissionPrompt;
pub(crate) use server::serve;
