//! `windlass host DIR`: keeps one long child, so that it outlives the engine and nothing outlives it.
//!
//! - `program`: the life of a host, from the lock to the exit file.
//! - `folder`: the files of a child's folder.
//! - `child`: how the child is born, watched and ended.
//! - `guard`: a second process, which ends what is left when the host is killed.
//! - `sweep`: how everything left below it is found and killed.
//! - `crash`: where a test asks the host to die.
//!
//! The child's own group of processes, signals and what else only Linux has is `crate::os`.
//! What to run comes in `launch.json`, how it ended goes out in `exit.json` (`core::launch`).
//! Reading the child's output, and sweeping when host and guard have died, is left to the engine.

mod child;
mod crash;
mod folder;
mod guard;
mod program;
mod sweep;

pub use crate::os::{Grouping, clear_dead_groups, grouping};
pub use program::main;
