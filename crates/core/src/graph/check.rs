//! Finds all mistakes in a workflow before it runs, in one pass.
//!
//! The check reads no files: [`CheckContext`] has all facts from outside the workflow. A diagnostic
//! names the node and the document key; `forms` adds the line and column.
//!
//! | rule | question |
//! |---|---|
//! | `surroundings` | Are `env`, `gives`, items and `finally` right? |
//! | [`structure`] | Are ids valid and unique, blocks non-empty and not too deep? |
//! | `texts`, `values` | Are templates well formed? Do their names and the parts of values exist? |
//! | `comparisons` | Can a value equal the literal it is compared with? |
//! | `commands` | Can the shell run an agent's words? Does `sh` understand the command? |
//! | `order` | Has a node run before another node uses its output? |
//! | `inputs` | Do defaults and choices fit their input? Is every input used? |
//! | `schemas` | Does Windlass support all keywords of a schema? |
//! | `session_tools` | Do the tools of a session exist? |
//! | `losses` | What does a session lose on its driver? |
//! | `continued` | Can a session continue the one that it names? |
//! | `entities`, `calls` | Do entities, checks, drivers and workflows exist and support the node? |
//! | `reach`, `bounds` | Is every node reachable? Does every loop end? Is the budget enough? |
//! | `effect` | Does every key have an effect? |
//! | `gates`, `branches` | Does every path to a landing pass a gate? Do branches collide? |
//!
//! `value_schemas` finds the schema of a value, and `origin` follows it to the node that computes it.
//! `dead_ends`, `alternatives` and `certainty` know which ways a run can have taken.

mod alternatives;
mod bounds;
mod branches;
mod calls;
mod certainty;
mod commands;
mod comparisons;
mod context;
mod continued;
mod dead_ends;
mod diagnostic;
mod effect;
mod entities;
mod gates;
mod inputs;
mod losses;
pub(crate) mod lower_bound;
mod order;
mod origin;
pub(crate) mod outline;
mod reach;
mod schemas;
mod session_tools;
pub mod structure;
pub(super) mod suggest;
mod surroundings;
#[cfg(test)]
mod tests;
mod texts;
mod value_schemas;
mod values;

pub use branches::beside_a_plugins_loop;
pub use context::{Ability, CheckContext};
pub use diagnostic::{GraphDiagnostic, GraphSeverity};
pub use suggest::nearest;

use super::workflow::Workflow;
use diagnostic::GraphDiagnostics;
use outline::Outline;

/// The missing knowledge about a workflow that could only be read in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnreadParts {
    /// True if nodes or some of their ids are missing.
    pub nodes: bool,
    /// True if the output of some node is unclear: the node has two kinds, or two nodes share its id.
    pub values: bool,
}

/// Returns all mistakes in a workflow: first those about the whole, then node by node in document
/// order.
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

/// Returns the mistakes in a workflow that could only be read in part. It reports only mistakes that
/// the unread part cannot repair. A missing part must not look like a loop without an end.
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

/// Runs the rules that also apply to an incomplete workflow.
fn look(outline: &Outline<'_>, known: &CheckContext<'_>, doubts: UnreadParts, found: &mut GraphDiagnostics) {
    texts::look(outline, known, doubts, found);
    order::look(outline, found);
    surroundings::look(outline, known, found);
    schemas::look(outline, found);
    session_tools::look(outline, found);
    entities::look(outline, known, found);
    losses::look(outline, known, found);
    calls::look(outline, known, found);
    continued::look(outline, known, found);
    if !doubts.nodes && !doubts.values {
        effect::look(outline, found);
    }
    reach::look(outline, found);
    bounds::look(outline, known, doubts, found);
    commands::look(outline, known, doubts, found);
    branches::look(outline, known, found);
}

/// Returns whether any node uses the input of the run. The workflow must not be too deep.
pub fn uses_input(workflow: &Workflow) -> bool {
    let outline = Outline::of(workflow);
    let mut uses = outline.texts().flat_map(|text| text.uses());
    uses.any(|used| used.root() == "input")
}
