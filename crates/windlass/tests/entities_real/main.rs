//! What the real agent CLIs read of a repository and a home, beside what Windlass lists of them.
//!
//! One file a CLI, with the table of what it reads; a probe in every place there is (`probe`), the
//! CLI started and compared (`reads`), and the same places as `windlass` lists them (`listed`).
//! `run` gives entities to a session of the real Claude Code. Without its CLI a test says that it did
//! not run (`cargo xtask test` installs them).

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
