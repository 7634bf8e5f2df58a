//! Workflows as graphs: what every way to write one becomes.
//!
//! - [`workflow`]: the graph itself, in structured blocks without gotos.
//! - [`builder`]: writes one in Rust; [`ids`]: what a node is called when nobody says.
//! - [`template`]: templates and conditions with the values of a run.
//! - [`mod@check`]: all that is wrong with it; [`mod@worst`]: the most it can take.
//! - [`schema`]: whether an answer is what was asked for.
//! - [`draw`]: pictures of it.
//! - [`Node`]: a node with an agent as it is run, a prompt or a loop of turns.
//!
//! Reading documents is `forms::workflow`'s; carrying a graph out is [`engine`](crate::engine)'s.

pub mod builder;
pub mod check;
pub mod draw;
pub mod ids;
#[cfg(test)]
mod random;
pub mod schema;
mod session_prompt;
pub mod template;
pub mod upper_bound;
pub mod walk;
pub mod workflow;

pub use session_prompt::{SessionPrompt, SessionPromptKind};
