//! Draws a workflow in Mermaid, for Markdown pages and pull requests.

use std::fmt::Write;

use super::flow::{Flow, FlowPart, FlowShape};
use super::{StateStyle, States};
use crate::graph::workflow::Workflow;

/// Draws a workflow as a Mermaid flowchart.
pub fn mermaid(workflow: &Workflow, states: &States) -> String {
    let flow = Flow::of(workflow, states);
    let mut text = String::from("flowchart TD\n");
    let mut margin = 1;
    for part in &flow.parts {
        margin -= usize::from(matches!(part, FlowPart::Close));
        text.push_str(&"  ".repeat(margin));
        let _ = match part {
            FlowPart::Shape { number, form, lines, look } => {
                let (open, close) = form.signs();
                let label: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
                let class =
                    if *look == StateStyle::Plain { String::new() } else { format!(":::{}", look.word()) };
                writeln!(text, "n{number}{open}\"{}\"{close}{class}", label.join("<br/>"))
            }
            FlowPart::Open { number, title } => writeln!(text, "subgraph c{number}[\"{}\"]", escaped(title)),
            FlowPart::Close => writeln!(text, "end"),
        };
        margin += usize::from(matches!(part, FlowPart::Open { .. }));
    }
    for arrow in &flow.arrows {
        let label = if arrow.label.is_empty() { String::new() } else { format!("|{}|", arrow.label) };
        let _ = writeln!(text, "  n{} -->{label} n{}", arrow.from, arrow.to);
    }
    if !states.is_empty() {
        for look in StateStyle::ALL {
            let _ = writeln!(text, "  classDef {} stroke:{},stroke-width:2px", look.word(), look.colour());
        }
    }
    text
}

impl FlowShape {
    fn signs(self) -> (&'static str, &'static str) {
        match self {
            FlowShape::Round => ("([", "])"),
            FlowShape::Box => ("[", "]"),
            FlowShape::Diamond => ("{", "}"),
            FlowShape::Hexagon => ("{{", "}}"),
            FlowShape::Bar => ("[/", "/]"),
        }
    }
}

/// Writes every character that is or could become special in Mermaid as its number.
fn escaped(line: &str) -> String {
    let mut text = String::new();
    for letter in line.chars() {
        let is_harmless =
            letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_' | '.' | ',' | '…' | '·');
        if is_harmless {
            text.push(letter);
        } else {
            let _ = write!(text, "#{};", u32::from(letter));
        }
    }
    text
}
