//! The real GitHub Copilot CLI on a scripted model, run by the real `windlass` binary.
//!
//! Each file is about one promise, on the stage of `stage`. Without the CLI, every test says that it did not
//! run (`cargo xtask test` installs it).

#[cfg(test)]
mod isolation;
#[cfg(test)]
mod loops;
#[cfg(test)]
mod person;
#[cfg(test)]
mod service_errors;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod turn;
