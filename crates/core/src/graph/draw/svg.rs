//! Draws a workflow as an SVG: blocks are nested boxes, branches are columns.
//!
//! The picture has no scripts, links or external fonts, and is readable in light and dark mode.
//! [`layout`] computes the sizes.

mod layout;

use std::fmt::Write;

use super::label::title;
use super::{StateStyle, States};
use crate::graph::workflow::Workflow;
use layout::{ARROW, Column, ColumnGroup, LINE, LayoutPart, Leaf, MARGIN, PAD, column};

const STYLE: &str = "\
.paper{fill:#ffffff}.box{fill:#ffffff;stroke:#7d8590}.group{fill:none;stroke:#7d8590;stroke-dasharray:4 3}\
.way{stroke:#7d8590;fill:none}.head{fill:#7d8590}\
text{font:12px ui-monospace,monospace;fill:#1f2328}.name{font-weight:bold}.dim{fill:#59636e}\
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}.box{fill:#161b22}text{fill:#e6edf3}.dim{fill:#9198a1}}";

/// Draws a workflow as an SVG document.
pub fn svg(workflow: &Workflow, states: &States) -> String {
    let column = column(&workflow.body, states, 0);
    let heading = vec![title(workflow)];
    let width = column.width.max(layout::text_width(&heading)) + 2 * MARGIN;
    let height = column.height + 3 * MARGIN;
    let mut paper = Paper { text: String::new() };
    let name = escaped(&title(workflow));
    paper.write(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<title>{name}</title>\n<style>{STYLE}{}</style>\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n\
         <text class=\"name\" x=\"{MARGIN}\" y=\"{}\">{name}</text>\n",
        colours(),
        MARGIN + LINE / 2,
    ));
    paper.column(&column, MARGIN, 2 * MARGIN, width - 2 * MARGIN);
    paper.text.push_str("</svg>\n");
    paper.text
}

fn colours() -> String {
    let rule = |look: StateStyle| format!(".{}{{stroke:{};stroke-width:2}}", look.word(), look.colour());
    StateStyle::ALL.map(rule).concat()
}

/// The SVG text so far.
struct Paper {
    text: String,
}

impl Paper {
    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(what);
    }

    /// Draws parts below each other, centred in the width.
    fn column(&mut self, column: &Column, x: usize, y: usize, width: usize) {
        let middle = x + width / 2;
        let mut y = y;
        for (place, part) in column.parts.iter().enumerate() {
            if place > 0 {
                self.arrow(middle, y, y + ARROW);
                y += ARROW;
            }
            let left = middle.saturating_sub(part.width() / 2);
            match part {
                LayoutPart::Leaf(leaf) => self.leaf(leaf, left, y),
                LayoutPart::Group(group) => self.group(group, left, y),
            }
            y += part.height();
        }
    }

    fn leaf(&mut self, leaf: &Leaf, x: usize, y: usize) {
        let (width, height, look) = (leaf.width, leaf.height, leaf.look.word());
        self.write(format_args!(
            "<rect class=\"box {look}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n"
        ));
        self.lines(&leaf.lines, x + PAD, y + PAD);
    }

    fn group(&mut self, group: &ColumnGroup, x: usize, y: usize) {
        let (width, height, look) = (group.width, group.height, group.look.word());
        self.write(format_args!(
            "<rect class=\"group {look}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n"
        ));
        self.lines(&group.lines, x + PAD, y + PAD);
        let top = y + PAD + group.lines.len() * LINE + PAD;
        let lanes: usize = group.lanes.iter().map(|lane| lane.width()).sum();
        // If the title is wider than the branches, they share the extra width.
        let spare = width.saturating_sub(PAD + lanes + PAD * group.lanes.len()) / group.lanes.len().max(1);
        let mut left = x + PAD;
        for lane in &group.lanes {
            let room = lane.width() + spare;
            let mut begin = top;
            if let Some(name) = &lane.name {
                let (middle, base) = (left + room / 2, top + LINE - 4);
                let name = escaped(name);
                self.write(format_args!(
                    "<text class=\"dim\" text-anchor=\"middle\" x=\"{middle}\" y=\"{base}\">{name}</text>\n"
                ));
                begin += LINE;
            }
            self.column(&lane.column, left, begin, room);
            left += room + PAD;
        }
    }

    fn lines(&mut self, lines: &[String], x: usize, y: usize) {
        for (place, line) in lines.iter().enumerate() {
            let class = if place == 0 { "name" } else { "dim" };
            let (base, line) = (y + place * LINE + LINE - 4, escaped(line));
            self.write(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{base}\">{line}</text>\n"));
        }
    }

    fn arrow(&mut self, x: usize, from: usize, to: usize) {
        let (left, right, neck) = (x.saturating_sub(4), x + 4, to.saturating_sub(7));
        self.write(format_args!(
            "<path class=\"way\" d=\"M{x} {from}V{neck}\"/>\
             <path class=\"head\" d=\"M{left} {neck}H{right}L{x} {to}Z\"/>\n"
        ));
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
