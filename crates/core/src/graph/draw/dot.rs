//! Draws a workflow in DOT, the language of Graphviz.

use std::fmt::Write;

use super::flow::{Flow, FlowPart, FlowShape};
use super::label::title;
use super::{StateStyle, States};
use crate::graph::workflow::Workflow;

/// Draws a workflow as a DOT digraph.
pub fn dot(workflow: &Workflow, states: &States) -> String {
    let flow = Flow::of(workflow, states);
    let mut text = format!("digraph \"{}\" {{\n", escaped(&title(workflow)));
    text.push_str("  node [fontname=\"monospace\", fontsize=10];\n");
    text.push_str("  edge [fontname=\"monospace\", fontsize=9];\n");
    let mut margin = 1;
    for part in &flow.parts {
        margin -= usize::from(matches!(part, FlowPart::Close));
        text.push_str(&"  ".repeat(margin));
        let _ = match part {
            FlowPart::Shape { number, form, lines, look } => {
                let label: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
                let (label, shape) = (label.join("\\n"), form.shape());
                let colour = match look {
                    StateStyle::Plain => String::new(),
                    look => format!(", color=\"{}\", penwidth=2", look.colour()),
                };
                writeln!(text, "n{number} [label=\"{label}\", {shape}{colour}];")
            }
            FlowPart::Open { number, title } => {
                writeln!(text, "subgraph cluster_{number} {{ label=\"{}\"; style=dashed;", escaped(title))
            }
            FlowPart::Close => writeln!(text, "}}"),
        };
        margin += usize::from(matches!(part, FlowPart::Open { .. }));
    }
    for arrow in &flow.arrows {
        let label =
            if arrow.label.is_empty() { String::new() } else { format!(" [label=\"{}\"]", arrow.label) };
        let _ = writeln!(text, "  n{} -> n{}{label};", arrow.from, arrow.to);
    }
    text.push_str("}\n");
    text
}

impl FlowShape {
    fn shape(self) -> &'static str {
        match self {
            FlowShape::Round => "shape=oval",
            FlowShape::Box => "shape=box, style=rounded",
            FlowShape::Diamond => "shape=diamond",
            FlowShape::Hexagon => "shape=hexagon",
            FlowShape::Bar => "shape=box",
        }
    }
}

/// Escapes the two characters that are special inside quotes: the quote and the backslash.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"")
}
