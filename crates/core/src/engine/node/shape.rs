//! What the walks through a workflow ask of a kind of node, before it runs: checks, bounds, pictures.

use serde_json::Value;

pub(crate) use super::rounds::RoundsEnd;
use super::{IfNode, ParallelBranch, ParallelNode, TaskLoopNode, WorkflowNode};
use crate::graph::check::lower_bound::LowerBound;
use crate::graph::check::outline::Text;
use crate::graph::upper_bound::UpperBound;
use crate::graph::workflow::Node;

/// What a kind of node is, by its definition alone.
pub(crate) trait NodeShape {
    /// Returns the key that says it in a document.
    fn word(&self) -> &'static str;

    /// Returns the id of a node that nobody named.
    fn default_id(&self) -> String {
        self.word().to_owned()
    }

    /// Says what it is about, for people who see it begin.
    fn about(&self) -> Option<String> {
        None
    }

    /// Says what it does, in a picture.
    fn label(&self) -> String {
        self.word().replace('_', " ")
    }

    /// Whether runs can carry it out.
    fn can_run(&self) -> bool {
        true
    }

    /// Whether it names a command, a skill or an agent.
    fn names_entity(&self) -> bool {
        false
    }

    /// Whether its output says what went wrong when it failed.
    fn output_tells_failure(&self) -> bool {
        false
    }

    /// Returns the nodes inside it, and how they follow each other.
    fn structure(&self) -> Structure<'_> {
        Structure::Leaf
    }

    /// Returns the sequences inside it, to change them.
    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        Vec::new()
    }

    /// Returns its templates and conditions, but for `when`.
    fn texts(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns what it does to the work, for whoever asks whether that was checked.
    fn role(&self) -> NodeRole {
        NodeRole::Aside
    }

    /// Returns the most turns that it takes itself.
    fn most_turns(&self, _step: &Node) -> UpperBound {
        UpperBound::AtMost(0)
    }

    /// Returns the least that it needs itself.
    fn least(&self) -> LowerBound {
        LowerBound::default()
    }

    /// Returns the workflow it runs.
    fn calls(&self) -> Option<&WorkflowNode> {
        None
    }

    /// Returns what is known of the value it gives.
    fn value(&self) -> GivenValue<'_> {
        GivenValue::Unknown
    }
}

/// The nodes inside a node, and how they follow each other.
#[derive(Clone, Copy)]
pub(crate) enum Structure<'w> {
    /// There are none.
    Leaf,
    /// One of two ways.
    Either(&'w IfNode),
    /// The same again.
    Rounds {
        /// What ends it before its last round.
        ends: RoundsEnd<'w>,
        /// Rounds at most; 0 is without bound.
        max: u32,
        /// What is done in each round.
        body: &'w [Node],
    },
    /// A round for each task of a file.
    Tasks(&'w TaskLoopNode),
    /// Several sequences at once.
    Beside(&'w ParallelNode),
}

/// What a node without others in it does to the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeRole {
    /// It changes the work.
    Work,
    /// It looks at the work, and fails where that is not good.
    Gate,
    /// A person looks at it, and the answer holds nothing back by itself.
    Answer,
    /// It brings the work where others build on it.
    Landing,
    /// It shows the work to people, who look before they take it.
    Proposal,
    /// It does nothing to it.
    Aside,
}

/// What is known of the value that a node gives.
#[derive(Clone, Copy)]
pub(crate) enum GivenValue<'n> {
    /// Nothing.
    Unknown,
    /// It gives text alone.
    OnlyText,
    /// The answer of an agent, by this schema; none where it gives no value.
    Answer(Option<&'n Value>),
    /// These names, each of a kind.
    Fields(&'static [(&'static str, FieldKind)]),
    /// Whether each of these checks passed; of all of them where none is named.
    Checks(&'n [String]),
    /// How each branch ended.
    Branches(&'n [ParallelBranch]),
    /// The value of the last node of another workflow.
    Called(&'n str),
}

/// What a part of a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// A whole number.
    Number,
    /// True or false.
    Truth,
}

impl FieldKind {
    /// Says what it is.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FieldKind::Number => "a number",
            FieldKind::Truth => "true or false",
        }
    }

    /// Returns its type in a JSON Schema.
    pub(crate) fn schema_type(self) -> &'static str {
        match self {
            FieldKind::Number => "integer",
            FieldKind::Truth => "boolean",
        }
    }
}

/// A bound on rounds, as a picture shows it.
pub(super) fn times(max: u32) -> String {
    if max == 0 { String::new() } else { format!(" ≤ {max}×") }
}
