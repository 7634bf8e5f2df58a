//! A workflow as shapes and arrows, for the formats that lay them out themselves.

use super::label::{clean, lines};
use super::{Look, States};
use crate::engine::node::shape::Structure;
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{IfNode, ParallelNode, Step, TaskLoopNode, Workflow};

/// Shapes, arrows, and frames around shapes.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// In the order in which they are met.
    pub(super) parts: Vec<Part>,
    pub(super) arrows: Vec<Arrow>,
    shapes: usize,
    frames: usize,
}

/// What is drawn, in order; frames nest.
#[derive(Debug)]
pub(super) enum Part {
    Shape { number: usize, form: Form, lines: Vec<String>, look: Look },
    Open { number: usize, title: String },
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Begin and end.
    Round,
    Box,
    /// A decision.
    Diamond,
    /// The head of a loop.
    Hexagon,
    /// Where branches part and meet.
    Bar,
}

#[derive(Debug)]
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: &'static str,
}

/// A shape that leads on, and what is written on the way.
type Exit = (usize, &'static str);

impl Flow {
    pub(super) fn of(workflow: &Workflow, states: &States) -> Flow {
        let mut flow = Flow::default();
        let start = flow.shape(Form::Round, vec!["start".to_owned()], Look::Plain);
        let exits = flow.sequence(&workflow.body, vec![(start, "")], states, 0);
        let end = flow.shape(Form::Round, vec!["end".to_owned()], Look::Plain);
        flow.lead(&exits, end);
        flow
    }

    fn shape(&mut self, form: Form, lines: Vec<String>, look: Look) -> usize {
        let number = self.shapes;
        self.shapes += 1;
        self.parts.push(Part::Shape { number, form, lines, look });
        number
    }

    fn frame(&mut self, title: String, inside: impl FnOnce(&mut Flow)) {
        let number = self.frames;
        self.frames += 1;
        self.parts.push(Part::Open { number, title });
        inside(self);
        self.parts.push(Part::Close);
    }

    fn lead(&mut self, exits: &[Exit], to: usize) {
        self.arrows.extend(exits.iter().map(|(from, label)| Arrow { from: *from, to, label }));
    }

    fn sequence(&mut self, body: &[Step], entry: Vec<Exit>, states: &States, depth: usize) -> Vec<Exit> {
        if depth > MAX_DEPTH {
            return entry;
        }
        body.iter().fold(entry, |exits, step| self.step(step, &exits, states, depth))
    }

    fn step(&mut self, step: &Step, entry: &[Exit], states: &States, depth: usize) -> Vec<Exit> {
        let look = Look::of(states.get(&step.id));
        let lines = lines(step, states);
        match step.act.shape().structure() {
            Structure::Either(IfNode { then, otherwise, .. }) => {
                let decision = self.shape(Form::Diamond, lines, look);
                self.lead(entry, decision);
                let mut exits = self.sequence(then, vec![(decision, "yes")], states, depth + 1);
                exits.extend(self.sequence(otherwise, vec![(decision, "no")], states, depth + 1));
                exits
            }
            Structure::Rounds { body, .. } => self.round(step, (lines, look), &[body], entry, states, depth),
            Structure::Tasks(TaskLoopNode { before_each, body, .. }) => {
                self.round(step, (lines, look), &[before_each, body], entry, states, depth)
            }
            Structure::Beside(ParallelNode { branches, .. }) => {
                let fork = self.shape(Form::Bar, lines, look);
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
                let join = self.shape(Form::Bar, vec!["join".to_owned()], Look::Plain);
                self.lead(&ends, join);
                vec![(join, "")]
            }
            Structure::Leaf => {
                let shape = self.shape(Form::Box, lines, look);
                self.lead(entry, shape);
                vec![(shape, "")]
            }
        }
    }

    fn round(
        &mut self,
        step: &Step,
        (lines, look): (Vec<String>, Look),
        bodies: &[&[Step]],
        entry: &[Exit],
        states: &States,
        depth: usize,
    ) -> Vec<Exit> {
        let mut head = 0;
        self.frame(clean(step.id.as_str()), |flow| {
            head = flow.shape(Form::Hexagon, lines, look);
            flow.lead(entry, head);
            let mut exits = vec![(head, "")];
            for body in bodies {
                exits = flow.sequence(body, exits, states, depth + 1);
            }
            // An empty round leads nowhere.
            if exits != [(head, "")] {
                let again: Vec<Exit> = exits.into_iter().map(|(from, _)| (from, "again")).collect();
                flow.lead(&again, head);
            }
        });
        vec![(head, "done")]
    }
}
