//! The real Claude Code CLI on a scripted model, run by the real `windlass` binary.
//!
//! One file a promise; what they stand on is `stage`. Without the CLI every test says that it
//! did not run (`cargo xtask test` installs it).

#[cfg(test)]
mod crash;
#[cfg(test)]
mod fresh;
#[cfg(test)]
mod graph;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod impostor;
#[cfg(test)]
mod in_session;
#[cfg(test)]
mod interrupt;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod night;
#[cfg(test)]
mod own_rules;
#[cfg(test)]
mod plugin_mode;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod service_errors;
#[cfg(test)]
mod stage;
