//! Runs: commits decisions, performs effects, supervises and recovers.
//!
//! A face makes a [`plan`](plan::plan), gives its spec to [`Handle::start`](handle::Handle) and
//! shows the [`Item`](feed::Item)s that come back. Deciding is `core`'s, remembering `store`'s,
//! touching the world `peers`'.

pub mod catalog;
mod changes;
pub mod children;
mod clock;
pub mod config;
pub mod crash;
pub mod demo;
pub mod doctor;
#[cfg(test)]
mod drop_sweep;
mod effect;
pub mod entities;
pub mod error;
pub mod feed;
pub mod handle;
pub mod home;
mod inbox;
mod named_lock;
mod os;
mod owner;
pub mod person;
pub mod plan;
pub mod problem;
mod random;
mod recover;
pub mod rehearse;
mod seal;
pub mod shelf;
mod supervise;
pub mod tasks;
mod tidy;
pub mod time_travel;
pub mod transcript;
pub mod view;
pub mod without_log;
pub mod workspace;

pub use windlass_peers::agent::{self as agents, Agents};
pub use windlass_peers::process::{adopt_orphans, end_all_adopted};
pub use windlass_store::Durability;
