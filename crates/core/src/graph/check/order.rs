//! Checks that a node has run before another node uses its output.
//!
//! A node that did not run has no output, and a text that uses it fails. An output that can never be
//! there is an error. An output that is there only sometimes (an `if`, a `when`, an earlier iteration of
//! a loop) is a warning, unless a condition makes sure of it: `outputs.x is defined`, `iteration > 1`.

use std::collections::HashSet;
use std::ops::Range;

use super::alternatives::{AbsentOutput, BranchOutputs, is_there_without};
use super::certainty::{Certainty, facts};
use super::continued::{continued, continues};
use super::dead_ends::DeadEnds;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{EvaluationTime, Outline, OutlineNode, Text};
use super::suggest::shown;
use crate::graph::template::Use;
use crate::graph::template::names::{ConditionFacts, IterationRange, output_of};
use crate::graph::workflow::{Join, NodeKind, OnFailure, ParallelNode};

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
    /// Never: the node is in another branch, which may run at the same time.
    Beside,
    /// Never: the node runs once for each item of a list.
    Private,
}

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let there = vec![There::Later; outline.nodes.len()];
    let certainty = Certainty::of(outline);
    let mut walk = OrderWalk {
        outline,
        certainty,
        ends: DeadEnds::of(outline),
        there,
        loops: Vec::new(),
        absent: Vec::new(),
        choices: Vec::new(),
        promoted: Vec::new(),
        spared: Vec::new(),
        said: HashSet::new(),
        found,
    };
    // The run computes `gives` before it starts `finally`.
    let last = outline.nodes.iter().find(|node| matches!(node.node.kind, NodeKind::Finally(_)));
    let end = last.map_or(outline.nodes.len(), |node| node.at);
    walk.sequence(0..end);
    walk.gives();
    walk.sequence(end..outline.nodes.len());
}

