//! `windlass mcp`: the stdio MCP server given to the agents of a run.
//!
//! So far it has the permission prompt alone. Headless Claude Code has no AskUserQuestion
//! unless a prompt tool exists; every question and most permissions are decided earlier, in the
//! PreToolUse hook. What still reaches this tool the CLI asks by rules of its own, and the run decides.

mod approve;
mod server;

pub(crate) use server::serve;
