//! Computes the sizes in the picture. Structured blocks need only nested boxes.

use super::super::label::{clean, columns, lines};
use super::super::{StateStyle, States};
use crate::engine::node::shape::Structure;
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{EachNode, IfNode, Node, NodeKind, ParallelNode, TaskLoopNode, TryNode};

/// The space around the picture.
pub(super) const MARGIN: usize = 24;
/// The space around text and between branches.
pub(super) const PAD: usize = 10;
/// The height of a line of text.
pub(super) const LINE: usize = 16;
/// The length of an arrow between two parts.
pub(super) const ARROW: usize = 24;
/// The width of a character in tenths of a pixel: 7.3 pixels, and a margin for other fonts.
const TENTHS_PER_COLUMN: usize = 76;

pub(super) struct Column {
    pub(super) parts: Vec<LayoutPart>,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) enum LayoutPart {
    Leaf(Leaf),
    Group(ColumnGroup),
}

/// A node without blocks.
pub(super) struct Leaf {
    pub(super) lines: Vec<String>,
    pub(super) look: StateStyle,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A node with blocks, which are drawn side by side.
pub(super) struct ColumnGroup {
    pub(super) lines: Vec<String>,
    pub(super) look: StateStyle,
    pub(super) lanes: Vec<BranchColumn>,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) struct BranchColumn {
    pub(super) name: Option<String>,
    pub(super) column: Column,
}

impl LayoutPart {
    pub(super) fn width(&self) -> usize {
        match self {
            LayoutPart::Leaf(leaf) => leaf.width,
            LayoutPart::Group(group) => group.width,
        }
    }

    pub(super) fn height(&self) -> usize {
        match self {
            LayoutPart::Leaf(leaf) => leaf.height,
            LayoutPart::Group(group) => group.height,
        }
    }
}

impl BranchColumn {
    pub(super) fn width(&self) -> usize {
        let name = self.name.as_ref().map_or(0, |name| text_width(std::slice::from_ref(name)));
        self.column.width.max(name).max(4 * PAD)
    }

    fn height(&self) -> usize {
        self.column.height + if self.name.is_some() { LINE } else { 0 }
    }
}

/// Returns the width of the widest line in pixels.
pub(super) fn text_width(lines: &[String]) -> usize {
    (columns(lines) * TENTHS_PER_COLUMN).div_ceil(10)
}

/// Lays out nodes below each other.
pub(super) fn column(body: &[Node], states: &States, depth: usize) -> Column {
    stacked(body.iter().map(|node| part(node, states, depth)).collect())
}

fn stacked(parts: Vec<LayoutPart>) -> Column {
    let width = parts.iter().map(LayoutPart::width).max().unwrap_or(0);
    let arrows = parts.len().saturating_sub(1) * ARROW;
    let height = parts.iter().map(LayoutPart::height).sum::<usize>() + arrows;
    Column { parts, width, height }
}

fn part(node: &Node, states: &States, depth: usize) -> LayoutPart {
    let lines = lines(node, states);
    let look = StateStyle::of(states.get(&node.id));
    let lanes = if depth < MAX_DEPTH { lanes(&node.kind, states, depth + 1) } else { Vec::new() };
    if lanes.is_empty() {
        let (width, height) = (text_width(&lines) + 2 * PAD, lines.len() * LINE + 2 * PAD);
        return LayoutPart::Leaf(Leaf { lines, look, width, height });
    }
    let inner = lanes.iter().map(BranchColumn::width).sum::<usize>() + PAD * (lanes.len() - 1);
    let width = inner.max(text_width(&lines)) + 2 * PAD;
    let tallest = lanes.iter().map(BranchColumn::height).max().unwrap_or(0);
    let height = PAD + lines.len() * LINE + PAD + tallest + PAD;
    LayoutPart::Group(ColumnGroup { lines, look, lanes, width, height })
}

fn lanes(kind: &NodeKind, states: &States, depth: usize) -> Vec<BranchColumn> {
    let lane = |name: Option<&str>, body: &[Node]| BranchColumn {
        name: name.map(clean),
        column: column(body, states, depth),
    };
    match kind.shape().structure() {
        Structure::Either(IfNode { then, otherwise, .. }) => {
            vec![lane(Some("yes"), then), lane(Some("no"), otherwise)]
        }
        Structure::Items(EachNode { body, .. }) => vec![lane(None, body)],
        Structure::Rounds { body, .. } | Structure::Last(body) => {
            vec![lane(None, body)]
        }
        Structure::Tasks(TaskLoopNode { before_each, body, .. }) => {
            let steps = before_each.iter().chain(body);
            let column = stacked(steps.map(|node| part(node, states, depth)).collect());
            vec![BranchColumn { name: None, column }]
        }
        Structure::Beside(ParallelNode { branches, .. }) => {
            branches.iter().map(|branch| lane(Some(&branch.name), &branch.body)).collect()
        }
        Structure::Guarded(TryNode { body, catch }) => {
            vec![lane(None, body), lane(Some("failed"), catch)]
        }
        Structure::Leaf => Vec::new(),
    }
}
