//! Simulates thousands of crashes in one process: an executor stops at point k, the store is opened again,
//! the log is replayed, and open effects are settled by inspecting the world.
//!
//! Store, engine, inbox and recovery are the real ones. Executor and world are small ones whose children
//! always answer the same, so that every crashed run can be compared with the uncrashed one.
//! `crates/windlass/tests/sim/crash_sweep.rs` kills real processes.
//!
//! - [`story`]: the specification of a run, and the script for everything outside it.
//! - [`sessions`]: stories of one session.
//! - [`everything`]: a workflow with every kind of node that runs.
//! - [`graphs`]: small random graphs.
//! - [`world`]: everything that was really started.
//! - [`executor`]: commits, performs, dies.
//! - [`proof`]: the invariants of a log, however often its run died.
//! - [`sweep`]: the tests.

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
