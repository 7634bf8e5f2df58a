//! Reads: people's text to values with positions, and back.
//!
//! - [`diagnostic`]: what is wrong in a text, where, and what to do about it.
//! - [`workflow`]: `workflow.json` of a plugin, and its prompt template.
//! - [`workflow::document`]: workflows as people write them, in YAML or JSON; every mistake at once.
//! - [`plugin`]: `.claude-plugin/plugin.json` and the names of MCP servers.
//! - [`tracker`]: the Markdown file of a loop, and the marks an agent leaves in it.
//! - [`loop_state`]: the state file of the ralph-loop plugin.
//! - [`entity`]: commands, skills and agents, in the formats of every provider.
//! - [`tasks`]: `tasks.json`, read as agents write it and changed without touching the rest.
//! - [`settings`]: layers of TOML, environment and flags, with the source of each value.
//!
//! Nothing here reads a file, an environment or a clock: text comes in, values and
//! diagnostics go out. All of it is hostile input, so no text makes a function here panic.

pub mod diagnostic;
mod diagnostics;
pub mod entity;
mod json;
pub mod loop_state;
pub mod plugin;
pub mod settings;
pub mod tasks;
pub mod tracker;
mod words;
pub mod workflow;
mod yaml;
