//! The real agent CLIs against the scripted model: that it is good enough for each of them.
//!
//! One file per CLI. `claude_code.rs` does the same for Claude Code. Without a CLI its tests say that they did
//! not run (`cargo xtask test` installs them).

#[cfg(test)]
mod codex;
#[cfg(test)]
mod copilot;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod output;
