//! Every outside program and service that Windlass uses.
//!
//! - [`process`] starts every child process; [`child`] reads its state; [`orphan`] ends children whose
//!   folder is gone; [`descent`] finds the session above a process; `os` wraps what only Linux offers.
//! - [`tail`] reads the output of children from growing files.
//! - [`agent`] launches, reads and answers each agent CLI.
//! - [`hook_socket`] receives the hook calls of a run.
//! - [`git`] and [`files`].
//!
//! This crate decides no next step and writes no history.

pub mod agent;
pub mod child;
pub mod descent;
pub mod files;
pub mod git;
pub mod hook_socket;
pub mod orphan;
mod os;
pub mod process;
pub mod tail;
