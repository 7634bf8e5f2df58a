//! Workflows as graphs. Documents and the Rust builder both produce this form.
//!
//! - [`workflow`]: the graph itself, in structured blocks without gotos.
//! - [`builder`]: builds a workflow in Rust; [`ids`]: default names for nodes.
//! - [`template`]: templates and conditions, rendered with the values of a run.
//! - [`mod@check`]: finds mistakes before a run; [`upper_bound`]: the most turns a run can take.
//! - [`schema`]: checks an agent's answer against a JSON Schema.
//! - [`draw`]: diagrams of a workflow.
//! - [`SessionPrompt`]: a session node as the engine runs it, a single prompt or a loop of turns.
//!
//! `forms::workflow` reads documents; [`engine`](crate::engine) runs a graph.

pub mod builder;
pub mod check;
mod computed;
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
