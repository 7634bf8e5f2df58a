//! A workflow as shapes and arrows, for the formats whose tools compute the layout.

use super::label::{clean, lines};
use super::{StateStyle, States};
use crate::engine::node::shape::Structure;
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{
    EachNode, IfNode, Node, OnFailure, ParallelNode, TaskLoopNode, TryNode, Workflow,
};

/// Shapes, arrows, and frames around shapes.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The parts in drawing order.
    pub(super) parts: Vec<FlowPart>,
    pub(super) arrows: Vec<Arrow>,
    /// The nodes that always fail and that nothing catches. Only `finally` follows them.
    failures: Vec<FlowExit>,
    shapes: usize,
    frames: usize,
}

/// A part of the drawing. Frames nest: each `Open` has its `Close`.
#[derive(Debug)]
pub(super) enum FlowPart {
    Shape { number: usize, form: FlowShape, lines: Vec<String>, look: StateStyle },
    Open { number: usize, title: String },
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowShape {
    /// The start and the end.
    Round,
    Box,
    /// A decision.
    Diamond,
    /// The head of a loop.
    Hexagon,
    /// The start and the join of parallel branches.
    Bar,
}

#[derive(Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: &'static str,
}

/// A shape that an arrow leaves, and the label of the arrow.
type FlowExit = (usize, &'static str);

impl Flow {
    pub(super) fn of(workflow: &Workflow, states: &States) -> Flow {
        let mut flow = Flow::default();
        let start = flow.shape(FlowShape::Round, vec!["start".to_owned()], StateStyle::Plain);
        let exits = flow.sequence(&workflow.body, vec![(start, "")], states, 0);
        let end = flow.shape(FlowShape::Round, vec!["end".to_owned()], StateStyle::Plain);
        flow.lead(&exits, end);
        flow
    }

    fn shape(&mut self, form: FlowShape, lines: Vec<String>, look: StateStyle) -> usize {
        let number = self.shapes;
        self.shapes += 1;
        self.parts.push(FlowPart::Shape { number, form, lines, look });
        number
    }

    fn frame(&mut self, title: String, inside: impl FnOnce(&mut Flow)) {
        let number = self.frames;
        self.frames += 1;
        self.parts.push(FlowPart::Open { number, title });
        inside(self);
        self.parts.push(FlowPart::Close);
    }

    fn lead(&mut self, exits: &[FlowExit], to: usize) {
        self.arrows.extend(exits.iter().map(|(from, label)| Arrow { from: *from, to, label }));
    }

    fn sequence(
        &mut self,
        body: &[Node],
        entry: Vec<FlowExit>,
        states: &States,
        depth: usize,
    ) -> Vec<FlowExit> {
        if depth > MAX_DEPTH {
            return entry;
        }
        body.iter().fold(entry, |exits, node| {
            let before = self.failures.len();
            let exits = self.step(node, &exits, states, depth);
            if node.on_failure == OnFailure::Continue {
                self.failures.truncate(before);
            }
            exits
        })
    }

    fn step(&mut self, node: &Node, entry: &[FlowExit], states: &States, depth: usize) -> Vec<FlowExit> {
        let look = StateStyle::of(states.get(&node.id));
        let lines = lines(node, states);
        match node.kind.shape().structure() {
            Structure::Either(IfNode { then, otherwise, .. }) => {
                let decision = self.shape(FlowShape::Diamond, lines, look);
                self.lead(entry, decision);
                let mut exits = self.sequence(then, vec![(decision, "yes")], states, depth + 1);
                exits.extend(self.sequence(otherwise, vec![(decision, "no")], states, depth + 1));
                exits
            }
            Structure::Rounds { body, .. } => self.round(node, (lines, look), &[body], entry, states, depth),
            Structure::Items(EachNode { body, .. }) => {
                self.round(node, (lines, look), &[body], entry, states, depth)
            }
            Structure::Tasks(TaskLoopNode { before_each, body, .. }) => {
                self.round(node, (lines, look), &[before_each, body], entry, states, depth)
            }
            Structure::Beside(ParallelNode { branches, .. }) => {
                let fork = self.shape(FlowShape::Bar, lines, look);
                self.lead(entry, fork);
                let mut ends = Vec::new();
                for branch in branches {
                    if branch.body.is_empty() {
                        ends.push((fork, ""));
                        continue;
                    }
                    self.frame(clean(&branch.name), |flow| {
                        ends.extend(flow.sequence(&branch.body, vec![(fork, "")], states, depth + 1));
                    });
                }
                if ends.is_empty() && !branches.is_empty() {
                    return ends;
                }
                let join = self.shape(FlowShape::Bar, vec!["join".to_owned()], StateStyle::Plain);
                self.lead(&ends, join);
                vec![(join, "")]
            }
            Structure::Last(body) => {
                let head = self.shape(FlowShape::Bar, lines, look);
                self.lead(entry, head);
                let failures = std::mem::take(&mut self.failures);
                self.lead(&failures, head);
                self.sequence(body, vec![(head, "")], states, depth + 1)
            }
            Structure::Guarded(TryNode { body, catch }) => {
                let head = self.shape(FlowShape::Diamond, lines, look);
                self.lead(entry, head);
                let before = self.failures.len();
                let mut exits = self.sequence(body, vec![(head, "")], states, depth + 1);
                self.failures.truncate(before);
                exits.extend(self.sequence(catch, vec![(head, "failed")], states, depth + 1));
                exits
            }
            Structure::Leaf => {
                let shape = self.shape(FlowShape::Box, lines, look);
                self.lead(entry, shape);
                self.after(node, shape)
            }
        }
    }

    /// Returns the exits of a node without blocks. Nothing follows one that always fails, unless it may be
    /// skipped or the workflow continues after its failure.
    fn after(&mut self, node: &Node, shape: usize) -> Vec<FlowExit> {
        if !node.kind.shape().always_fails() || node.on_failure == OnFailure::Continue {
            return vec![(shape, "")];
        }
        self.failures.push((shape, "failed"));
        node.when.iter().map(|_| (shape, "")).collect()
    }

    fn round(
        &mut self,
        node: &Node,
        (lines, look): (Vec<String>, StateStyle),
        bodies: &[&[Node]],
        entry: &[FlowExit],
        states: &States,
        depth: usize,
    ) -> Vec<FlowExit> {
        let mut head = 0;
        self.frame(clean(node.id.as_str()), |flow| {
            head = flow.shape(FlowShape::Hexagon, lines, look);
            flow.lead(entry, head);
            let mut exits = vec![(head, "")];
            for body in bodies {
                exits = flow.sequence(body, exits, states, depth + 1);
            }
            // A loop without nodes has no arrow back.
            if exits != [(head, "")] {
                let again: Vec<FlowExit> = exits.into_iter().map(|(from, _)| (from, "again")).collect();
                flow.lead(&again, head);
            }
        });
        vec![(head, "done")]
    }
}
