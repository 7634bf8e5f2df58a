//! Checks that a node has run before another node uses its output.
//!
//! A node that did not run has no output, and a text that uses it fails. An output that can never be
//! there is an error. An output that is there only sometimes (an `if`, a `when`, an earlier iteration of
//! a loop) is a warning, unless a condition makes sure of it: `outputs.x is defined`, `iteration > 1`.

use std::collections::HashSet;
use std::ops::Range;

use super::certainty::{Certainty, facts};
use super::continued::{continued, continues};
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{EvaluationTime, Outline, OutlineNode, Text};
use super::suggest::shown;
use crate::graph::template::names::{ConditionFacts, IterationRange};
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
    let certainty = Certainty::of(outline);
    let mut walk = OrderWalk { outline, certainty, there, loops: Vec::new(), said: HashSet::new(), found };
    walk.sequence(0..outline.nodes.len());
}

struct OrderWalk<'o, 'w, 'f> {
    outline: &'o Outline<'w>,
    certainty: Certainty,
    there: Vec<There>,
    /// The loops around the current node, innermost last.
    loops: Vec<LoopAround>,
    /// The node, field and source of each diagnostic, to report it only once.
    said: HashSet<(usize, &'static str, usize)>,
    found: &'f mut GraphDiagnostics,
}

