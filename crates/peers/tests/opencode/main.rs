//! The driver for OpenCode: how a turn starts, and recordings of what OpenCode printed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

#[cfg(test)]
mod launch;
#[cfg(test)]
mod recordings;

use std::sync::Arc;

use windlass_peers::agent::{Agents, Dialect};

fn opencode() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("opencode").unwrap())
}
