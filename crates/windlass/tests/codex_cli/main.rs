//! The real Codex CLI on a scripted model, run by the real `windlass` binary.
//!
//! One file a promise; what they stand on is `stage`. Without the CLI every test says that it did not run.

#[cfg(test)]
mod costs;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod interrupt;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod service_errors;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod single;
#[cfg(test)]
mod stage;
