//! The properties of a kind of node that checks, bounds and pictures use before a run.

use serde_json::Value;

pub(crate) use super::rounds::RoundsEnd;
use super::{EachNode, IfNode, ParallelBranch, ParallelNode, TaskLoopNode, TryNode, WorkflowNode};
use crate::engine::rehearsal::StubField;
use crate::graph::check::lower_bound::LowerBound;
use crate::graph::check::outline::Text;
use crate::graph::upper_bound::UpperBound;
use crate::graph::workflow::{Node, Template};

/// The properties of a kind of node, by its definition alone.
pub(crate) trait NodeShape {
    /// Returns the key of this kind in a workflow document.
    fn word(&self) -> &'static str;

    /// Returns the id of a node without an explicit one.
    fn default_id(&self) -> String {
        self.word().to_owned()
    }

    /// Describes the node to people who see it start.
    fn about(&self) -> Option<String> {
        None
    }

    /// Describes the node in a picture.
    fn label(&self) -> String {
        self.word().replace('_', " ")
    }

    /// Decides whether runs support it.
    fn can_run(&self) -> bool {
        true
    }

    /// Decides whether it names a command, a skill or an agent.
    fn names_entity(&self) -> bool {
        false
    }

    /// Decides whether its output describes the failure when it fails.
    fn output_tells_failure(&self) -> bool {
        false
    }

    /// Decides whether it always fails, so that nothing follows it.
    fn always_fails(&self) -> bool {
        false
    }

    /// Decides whether people count it as a step: it does something itself.
    fn is_step(&self) -> bool {
        matches!(self.structure(), Structure::Leaf) && !self.always_fails()
    }

    /// Decides whether it runs a command line, whose output has an exit code.
    fn is_command(&self) -> bool {
        false
    }

    /// Returns the nodes inside it, and the order in which they run.
    fn structure(&self) -> Structure<'_> {
        Structure::Leaf
    }

    /// Returns the sequences inside it, to change them.
    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        Vec::new()
    }

    /// Returns its templates and conditions, except `when`.
    fn texts(&self) -> Vec<Text> {
        Vec::new()
    }

    /// Returns its effect on the work, to find work that nothing checks.
    fn role(&self) -> NodeRole {
        NodeRole::Aside
    }

    /// Returns the maximum number of turns that it takes itself.
    fn most_turns(&self, _step: &Node) -> UpperBound {
        UpperBound::AtMost(0)
    }

    /// Returns the minimum that it needs itself.
    fn least(&self) -> LowerBound {
        LowerBound::default()
    }

    /// Returns the workflow that it runs.
    fn calls(&self) -> Option<&WorkflowNode> {
        None
    }

    /// Describes the value that it outputs.
    fn value(&self) -> GivenValue<'_> {
        GivenValue::Unknown
    }

    /// Returns the fields that a stub result of it may have. Empty if it has no result of its own.
    fn stub_fields(&self) -> &'static [StubField] {
        &[]
    }

    /// Returns how a rehearsal plays a kind that runs do not support yet.
    fn stand_in(&self) -> StandIn {
        StandIn::default()
    }
}

/// The nodes inside a node, and the order in which they run.
#[derive(Clone, Copy)]
pub(crate) enum Structure<'w> {
    Leaf,
    /// One of two branches.
    Either(&'w IfNode),
    /// The same nodes repeatedly.
    Rounds {
        /// The condition that ends the loop early.
        ends: RoundsEnd<'w>,
        /// The maximum number of iterations. 0 means no limit.
        max: u32,
        body: &'w [Node],
    },
    /// One iteration for each task of a file.
    Tasks(&'w TaskLoopNode),
    /// Several sequences at once.
    Beside(&'w ParallelNode),
    /// Nodes that may fail, and the nodes that run then.
    Guarded(&'w TryNode),
    /// The same nodes once for each item of a list.
    Items(&'w EachNode),
    /// Nodes that run at the end of the run.
    Last(&'w [Node]),
}

/// The part that a rehearsal plays for a kind that runs do not support yet.
#[derive(Default)]
pub(crate) struct StandIn {
    /// The templates that the node would render, by name.
    pub(crate) texts: Vec<(&'static str, Template)>,
    /// The value that it would output.
    pub(crate) value: Option<Value>,
}

/// The effect of a node on the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeRole {
    /// The node changes the work.
    Work,
    /// The node inspects the work and fails if it is not good.
    Gate,
    /// A person inspects the work. Their answer alone stops nothing.
    Answer,
    /// The node moves the work to where others build on it.
    Landing,
    /// The node shows the work to people, who inspect it before they accept it.
    Proposal,
    /// The node does nothing to the work.
    Aside,
}

/// The known facts about the value that a node outputs.
#[derive(Clone, Copy)]
pub(crate) enum GivenValue<'n> {
    Unknown,
    /// The node outputs only text.
    OnlyText,
    /// The answer of an agent by this schema. `None` means no value.
    Answer(Option<&'n Value>),
    /// These fields.
    Fields(&'static [(&'static str, FieldKind)]),
    /// The result of each of these checks. Empty means all checks.
    Checks(&'n [String]),
    /// The status of each branch.
    Branches(&'n [ParallelBranch]),
    /// The items of a list and their results.
    Items,
    /// The value of the last node of another workflow.
    Called(&'n str),
}

/// The kind of a field in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Number,
    Truth,
}

impl FieldKind {
    /// Describes the kind.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FieldKind::Number => "a number",
            FieldKind::Truth => "true or false",
        }
    }

    /// Returns the type in a JSON Schema.
    pub(crate) fn schema_type(self) -> &'static str {
        match self {
            FieldKind::Number => "integer",
            FieldKind::Truth => "boolean",
        }
    }
}

/// Formats a limit on iterations for a picture.
pub(super) fn times(max: u32) -> String {
    if max == 0 { String::new() } else { format!(" ≤ {max}×") }
}
