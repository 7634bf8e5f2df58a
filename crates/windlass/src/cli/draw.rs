//! Draws workflows, for every verb that can.

use clap::ValueEnum;
use windlass_core::graph::draw::{States, dot, mermaid, svg};
use windlass_core::graph::workflow::Workflow;

/// The language of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawFormat {
    Mermaid,
    Dot,
    Svg,
}

/// Draws a workflow with the state of each node.
pub(super) fn picture(format: DrawFormat, workflow: &Workflow, states: &States) -> String {
    match format {
        DrawFormat::Mermaid => mermaid(workflow, states),
        DrawFormat::Dot => dot(workflow, states),
        DrawFormat::Svg => svg(workflow, states),
    }
}
