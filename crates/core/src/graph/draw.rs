//! Pictures of a workflow: Mermaid, DOT and SVG, with or without how a run fared.
//!
//! Names and texts of a workflow are strangers' words: each format escapes them, and what cannot
//! be seen is left out. Times and costs come in as text.

mod dot;
mod flow;
mod label;
mod mermaid;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::svg;

use crate::id::NodeId;

/// How nodes of a run fared; empty for a workflow that does not run.
pub type States = BTreeMap<NodeId, DrawnState>;

/// How a node fared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DrawnState {
    /// In a word: `running`, `completed`, `failed`, `waiting`, `skipped`; these have colours.
    pub word: String,
    /// How long it took.
    pub time: Option<String>,
    /// What it cost.
    pub cost: Option<String>,
}

/// What a state looks like.
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

    /// The colour of the border, readable on white and on black.
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
