//! Agents that speak the Agent Client Protocol, run by the real `windlass` binary.
//!
//! A fake agent shows each line that Windlass sends. The real CLIs run on a scripted model; without one its tests say
//! that they did not run (`cargo xtask test` installs them).
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod real;
#[cfg(test)]
mod stage;
