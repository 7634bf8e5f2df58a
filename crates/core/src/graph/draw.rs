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
pub type States = BTreeMap<NodeId, NodeState>;

/// How a node fared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeState {
    /// In a word: `running`, `completed`, `failed`, `waiting`, `skipped`; these have colours.
    pub word: String,
    /// How long it took.
    pub time: Option<String>,
    /// What it cost.
    pub cost: Option<String>,
}

/// What a state looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Running,
    Completed,
    Failed,
    Waiting,
    Skipped,
}

impl Look {
    const ALL: [Look; 5] = [Look::Running, Look::Completed, Look::Failed, Look::Waiting, Look::Skipped];

    fn of(state: Option<&NodeState>) -> Look {
        let Some(state) = state else { return Look::Plain };
        Look::ALL.into_iter().find(|look| look.word() == state.word).unwrap_or(Look::Plain)
    }

    fn word(self) -> &'static str {
        match self {
            Look::Plain => "plain",
            Look::Running => "running",
            Look::Completed => "completed",
            Look::Failed => "failed",
            Look::Waiting => "waiting",
            Look::Skipped => "skipped",
        }
    }

    /// The colour of the border, readable on white and on black.
    fn colour(self) -> &'static str {
        match self {
            Look::Plain => "#7d8590",
            Look::Running => "#2f81f7",
            Look::Completed => "#2da44e",
            Look::Failed => "#e5534b",
            Look::Waiting => "#bf8700",
            Look::Skipped => "#a0a7ae",
        }
    }
}
