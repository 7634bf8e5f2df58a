//! Helpers for tests, which no shipped crate may use.
//!
//! - [`model`]: a scripted model on 127.0.0.1, which speaks the APIs of the agent CLIs, from `windlass-pawl`.
//! - [`recipe`]: the files and variables with which an agent CLI uses that model, from there too.
//! - [`env`]: an isolated place: folders, a git repository and its own environment.
//! - [`recorder`]: a model that keeps the requests of any agent CLI, and refuses them.
//! - [`programs`]: finds the `windlass` binary. [`agents`]: finds the agent CLIs. [`skip!`]: skips a test
//!   whose program is missing.
//! - [`acp_agent`]: a fake agent that speaks the Agent Client Protocol.
//! - [`plugin`]: plugin folders with example workflows.
//! - [`procs`]: live processes below a process. [`wait`]: polling with a deadline.
//!
//! If its own preconditions fail, everything here panics with a text that says what is missing.

pub mod acp_agent;
pub mod agents;
pub mod env;
pub mod model;
pub mod plugin;
pub mod procs;
pub mod programs;
pub mod recipe;
pub mod recorder;
pub mod wait;

pub use env::Sealed;
pub use model::{
    Gate, Model, Request, Turn, cut, fail, hang, rate_limit, read, reply, say, server_error, shell, tool,
    tools, unauthorized, usage_limit, write,
};
pub use programs::windlass_bin;
pub use recorder::{Recorded, Recorder};
pub use wait::{eventually, soon};
