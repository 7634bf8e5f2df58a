//! Claude Code, headless: `-p --output-format stream-json`.

pub mod hook;
pub mod launch;
pub mod parse;
mod schema;

use super::Capabilities;

/// What Claude Code can do.
pub const CAPABILITIES: Capabilities = Capabilities {
    stream: true,
    resume: true,
    fork: true,
    hooks: &["PreToolUse", "Stop"],
    stop_block: true,
    permissions: true,
    questions: true,
    mcp: true,
    budget: true,
    models: true,
    usage: true,
    adoptable: true,
};
