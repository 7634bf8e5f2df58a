//! Parses the files that people and agents write, and prints them back.
//!
//! - [`diagnostic`]: an error or warning about a text, with its position and a hint.
//! - [`workflow`]: a plugin's `workflow.json` and its prompt template.
//! - [`workflow::document`]: workflow documents in YAML or JSON; reports every mistake at once.
//! - [`plugin`]: `.claude-plugin/plugin.json` and the names of MCP servers.
//! - [`tracker`]: the Markdown file of a loop, and the markers that an agent writes in it.
//! - [`loop_state`]: the state file of the ralph-loop plugin.
//! - [`entity`]: commands, skills and agents, in the formats of every provider.
//! - [`rehearsal`]: stub results of a workflow, and tests with them.
//! - [`tasks`]: `tasks.json`, read leniently and edited without changing the rest of the file.
//! - [`settings`]: layers of TOML, environment and flags, with the source of each value.
//!
//! Nothing here reads a file, the environment or the clock: text comes in, values and diagnostics
//! go out. All input is untrusted, so no text may make a function here panic.

pub mod diagnostic;
mod diagnostics;
pub mod entity;
mod json;
pub mod loop_state;
pub mod plugin;
pub mod rehearsal;
pub mod settings;
pub mod tasks;
pub mod tracker;
mod words;
pub mod workflow;
mod yaml;
