//! `windlass mcp`: the stdio MCP server given to the agents of a run.
//!
//! So far it has the permission prompt alone. Headless Claude Code has no AskUserQuestion
//! unless a prompt tool exists; every permission and every question is decided earlier, in the
//! PreToolUse hook. What still reaches this tool was decided by nobody, and is denied.

mod approve;
mod server;

pub(crate) use server::serve;