struct OrderWalk<'o, 'w, 'f> {
    outline: &'o Outline<'w>,
    certainty: Certainty,
    ends: DeadEnds,
    there: Vec<There>,
    /// The loops around the current node, innermost last.
    loops: Vec<LoopAround>,
    /// The nodes that have no output, by the conditions around the current node.
    absent: Vec<AbsentOutput>,
    /// The branches of each `if` so far.
    choices: Vec<BranchOutputs>,
    /// The nodes that the current sequences found to have an output, each with its earlier state.
    promoted: Vec<(usize, There)>,
    /// The nodes that have an output only because a failure ends the blocks around them.
    spared: Vec<Range<usize>>,
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
        let promoted = self.promoted.len();
        let mut at = range.start;
        while let Some(node) = self.outline.nodes.get(at).filter(|_| at < range.end) {
            self.step(node);
            at = node.end;
        }
        // A node of the sequence itself keeps its state: whoever gets behind the sequence passed all of it.
        let outside: Vec<_> =
            self.promoted.drain(promoted..).filter(|(source, _)| !range.contains(source)).collect();
        for (source, state) in outside.into_iter().rev() {
            self.set(source..source + 1, state);
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
        match node.node.on_failure {
            OnFailure::Fail => self.passed(node),
            OnFailure::Continue => self.survived(node),
        }
    }

    /// Notes what holds after a node that ends the run in some cases: those are not the present one.
    fn passed(&mut self, node: &'o OutlineNode<'w>) {
        let facts = match &node.node.kind {
            _ if node.is_optional() => self.ends.at(node).then(|| facts(node, "when", false)).flatten(),
            NodeKind::If(_) => {
                let ranges = self.outline.blocks(node);
                let ended = ranges.iter().position(|range| self.ends.among(self.outline, range));
                ended.and_then(|branch| facts(node, "if", branch == 1))
            }
            _ => None,
        };
        let sources = facts.map(|facts| self.sources(facts)).unwrap_or_default();
        for source in sources {
            self.promoted.push((source, self.get(source)));
            self.spared.push(source..source + 1);
            self.set(source..source + 1, There::Always);
        }
    }

    /// Forgets what is certain only if nothing in a block failed: the run goes on after such a failure.
    fn survived(&mut self, node: &OutlineNode<'_>) {
        let is_inside = |range: &Range<usize>| node.at < range.start && range.end <= node.end;
        for range in self.spared.extract_if(.., |range| is_inside(range)).collect::<Vec<_>>() {
            self.demote(range);
        }
        self.choices.retain(|choice| !(node.at..node.end).contains(&choice.at));
    }

    /// Returns the nodes that may lack an output, but not under these facts.
    fn sources(&self, facts: &ConditionFacts) -> Vec<usize> {
        let outputs = facts.defined.iter().filter(|path| path.first().is_some_and(|root| root == "outputs"));
        let sources = outputs.filter_map(|path| Some(self.outline.find(path.get(1)?)?.at));
        sources.filter(|at| matches!(self.get(*at), There::Sometimes | There::EarlierRound)).collect()
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
        let before: Vec<_> =
            self.sources(facts).into_iter().map(|source| (source, self.get(source))).collect();
        before.iter().for_each(|(source, _)| self.set(*source..source + 1, There::Always));
        let absent = self.absent.len();
        let ids = facts.undefined.iter().filter_map(|path| output_of(path));
        let sources = ids.filter_map(|id| self.outline.find(id));
        self.absent.extend(sources.map(|source| AbsentOutput { node: source.at, asked_at: node.at }));
        inside(self);
        self.absent.truncate(absent);
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
            NodeKind::Try(_) => self.guarded(node, &ranges),
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

    fn guarded(&mut self, node: &'o OutlineNode<'w>, ranges: &[Range<usize>]) {
        let [body, catch] = ranges else { return };
        self.sequence(body.clone());
        let after_body = self.copy(body.clone());
        self.demote(body.clone());
        self.sequence(catch.clone());
        self.demote(catch.clone());
        // Whoever gets behind the block then comes from the end of its body.
        let catches = !catch.is_empty() && !self.ends.among(self.outline, catch);
        if !catches && node.node.on_failure == OnFailure::Fail {
            self.restore(body.clone(), &after_body);
            self.spared.push(body.clone());
        }
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
        if node.node.on_failure == OnFailure::Fail {
            let sure = self.sure(then.start..otherwise.end);
            let (then, otherwise) = (then.clone(), otherwise.clone());
            self.choices.push(BranchOutputs { at: node.at, then, otherwise, sure });
        }
        for (branch, other, is_certain) in [
            (then, otherwise, node.condition == Some(true)),
            (otherwise, then, node.condition == Some(false)),
        ] {
            if node.node.on_failure == OnFailure::Fail && self.ends.among(self.outline, other) {
                self.spared.push(branch.clone());
            } else if !is_certain {
                self.demote(branch.clone());
            }
        }
    }

    /// Returns the nodes that have an output whenever these nodes ran and nothing failed.
    fn sure(&self, range: Range<usize>) -> Vec<usize> {
        let mut sure = Vec::new();
        let mut at = range.start;
        while let Some(node) = self.outline.nodes.get(at).filter(|_| at < range.end) {
            if self.get(at) == There::Always {
                sure.push(at);
            }
            // A failure may have kept the run from the rest of such a block.
            at = if node.node.on_failure == OnFailure::Continue { node.end } else { at + 1 };
        }
        sure
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
            let there = self.under_conditions(source, used);
            let Some(finding) = complaint(there, source, is_self, used.may_lack_output()) else {
                continue;
            };
            if self.said.insert((node.at, text.field, source.at)) {
                let finding = GraphDiagnostic { field: text.field, ..finding };
                self.found.node(node, finding.key(text.key.clone()).at(Some(used.at)));
            }
        }
    }

    /// Checks the value that the workflow gives if everything in it is complete.
    fn gives(&mut self) {
        for text in self.outline.top.iter().filter(|text| text.field == "gives") {
            for used in text.uses().filter(|used| used.root() == "outputs") {
                let Some(source) = used.name().and_then(|id| self.outline.find(id)) else { continue };
                let there = self.under_conditions(source, used);
                // `surroundings` reports an output that can never be there.
                if matches!(there, There::Sometimes | There::EarlierRound | There::OtherWay)
                    && let Some(finding) = complaint(there, source, false, used.may_lack_output())
                {
                    self.found.whole(GraphDiagnostic { field: text.field, ..finding }.at(Some(used.at)));
                }
            }
        }
    }

    /// Returns whether a node has an output where a text uses it.
    fn under_conditions(&self, source: &OutlineNode<'_>, used: &Use) -> There {
        let there = self.in_iterations(source, used.iterations);
        if there != There::Sometimes {
            return there;
        }
        let own = used.absent.iter().filter_map(|id| self.outline.find(id));
        let own = own.map(|source| AbsentOutput { node: source.at, asked_at: usize::MAX });
        let absent: Vec<AbsentOutput> = self.absent.iter().copied().chain(own).collect();
        let is_there = |at| self.get(at) == There::Always;
        let is_sure = !absent.is_empty() && is_there_without(&self.choices, source.at, &absent, is_there);
        if is_sure { There::Always } else { there }
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
            There::Beside => format!("{id} is in another branch, whose sessions this one cannot continue"),
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
        There::Beside => error(format!(
            "{id} is in another branch, and a branch sees no outputs of the others"
        ))
        .map(|finding| {
            finding.hint("use its output after the `parallel` node, or run the nodes one after the other")
        }),
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
