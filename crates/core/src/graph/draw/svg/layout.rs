//! How large everything in the picture is. Structured blocks need no more than boxes in boxes.

use super::super::label::{clean, columns, lines};
use super::super::{Look, States};
use crate::engine::node::shape::Structure;
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{Act, IfNode, ParallelNode, Step, TaskLoopNode};

/// Around the picture.
pub(super) const MARGIN: usize = 24;
/// Around text, and between lanes.
pub(super) const PAD: usize = 10;
/// From line to line.
pub(super) const LINE: usize = 16;
/// From one part to the next.
pub(super) const ARROW: usize = 24;
/// A column of text is 7.3 pixels wide, and a little for other fonts.
const TENTHS_PER_COLUMN: usize = 76;

/// Parts below each other.
pub(super) struct Column {
    pub(super) parts: Vec<Part>,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) enum Part {
    Leaf(Leaf),
    Group(Group),
}

/// A node without anything in it.
pub(super) struct Leaf {
    pub(super) lines: Vec<String>,
    pub(super) look: Look,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A node with blocks in it, beside each other.
pub(super) struct Group {
    pub(super) lines: Vec<String>,
    pub(super) look: Look,
    pub(super) lanes: Vec<Lane>,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) struct Lane {
    pub(super) name: Option<String>,
    pub(super) column: Column,
}

impl Part {
    pub(super) fn width(&self) -> usize {
        match self {
            Part::Leaf(leaf) => leaf.width,
            Part::Group(group) => group.width,
        }
    }

    pub(super) fn height(&self) -> usize {
        match self {
            Part::Leaf(leaf) => leaf.height,
            Part::Group(group) => group.height,
        }
    }
}

impl Lane {
    pub(super) fn width(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| text_width(std::slice::from_ref(name)));
        self.column.width.max(name).max(4 * PAD)
    }

    fn height(&self) -> usize {
        self.column.height + if self.name.is_some() { LINE } else { 0 }
    }
}

/// The width of some lines.
pub(super) fn text_width(lines: &[String]) -> usize {
    (columns(lines) * TENTHS_PER_COLUMN).div_ceil(10)
}

/// Nodes one after the other.
pub(super) fn column(body: &[Step], states: &States, depth: usize) -> Column {
    stacked(body.iter().map(|step| part(step, states, depth)).collect())
}

fn stacked(parts: Vec<Part>) -> Column {
    let width = parts.iter().map(Part::width).max().unwrap_or(0);
    let arrows = parts.len().saturating_sub(1) * ARROW;
    let height = parts.iter().map(Part::height).sum::<usize>() + arrows;
    Column { parts, width, height }
}

fn part(step: &Step, states: &States, depth: usize) -> Part {
    let lines = lines(step, states);
    let look = Look::of(states.get(&step.id));
    let lanes = if depth < MAX_DEPTH { lanes(&step.act, states, depth + 1) } else { Vec::new() };
    if lanes.is_empty() {
        let (width, height) = (text_width(&lines) + 2 * PAD, lines.len() * LINE + 2 * PAD);
        return Part::Leaf(Leaf { lines, look, width, height });
    }
    let inner = lanes.iter().map(Lane::width).sum::<usize>() + PAD * (lanes.len() - 1);
    let width = inner.max(text_width(&lines)) + 2 * PAD;
    let tallest = lanes.iter().map(Lane::height).max().unwrap_or(0);
    let height = PAD + lines.len() * LINE + PAD + tallest + PAD;
    Part::Group(Group { lines, look, lanes, width, height })
}

fn lanes(act: &Act, states: &States, depth: usize) -> Vec<Lane> {
    let lane = |name: Option<&str>, body: &[Step]| Lane {
        name: name.map(clean),
        column: column(body, states, depth),
    };
    match act.shape().structure() {
        Structure::Either(IfNode { then, otherwise, .. }) => {
            vec![lane(Some("yes"), then), lane(Some("no"), otherwise)]
        }
        Structure::Rounds { body, .. } => {
            vec![lane(None, body)]
        }
        Structure::Tasks(TaskLoopNode { before_each, body, .. }) => {
            let steps = before_each.iter().chain(body);
            let column = stacked(steps.map(|step| part(step, states, depth)).collect());
            vec![Lane { name: None, column }]
        }
        Structure::Beside(ParallelNode { branches, .. }) => {
            branches.iter().map(|branch| lane(Some(&branch.name), &branch.body)).collect()
        }
        Structure::Leaf => Vec::new(),
    }
}
