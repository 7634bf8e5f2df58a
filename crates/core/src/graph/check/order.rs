//! Checks that a node has run before another node uses its output.
//!
//! A node that did not run has no output, and a text that uses it fails. An output that can never be
//! there is an error. An output that is there only sometimes (the other branch of an `if`, a `when`, an
//! earlier iteration of a loop) is a warning, unless the text tests it first: `outputs.x is defined`.

use std::collections::HashSet;
use std::ops::Range;

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{EvaluationTime, Outline, OutlineNode, Text};
use super::suggest::shown;
use crate::graph::workflow::{Join, NodeKind, ParallelNode};

/// The availability of the output of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Always,
    /// Only if the run did not skip the node.
    Sometimes,
    /// Only from an earlier iteration, so not in the first one.
    EarlierRound,
    /// Never: the node runs later.
    Later,
    /// Never: the node contains the text and is still running.
    Inside,
    /// Never: the node is in the other branch of an `if`.
    OtherWay,
    /// Never: the node runs at the same time.
    Beside,
    /// Never: the node runs once for each item of a list.
    Private,
}

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let there = vec![There::Later; outline.nodes.len()];
    let mut walk = OrderWalk { outline, there, said: HashSet::new(), found };
    walk.sequence(0..outline.nodes.len());
}

struct OrderWalk<'o, 'w, 'f> {
    outline: &'o Outline<'w>,
    there: Vec<There>,
    /// The node, field and source of each diagnostic, to report it only once.
    said: HashSet<(usize, &'static str, usize)>,
    found: &'f mut GraphDiagnostics,
}

