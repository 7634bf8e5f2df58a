//! Worktrees and landings with the real git, in repositories of their own.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests, some of which run themselves as a process to be killed"
)]

mod crash;
mod create;
mod ground;
mod include;
mod land;
mod locks;
mod many;
mod odd;
mod remove;
mod renew;
