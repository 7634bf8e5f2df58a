//! Diagrams of a workflow: Mermaid, DOT, SVG and a tree of text, with or without the state of a run.
//!
//! Names and texts of a workflow are untrusted: each format escapes them, and invisible characters
//! are removed. The caller passes times and costs as text.

mod dot;
mod flow;
mod label;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;
pub use tree::{TreeCharacters, tree};

use crate::id::NodeId;

/// The states of the nodes of a run; empty for a workflow without a run.
pub type States = BTreeMap<NodeId, DrawnState>;

/// The state of a node in a diagram.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DrawnState {
    /// The state: `running`, `completed`, `failed`, `waiting` and `skipped` have colours, other words
    /// have none.
    pub word: String,
    pub time: Option<String>,
    pub cost: Option<String>,
}

/// The look of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateStyle {
    Plain,
    Running,
    Completed,
    Failed,
    Waiting,
    Skipped,
}

impl StateStyle {
    const ALL: [StateStyle; 5] = [
        StateStyle::Running,
        StateStyle::Completed,
        StateStyle::Failed,
        StateStyle::Waiting,
        StateStyle::Skipped,
    ];

    fn of(state: Option<&DrawnState>) -> StateStyle {
        let Some(state) = state else { return StateStyle::Plain };
        StateStyle::ALL.into_iter().find(|look| look.word() == state.word).unwrap_or(StateStyle::Plain)
    }

    fn word(self) -> &'static str {
        match self {
            StateStyle::Plain => "plain",
            StateStyle::Running => "running",
            StateStyle::Completed => "completed",
            StateStyle::Failed => "failed",
            StateStyle::Waiting => "waiting",
            StateStyle::Skipped => "skipped",
        }
    }

    /// Returns the colour of the border, which must be readable on white and on black.
    fn colour(self) -> &'static str {
        match self {
            StateStyle::Plain => "#7d8590",
            StateStyle::Running => "#2f81f7",
            StateStyle::Completed => "#2da44e",
            StateStyle::Failed => "#e5534b",
            StateStyle::Waiting => "#bf8700",
            StateStyle::Skipped => "#a0a7ae",
        }
    }
}
