//! Thousands of crashes within one process: an executor goes no further than point k, the store is opened
//! again, the log folded, and what was open is settled by looking at the world.
//!
//! Store, engine, inbox and recovery are the real ones; executor and world are small ones, whose
//! children always answer alike, so that every run of a story can be compared with the uncrashed
//! one. Real processes are killed in `crates/windlass/tests/sim/crash_sweep.rs`.
//!
//! - [`story`]: what is played: orders, and how everything outside goes. - [`sessions`]: one session each.
//! - [`everything`]: a workflow with every kind of node that runs. - [`graphs`]: small ones, from dice.
//! - [`world`]: what was really begun. - [`executor`]: commits, performs, dies.
//! - [`proof`]: what must be true of a log, however often its run died. - [`sweep`]: the tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of it is a test"
)]

mod everything;
mod executor;
mod graphs;
mod proof;
mod sessions;
pub(crate) mod story;
mod sweep;
mod world;
