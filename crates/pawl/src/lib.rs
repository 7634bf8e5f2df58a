//! The small programs that outlive the engine or run beside it.
//!
//! - [`hook`]: carries one hook call of an agent to the run's socket and the answer back.
//! - [`host`]: keeps one long child: its lock, its deadline, its descendants, its exit file.
//! - [`sim`]: plays a script in the format of any agent CLI.
//!
//! Each gets everything from its arguments and uses no settings, no store and no async runtime. `os` has
//! everything that only Linux offers. `core::hook::wire` and `core::launch` define the messages to the
//! engine.

pub mod hook;
pub mod host;
mod os;
pub mod sim;
