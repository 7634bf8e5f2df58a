//! Draws workflows, for every verb that can.

use clap::ValueEnum;
use windlass_core::graph::draw::{States, TreeCharacters, dot, mermaid, svg, tree};
use windlass_core::graph::workflow::Workflow;

use super::sanitize::shorten;
use super::terminal::Terminal;

/// The language of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawFormat {
    /// A tree of text
    Tree,
    Mermaid,
    Dot,
    Svg,
}

impl DrawFormat {
    /// Returns the format of a drawing for which a person named none.
    pub(super) fn default_for(screen: Terminal, json: bool) -> DrawFormat {
        if screen.is_terminal && !json { DrawFormat::Tree } else { DrawFormat::Mermaid }
    }
}

/// Draws a workflow with the state of each node.
pub(super) fn picture(format: DrawFormat, workflow: &Workflow, states: &States, screen: Terminal) -> String {
    match format {
        DrawFormat::Tree => {
            let characters = if screen.unicode { TreeCharacters::Unicode } else { TreeCharacters::Ascii };
            let drawn = tree(workflow, states, characters);
            let width = screen.limit().unwrap_or(usize::MAX);
            drawn.lines().map(|line| format!("{}\n", shorten(line, width))).collect()
        }
        DrawFormat::Mermaid => mermaid(workflow, states),
        DrawFormat::Dot => dot(workflow, states),
        DrawFormat::Svg => svg(workflow, states),
    }
}
