//! Touches: every outside program and service.
//!
//! - [`process`]: the one door where children are born; [`child`]: what became of them; [`orphan`]: those
//!   whose folder is gone; [`descent`]: whose descendant a process is; `os`: what
//!   only Linux has.
//! - [`tail`]: their output, read from files as it grows.
//! - [`agent`]: how each agent CLI is launched, read and answered.
//! - [`hook_socket`]: where hooks of a run ask.
//! - [`git`] and [`files`].
//!
//! Nothing here decides what comes next or writes history.

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
