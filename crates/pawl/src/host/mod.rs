//! `windlass host DIR`: keeps one long child, so that the child can outlive the engine and no process
//! outlives the child.
//!
//! - `program`: the life of a host, from the lock to the exit file.
//! - `folder`: the files of a child's folder.
//! - `child`: starts, watches and ends the child.
//! - `input`: passes on standard input that stays open.
//! - `guard`: a second process, which ends the remaining processes when the host is killed.
//! - `sweep`: finds and kills every process below the host.
//! - `crash`: the points at which a crash test kills the host.
//!
//! `crate::os` has cgroups, signals and everything else that only Linux offers. The host reads `launch.json`
//! and writes `exit.json` (`core::launch`). The engine reads the child's output, and sweeps if both host and
//! guard died.

mod child;
mod crash;
mod folder;
mod guard;
mod input;
mod program;
mod sweep;

pub use crate::os::{Grouping, clear_dead_groups, grouping};
pub use program::main;
