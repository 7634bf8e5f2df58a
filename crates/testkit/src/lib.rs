//! Pretends: what a test needs of the world, and nothing a shipped crate may use.
//!
//! - [`model`]: a scripted Messages API on 127.0.0.1, enough for the real Claude Code CLI.
//! - [`env`]: a sealed place: folders, a git repository and an environment of its own.
//! - [`recorder`]: a model that keeps what any agent CLI asks it, and refuses.
//! - [`programs`]: where the `windlass` binary is, [`agents`] where the agent CLIs are; [`skip!`] where
//!   one is missing.
//! - [`plugin`]: plugin folders with the workflows people write.
//! - [`procs`]: who is alive below a process. [`wait`]: polling with a deadline.
//!
//! Everything here panics when the test's own ground gives way, with what was missing in the text.

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