impl<'o, 'w> OrderWalk<'o, 'w, '_> {
    fn sequence(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while let Some(node) = self.outline.nodes.get(at).filter(|_| at < range.end) {
            self.step(node);
            at = node.end;
        }
    }

    fn step(&mut self, node: &'o OutlineNode<'w>) {
        self.texts(node, EvaluationTime::Begin);
        let before = self.get(node.at);
        if before == There::Later {
            self.set(node.at..node.at + 1, There::Inside);
        }
        self.blocks(node);
        let after = if node.is_optional() { There::Sometimes } else { There::Always };
        self.set(node.at..node.at + 1, after);
        if node.is_optional() {
            self.demote(node.at..node.end);
        }
    }

    fn blocks(&mut self, node: &'o OutlineNode<'w>) {
        let ranges = self.outline.blocks(node);
        match &node.node.kind {
            NodeKind::If(_) => self.either(node, &ranges),
            NodeKind::Loop(_) | NodeKind::CriteriaLoop(_) => {
                self.round(node, &ranges);
                self.texts(node, EvaluationTime::RoundOver);
            }
            NodeKind::TaskLoop(_) => {
                self.set_later(node.at + 1..node.end, There::EarlierRound);
                self.texts(node, EvaluationTime::Round);
                self.round(node, &ranges);
                self.demote(node.at + 1..node.end);
            }
            NodeKind::Each(_) => {
                self.set(node.at + 1..node.end, There::Later);
                ranges.into_iter().for_each(|range| self.sequence(range));
                self.set(node.at + 1..node.end, There::Private);
            }
            NodeKind::Finally(_) => {
                // The run may end before any of the nodes.
                self.demote(0..node.at);
                self.set_later(0..node.at, There::Sometimes);
                ranges.into_iter().for_each(|range| self.sequence(range));
            }
            NodeKind::Try(_) => {
                for range in ranges {
                    self.sequence(range.clone());
                    self.demote(range);
                }
            }
            NodeKind::Parallel(ParallelNode { join, .. }) => {
                self.beside(node, &ranges);
                if *join != Join::All {
                    self.demote(node.at + 1..node.end);
                }
            }
            _ => {}
        }
    }

    fn round(&mut self, node: &OutlineNode<'_>, ranges: &[Range<usize>]) {
        self.set_later(node.at + 1..node.end, There::EarlierRound);
        ranges.iter().for_each(|range| self.sequence(range.clone()));
    }

    fn either(&mut self, node: &'o OutlineNode<'w>, ranges: &[Range<usize>]) {
        let [then, otherwise] = ranges else { return };
        self.set_later(otherwise.clone(), There::OtherWay);
        self.sequence(then.clone());
        let after_then = self.copy(then.clone());
        let hidden = if node.surroundings.is_in_loop { There::EarlierRound } else { There::OtherWay };
        self.set(then.clone(), hidden);
        self.set(
            otherwise.clone(),
            if node.surroundings.is_in_loop { There::EarlierRound } else { There::Later },
        );
        self.sequence(otherwise.clone());
        self.restore(then.clone(), &after_then);
        if node.condition != Some(true) {
            self.demote(then.clone());
        }
        if node.condition != Some(false) {
            self.demote(otherwise.clone());
        }
    }

    /// Walks parallel branches: each sees the outputs from before, and none of the other branches.
    fn beside(&mut self, node: &OutlineNode<'_>, ranges: &[Range<usize>]) {
        let inside = node.at + 1..node.end;
        let at_first = self.copy(inside.clone());
        self.set(inside.clone(), There::Beside);
        let mut after = Vec::with_capacity(at_first.len());
        for range in ranges {
            let mine = range.start - inside.start..range.end - inside.start;
            self.restore(range.clone(), at_first.get(mine).unwrap_or_default());
            self.sequence(range.clone());
            after.extend(self.copy(range.clone()));
            self.set(range.clone(), There::Beside);
        }
        self.restore(inside, &after);
    }

    fn texts(&mut self, node: &'o OutlineNode<'w>, moment: EvaluationTime) {
        for text in node.texts.iter().filter(|text| text.moment == moment) {
            self.text(node, text);
        }
    }

    fn text(&mut self, node: &'o OutlineNode<'w>, text: &'o Text) {
        for used in text.uses().filter(|used| used.root() == "outputs") {
            let Some(source) = used.name().and_then(|id| self.outline.find(id)) else { continue };
            let is_self = source.at == node.at;
            let Some(finding) = complaint(self.get(source.at), source, is_self, used.is_guarded(2)) else {
                continue;
            };
            if self.said.insert((node.at, text.field, source.at)) {
                let finding = GraphDiagnostic { field: text.field, ..finding };
                self.found.node(node, finding.key(text.key.clone()).at(Some(used.at)));
            }
        }
    }

    fn get(&self, at: usize) -> There {
        self.there.get(at).copied().unwrap_or(There::Later)
    }

    fn slice(&mut self, range: Range<usize>) -> &mut [There] {
        self.there.get_mut(range).unwrap_or_default()
    }

    fn set(&mut self, range: Range<usize>, there: There) {
        self.slice(range).fill(there);
    }

    fn set_later(&mut self, range: Range<usize>, there: There) {
        self.slice(range).iter_mut().filter(|state| **state == There::Later).for_each(|state| *state = there);
    }

    fn demote(&mut self, range: Range<usize>) {
        let always = |state: &&mut There| **state == There::Always;
        self.slice(range).iter_mut().filter(always).for_each(|state| *state = There::Sometimes);
    }

    fn copy(&mut self, range: Range<usize>) -> Vec<There> {
        self.slice(range).to_vec()
    }

    fn restore(&mut self, range: Range<usize>, states: &[There]) {
        self.slice(range).iter_mut().zip(states).for_each(|(state, old)| *state = *old);
    }
}

fn complaint(there: There, source: &OutlineNode<'_>, is_self: bool, asks: bool) -> Option<GraphDiagnostic> {
    let id = shown(source.node.id.as_str());
    let error = |text: String| Some(GraphDiagnostic::error(None, "", text));
    let warning = |text: String| {
        let hint = format!("test it first: `{} is defined`", reference(source));
        Some(GraphDiagnostic::warning(None, "", text).hint(hint))
    };
    match there {
        There::Always => None,
        There::Sometimes | There::EarlierRound if asks => None,
        There::Sometimes => warning(format!("the run may skip {id}, which then has no output")),
        There::EarlierRound => warning(format!("{id} has no output in the first iteration")),
        There::Later if is_self => error(format!("{id} uses its own output")),
        There::Later => error(format!("{id} runs later, so it has no output yet")),
        There::Inside => error(format!("{id} is still running, so it has no output yet")),
        There::OtherWay => error(format!("{id} is in the other branch of the `if`")),
        There::Private => {
            error(format!("{id} runs once for each item of a list, so it has no single output"))
                .map(|finding| finding.hint("the results are in `items` of the value of the `each` node"))
        }
        There::Beside => error(format!("{id} runs at the same time, in another branch")),
    }
}

/// Returns the output as a template writes it.
pub(super) fn reference(source: &OutlineNode<'_>) -> String {
    let id = source.node.id.as_str();
    match id.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("outputs[\"{id}\"]"),
        false => format!("outputs.{}", crate::graph::ids::folded(id)),
    }
}
