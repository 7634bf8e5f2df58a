//! Everything that can be wrong with a workflow before it runs, in one pass.
//!
//! Pure: what there is to know of the world comes in as [`Known`]. A finding names the node and
//! the key of the document; where that stands in a file is `forms`' to say.
//!
//! | rule | asks |
//! |---|---|
//! | [`structure`] | is it a workflow at all: ids, depth, empty blocks |
//! | `texts`, `values` | are templates well formed, do their names exist, is there what is used of a value |
//! | `compared` | can a value be what it is compared with |
//! | `order` | has the node whose output is used run by then |
//! | `inputs` | do inputs agree with themselves |
//! | `schemas` | would an answer be held to all of its schema |
//! | `entities`, `calls` | do entities, checks, drivers and workflows exist, and can they |
//! | `reach`, `bounds` | is every node reached, does every loop end, is the budget enough |
//! | `gates`, `lanes` | does a gate hold on every way to a landing, do branches collide |

mod bounds;
mod branches;
mod calls;
mod comparisons;
mod context;
mod diagnostic;
mod entities;
mod gates;
mod inputs;
pub(crate) mod lower_bound;
mod order;
pub(crate) mod outline;
mod reach;
mod schemas;
pub mod structure;
pub(super) mod suggest;
#[cfg(test)]
mod tests;
mod texts;
mod values;

pub use branches::beside_a_plugins_loop;
pub use context::{Ability, CheckContext};
pub use diagnostic::{GraphDiagnostic, GraphSeverity};

use super::workflow::Workflow;
use diagnostic::GraphDiagnostics;
use outline::Outline;

/// What nobody knows of a workflow of which a part could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnreadParts {
    /// Nodes, or the ids of some, are missing.
    pub nodes: bool,
    /// What some node gives: it does two things, or two have its id.
    pub values: bool,
}

/// All that is wrong with a workflow: first what concerns all of it, then node by node in the
/// order of the text.
pub fn check(workflow: &Workflow, known: &CheckContext<'_>) -> Vec<GraphDiagnostic> {
    let too_deep = structure::too_deep(workflow);
    if !too_deep.is_empty() {
        return too_deep;
    }
    let outline = Outline::of(workflow);
    let mut found = GraphDiagnostics::default();
    structure::look(&outline, &mut found);
    inputs::look(&outline, &mut found);
    gates::look(&outline, &mut found);
    look(&outline, known, UnreadParts::default(), &mut found);
    found.in_order()
}

/// What is wrong with a workflow of which a part could not be read, whatever that part says. What
/// is missing must not look like a loop without an end.
pub fn check_part(
    workflow: &Workflow,
    known: &CheckContext<'_>,
    unread: UnreadParts,
) -> Vec<GraphDiagnostic> {
    if !structure::too_deep(workflow).is_empty() {
        return Vec::new();
    }
    let outline = Outline::of(workflow);
    let mut found = GraphDiagnostics::default();
    look(&outline, known, unread, &mut found);
    found.in_order()
}

/// What can be told of the parts that are there.
fn look(outline: &Outline<'_>, known: &CheckContext<'_>, doubts: UnreadParts, found: &mut GraphDiagnostics) {
    texts::look(outline, known, doubts, found);
    order::look(outline, found);
    schemas::look(outline, found);
    entities::look(outline, known, found);
    calls::look(outline, known, found);
    reach::look(outline, found);
    bounds::look(outline, known, found);
    branches::look(outline, known, found);
}

/// Whether a node of a workflow uses its INPUT. It must not be too deep.
pub fn uses_input(workflow: &Workflow) -> bool {
    let outline = Outline::of(workflow);
    let mut uses = outline.nodes.iter().flat_map(|node| &node.texts).flat_map(|text| text.uses());
    uses.any(|used| used.root() == "input")
}
