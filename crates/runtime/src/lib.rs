//! Runs workflows: commits decisions, performs effects, supervises and recovers.
//!
//! A face makes a [`plan`](plan::plan), gives its spec to [`Handle::start`](handle::Handle::start) and shows
//! the [`FeedItem`](feed::FeedItem)s that come back. `core` decides, `store` records, `peers` talks to the
//! operating system and other programs.

pub mod artifacts;
pub mod catalog;
mod changes;
pub mod children;
mod clock;
pub mod config;
pub mod crash;
#[cfg(test)]
mod crash_sweep;
mod day;
pub mod demo;
pub mod doctor;
mod effect;
pub mod entities;
pub mod error;
pub mod feed;
pub mod gc;
pub mod handle;
pub mod home;
mod inbox;
mod named_lock;
pub mod new_file;
pub mod notify;
mod os;
pub mod own_worktree;
mod owner;
pub mod person;
pub mod plan;
mod random;
mod recover;
pub mod rehearse;
mod seal;
mod snapshot;
mod supervise;
pub mod tasks;
mod tidy;
pub mod time_travel;
pub mod transcript;
pub mod trust;
pub mod user_error;
pub mod view;
pub mod without_log;
pub mod workflow_tests;
pub mod workspace;

pub use windlass_peers::agent::{self as agents, Agents};
pub use windlass_peers::process::{adopt_orphans, end_all_adopted};
pub use windlass_store::Durability;
