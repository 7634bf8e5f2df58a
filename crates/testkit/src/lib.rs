//! Helpers for tests, which no shipped crate may use.
//!
//! - [`model`]: a scripted Messages API on 127.0.0.1, enough for the real Claude Code CLI.
//! - [`env`]: an isolated place: folders, a git repository and its own environment.
//! - [`recorder`]: a model that keeps the requests of any agent CLI, and refuses them.
//! - [`programs`]: finds the `windlass` binary. [`agents`]: finds the agent CLIs. [`skip!`]: skips a test
//!   whose program is missing.
//! - [`plugin`]: plugin folders with example workflows.
//! - [`procs`]: live processes below a process. [`wait`]: polling with a deadline.
//!
//! If its own preconditions fail, everything here panics with a text that says what is missing.

pub mod agents;
pub mod env;
pub mod model;
pub mod plugin;
pub mod procs;
pub mod programs;
pub mod recorder;
pub mod wait;

pub use env::Sealed;
pub use model::{Gate, Model, Request, Turn, cut, fail, reply, say, tool, tools};
pub use programs::windlass_bin;
pub use recorder::{Recorded, Recorder};
pub use wait::{eventually, soon};
