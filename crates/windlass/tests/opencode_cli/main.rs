//! Runs on the real OpenCode, in a sealed place, with a scripted model.
//!
//! One file a promise; what they stand on is `stage`. Without the CLI every test says that it did not run
//! (`cargo xtask test` installs it).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test stops where it stands")]

#[cfg(test)]
mod crash;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod in_session;
#[cfg(test)]
mod interrupt;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod turns;
