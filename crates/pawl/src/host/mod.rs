//! `windlass host DIR`: keeps one long child, so that it outlives the engine and nothing outlives it.
//!
//! - `program`: the life of a host, from the lock to the exit file.
//! - `folder`: the files of a child's folder.
//! - `child`: how the child is born, watched and ended.
//! - `guard`: a second process, which ends what is left when the host is killed.
//! - `cgroup`: the child's own group of processes, where the system has such groups.
//! - `sweep`: how everything left below it is found and killed.
//! - `signals`: the one place that talks to the kernel about signals.
//! - `crash`: where a test asks the host to die.
//!
//! What to run comes in `launch.json`, how it ended goes out in `exit.json` (`core::launch`).
//! Reading the child's output, and sweeping when host and guard have died, is left to the engine.

mod cgroup;
mod child;
mod crash;
mod folder;
mod guard;
mod program;
mod signals;
mod sweep;

pub use cgroup::{Grouping, clear_dead_groups, grouping};
pub use program::main;