/// A loop around the current node.
#[derive(Clone)]
struct LoopAround {
    /// The position of the loop, and the end of the nodes inside it.
    at: usize,
    end: usize,
    /// The iterations that the conditions around the current node leave.
    iterations: IterationRange,
    /// True if each of its iterations starts only after the previous one completed.
    is_in_turn: bool,
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
        self.field_texts(node, "when");
        let when = facts(node, "when", true);
        self.under(node, when, |walk| walk.begun(node));
        let after = if node.is_optional() { There::Sometimes } else { There::Always };
        self.set(node.at..node.at + 1, after);
        if node.is_optional() {
            self.demote(node.at..node.end);
        }
    }

    /// Walks a node that the run does not skip.
    fn begun(&mut self, node: &'o OutlineNode<'w>) {
        self.texts(node, EvaluationTime::Begin);
        self.session(node);
        if self.get(node.at) == There::Later {
            self.set(node.at..node.at + 1, There::Inside);
        }
        self.blocks(node);
    }

    /// Walks a part of a node that the run reaches only if a condition has these facts.
    fn under(
        &mut self,
        node: &OutlineNode<'_>,
        facts: Option<&ConditionFacts>,
        inside: impl FnOnce(&mut Self),
    ) {
        let Some(facts) = facts else { return inside(self) };
        let iterations = self.loops.last().map(|innermost| innermost.iterations);
        if let Some(innermost) = self.loops.last_mut() {
            innermost.iterations = innermost.iterations.and(facts.iterations);
        }
        let mut before = Vec::new();
        for path in &facts.defined {
            let Some(source) = path.get(1).filter(|_| path.first().is_some_and(|root| root == "outputs"))
            else {
                continue;
            };
            let Some(source) = self.outline.find(source).map(|source| source.at) else { continue };
            if matches!(self.get(source), There::Sometimes | There::EarlierRound) {
                before.push((source, self.get(source)));
                self.set(source..source + 1, There::Always);
            }
        }
        inside(self);
        // The nodes inside have their own states by now.
        for (source, state) in before.into_iter().filter(|(source, _)| !(node.at..node.end).contains(source))
        {
            self.set(source..source + 1, state);
        }
        if let (Some(innermost), Some(iterations)) = (self.loops.last_mut(), iterations) {
            innermost.iterations = iterations;
        }
    }

    /// Walks the inside of a loop.
    fn in_loop(&mut self, node: &OutlineNode<'_>, is_in_turn: bool, inside: impl FnOnce(&mut Self)) {
        let (at, end) = (node.at, node.end);
        self.loops.push(LoopAround { at, end, iterations: IterationRange::ALL, is_in_turn });
        inside(self);
        self.loops.pop();
    }

    fn blocks(&mut self, node: &'o OutlineNode<'w>) {
        let ranges = self.outline.blocks(node);
        match &node.node.kind {
            NodeKind::If(_) => self.either(node, &ranges),
            NodeKind::Loop(_) | NodeKind::CriteriaLoop(_) => self.in_loop(node, true, |walk| {
                walk.round(node, &ranges);
                walk.texts(node, EvaluationTime::RoundOver);
            }),
            NodeKind::TaskLoop(_) => {
                self.in_loop(node, false, |walk| {
                    walk.set_later(node.at + 1..node.end, There::EarlierRound);
                    walk.texts(node, EvaluationTime::Round);
                    walk.round(node, &ranges);
                });
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
        // The run forgets the outputs of the branch that it does not take, also those of earlier iterations.
        let at_first = self.copy(otherwise.clone());
        self.set(otherwise.clone(), There::OtherWay);
        self.under(node, facts(node, "if", true), |walk| walk.sequence(then.clone()));
        let after_then = self.copy(then.clone());
        self.set(then.clone(), There::OtherWay);
        self.restore(otherwise.clone(), &at_first);
        self.under(node, facts(node, "if", false), |walk| walk.sequence(otherwise.clone()));
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
        for text in node.texts.iter().filter(|text| text.moment == moment && text.field != "when") {
            self.text(node, text);
        }
    }

    fn field_texts(&mut self, node: &'o OutlineNode<'w>, field: &str) {
        for text in node.texts.iter().filter(|text| text.field == field) {
            self.text(node, text);
        }
    }

    fn text(&mut self, node: &'o OutlineNode<'w>, text: &'o Text) {
        for used in text.uses().filter(|used| used.root() == "outputs") {
            let Some(source) = used.name().and_then(|id| self.outline.find(id)) else { continue };
            let is_self = source.at == node.at;
            let there = self.in_iterations(source, used.iterations);
            let Some(finding) = complaint(there, source, is_self, used.may_lack_output()) else {
                continue;
            };
            if self.said.insert((node.at, text.field, source.at)) {
                let finding = GraphDiagnostic { field: text.field, ..finding };
                self.found.node(node, finding.key(text.key.clone()).at(Some(used.at)));
            }
        }
    }

    /// Returns whether a node has an output in the iterations that are left: those of the conditions
    /// around the current node, and `iterations` of the innermost loop.
    fn in_iterations(&self, source: &OutlineNode<'_>, iterations: IterationRange) -> There {
        let there = self.get(source.at);
        let is_around = |around: &&LoopAround| (around.at + 1..around.end).contains(&source.at);
        let Some(around) = self.loops.iter().rev().find(is_around).filter(|around| around.is_in_turn) else {
            return there;
        };
        let is_innermost = self.loops.last().is_some_and(|innermost| innermost.at == around.at);
        let left = if is_innermost { around.iterations.and(iterations) } else { around.iterations };
        let certain = self.certainty.within(source.at, around.at);
        match there {
            There::EarlierRound if left.follows(certain) => There::Always,
            There::EarlierRound if left.follows(IterationRange::ALL) => There::Sometimes,
            There::Sometimes if left.is_in(certain) => There::Always,
            _ => there,
        }
    }

    /// Checks that there can be a session to continue. In the first iteration of a loop there may be none.
    fn session(&mut self, node: &'o OutlineNode<'w>) {
        let other = continues(node).and_then(|to| continued(self.outline, to));
        let Some(other) = other else { return };
        let id = shown(other.node.id.as_str());
        let text = match self.get(other.at) {
            // The sessions of an item are private to it, which is another diagnostic.
            There::Always | There::Sometimes | There::EarlierRound | There::Private => return,
            There::Later | There::Inside if other.at == node.at => {
                if node.node.retry.times > 0 {
                    return;
                }
                let text = format!("{id} continues its own session, but runs only once");
                let finding = GraphDiagnostic::error(None, "continue", text);
                return self.found.node(node, finding.hint("put it in a `loop`, or name a node before it"));
            }
            There::Later | There::Inside => format!("{id} runs later, so it has no session yet"),
            There::OtherWay => format!("{id} is in the other branch of the `if`"),
            There::Beside => format!("{id} runs at the same time, in another branch"),
        };
        self.found.error(node, "continue", text);
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
        There::Sometimes | There::EarlierRound | There::OtherWay if asks => None,
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
