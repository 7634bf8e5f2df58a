//! The small programs that outlive the engine or run beside it.
//!
//! - [`hook`]: carries one hook call of an agent to the run's socket and the answer back.
//! - [`host`]: keeps one long child: its lock, its deadline, its descendants, its exit file.
//! - [`sim`]: plays a script in the format of any agent CLI.
//! - [`model`]: plays the model of an agent CLI from a script, on 127.0.0.1.
//! - [`conformance`]: plays one set of behaviours with every agent CLI that is installed.
//! - [`recipe`]: the files and variables with which an agent CLI uses only that model.
//!
//! Each gets everything from its arguments and uses no settings, no store and no async runtime. `os` has
//! everything that only Linux offers. `core::hook::wire` and `core::launch` define the messages to the
//! engine.

pub mod conformance;
pub mod hook;
pub mod host;
pub mod model;
mod os;
pub mod recipe;
pub mod sim;
