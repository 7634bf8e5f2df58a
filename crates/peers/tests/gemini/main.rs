//! The driver of Gemini CLI, from outside: how it starts a turn, and what it makes of recorded output.
#![allow(clippy::unwrap_used, reason = "a test")]

#[cfg(test)]
mod launch;
#[cfg(test)]
mod recordings;
