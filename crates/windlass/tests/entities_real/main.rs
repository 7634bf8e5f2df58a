//! Compares the entities that real agent CLIs read with the entities that Windlass lists.
//!
//! There is one file per CLI, with the table of places that it reads. `probe` plants a probe in every
//! place, `reads` starts the CLI and compares, and `listed` compares with `windlass`. `run` gives
//! entities to a session of the real Claude Code. A test whose CLI is missing reports that it did not
//! run; `cargo xtask test` installs the CLIs.

#[cfg(test)]
mod claude;
#[cfg(test)]
mod codex;
#[cfg(test)]
mod copilot;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod listed;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod probe;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod run;
#[cfg(test)]
#[path = "../claude_cli/stage.rs"]
#[expect(dead_code, reason = "the stage of another target, of which a part is used")]
mod stage;
