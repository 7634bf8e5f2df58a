//! Workflows as pictures: in which language, for every verb that draws one.

use clap::ValueEnum;
use windlass_core::graph::draw::{States, dot, mermaid, svg};
use windlass_core::graph::workflow::Workflow;

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawFormat {
    Mermaid,
    Dot,
    Svg,
}

/// The picture of a workflow, with how its nodes fared.
pub(super) fn picture(format: DrawFormat, workflow: &Workflow, states: &States) -> String {
    match format {
        DrawFormat::Mermaid => mermaid(workflow, states),
        DrawFormat::Dot => dot(workflow, states),
        DrawFormat::Svg => svg(workflow, states),
    }
}
