//! Holds: the small programs that outlive or stand beside the engine.
//!
//! - [`hook`]: carries one hook call of an agent to the run's socket and the answer back.
//! - [`host`]: keeps one long child: its lock, its deadline, its descendants, its exit file.
//! - [`sim`]: plays a script in the wire format of an agent CLI.
//!
//! Each is started by its arguments alone and knows no settings, no store and no async runtime.
//! What only Linux has is in `os`. What they say to the engine is shaped by `core::hook::wire` and `core::launch`.

pub mod hook;
pub mod host;
mod os;
pub mod sim;
