//! Whether a gate holds on every way to a landing.
//!
//! A gate is a check, a review or a person's answer. It can be bypassed when it may be left out
//! (`when`) or when the run goes on although it failed (`on_failure: continue`), unless what
//! follows asks how it went: an `if` or `when` about its output is as good. An answer holds
//! nothing back by itself, so it is always asked for. What changes after a gate was not seen by it.

use std::ops::Range;

use super::finding::{Finding, Found};
use super::outline::{Node, Outline};
use crate::engine::node::shape::{Role, Structure};
use crate::graph::workflow::{Join, OnFailure, ParallelNode};

/// What is known of the work so far, on every way that leads here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gated {
    /// On some way no gate was passed.
    No,
    /// Something was changed since.
    Stale,
    /// The last gate has seen all of it.
    Yes,
}

/// What becomes of each of the three.
#[derive(Clone, Copy)]
struct Change {
    no: Gated,
    stale: Gated,
    yes: Gated,
}

impl Change {
    const NONE: Change = Change { no: Gated::No, stale: Gated::Stale, yes: Gated::Yes };
    const WORK: Change = Change { no: Gated::No, stale: Gated::Stale, yes: Gated::Stale };
    const GATE: Change = Change { no: Gated::Yes, stale: Gated::Yes, yes: Gated::Yes };

    fn of(self, gated: Gated) -> Gated {
        match gated {
            Gated::No => self.no,
            Gated::Stale => self.stale,
            Gated::Yes => self.yes,
        }
    }

    fn map(of: impl Fn(Gated) -> Gated) -> Change {
        Change { no: of(Gated::No), stale: of(Gated::Stale), yes: of(Gated::Yes) }
    }

    fn then(self, next: Change) -> Change {
        Change::map(|gated| next.of(self.of(gated)))
    }

    fn or(self, other: Change) -> Change {
        Change::map(|gated| self.of(gated).min(other.of(gated)))
    }

    /// Both at the same time.
    fn beside(self, other: Change) -> Change {
        Change::map(|gated| match self.of(gated).max(other.of(gated)) {
            Gated::No => Gated::No,
            _ if self.yes != Gated::Yes || other.yes != Gated::Yes => Gated::Stale,
            best => best,
        })
    }

    /// Once or more.
    fn again(self) -> Change {
        let twice = self.then(self);
        self.or(twice).or(twice.then(self))
    }
}

pub(super) fn look(outline: &Outline<'_>, found: &mut Found) {
    let lands = |node: &Node<'_>| matches!(role(node), Role::Landing | Role::Proposal);
    if !outline.nodes.iter().any(lands) {
        return;
    }
    let mut changes = vec![Change::NONE; outline.nodes.len()];
    for node in outline.nodes.iter().rev() {
        let change = whole(outline, node, &changes);
        if let Some(place) = changes.get_mut(node.at) {
            *place = change;
        }
    }
    let mut walk = Walk { outline, changes, weak: Vec::new(), found };
    walk.sequence(0..outline.nodes.len(), Gated::No);
}

fn role(node: &Node<'_>) -> Role {
    node.step.act.shape().role()
}

fn is_gate(node: &Node<'_>) -> bool {
    matches!(role(node), Role::Gate | Role::Answer)
}

/// Whether the run may go on whatever the gate says.
fn is_weak(node: &Node<'_>) -> bool {
    let holds = !node.is_optional() && node.step.on_failure == OnFailure::Fail;
    match role(node) {
        Role::Answer => true,
        Role::Gate => !holds,
        Role::Work | Role::Landing | Role::Proposal | Role::Aside => false,
    }
}

/// Whether a condition of a node asks how a gate went.
fn asks_a_gate(outline: &Outline<'_>, node: &Node<'_>, field: &str) -> bool {
    node.asks_about(field, |id| outline.find(id).is_some_and(is_gate))
}

/// What a node does to the work, itself and all in it.
fn whole(outline: &Outline<'_>, node: &Node<'_>, changes: &[Change]) -> Change {
    let blocks = || outline.blocks(node).into_iter().map(|range| in_sequence(outline, range, changes));
    let own = match node.step.act.shape().structure() {
        Structure::Leaf => match (role(node), node.step.on_failure) {
            (Role::Work, _) => Change::WORK,
            (Role::Gate, OnFailure::Fail) => Change::GATE,
            (Role::Gate, OnFailure::Continue) => Change::NONE,
            (Role::Answer | Role::Landing | Role::Proposal | Role::Aside, _) => Change::NONE,
        },
        Structure::Either(_) => {
            let ways = blocks().zip([true, false]).filter(|(_, way)| node.condition != Some(!way));
            let asked = if asks_a_gate(outline, node, "if") { Change::GATE } else { Change::NONE };
            ways.map(|(way, _)| asked.then(way)).reduce(Change::or).unwrap_or(Change::NONE)
        }
        Structure::Rounds { .. } => in_a_round(outline, node, changes).again(),
        Structure::Tasks(_) => in_a_round(outline, node, changes).again().or(Change::NONE),
        Structure::Beside(ParallelNode { join, .. }) => {
            let both = match join {
                Join::All => Change::beside,
                Join::Any | Join::FirstSuccess => Change::or,
            };
            blocks().reduce(both).unwrap_or(Change::NONE)
        }
    };
    match node.when {
        Some(true) => own,
        Some(false) => Change::NONE,
        None => own.or(Change::NONE),
    }
}

fn in_a_round(outline: &Outline<'_>, node: &Node<'_>, changes: &[Change]) -> Change {
    let blocks = outline.blocks(node).into_iter().map(|range| in_sequence(outline, range, changes));
    blocks.reduce(Change::then).unwrap_or(Change::NONE)
}

fn in_sequence(outline: &Outline<'_>, range: Range<usize>, changes: &[Change]) -> Change {
    let mut sum = Change::NONE;
    let mut at = range.start;
    while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
        sum = sum.then(changes.get(at).copied().unwrap_or(Change::NONE));
        at = node.end;
    }
    sum
}

struct Walk<'o, 'w, 'f> {
    outline: &'o Outline<'w>,
    changes: Vec<Change>,
    /// Gates so far that do not hold.
    weak: Vec<usize>,
    found: &'f mut Found,
}

impl<'o, 'w> Walk<'o, 'w, '_> {
    fn sequence(&mut self, range: Range<usize>, mut gated: Gated) -> Gated {
        let mut at = range.start;
        while let Some(node) = self.outline.nodes.get(at).filter(|_| at < range.end) {
            self.step(node, gated);
            gated = self.changes.get(at).map_or(gated, |change| change.of(gated));
            at = node.end;
        }
        gated
    }

    fn step(&mut self, node: &'o Node<'w>, before: Gated) {
        let asked = asks_a_gate(self.outline, node, "when") || asks_a_gate(self.outline, node, "if");
        let gated = if asked { Gated::Yes } else { before };
        if is_weak(node) {
            self.weak.push(node.at);
        } else if matches!(role(node), Role::Landing | Role::Proposal) {
            self.landing(node, gated);
        } else {
            let round = match node.step.act.shape().structure() {
                Structure::Rounds { .. } | Structure::Tasks(_) => {
                    in_a_round(self.outline, node, &self.changes).again().or(Change::NONE).of(gated)
                }
                Structure::Leaf | Structure::Either(_) | Structure::Beside(_) => gated,
            };
            self.inside(node, round);
        }
    }

    fn inside(&mut self, node: &'o Node<'w>, gated: Gated) {
        let follows = matches!(node.step.act.shape().structure(), Structure::Tasks(_));
        let mut at_start = gated;
        for range in self.outline.blocks(node) {
            let after = self.sequence(range, at_start);
            at_start = if follows { after } else { gated };
        }
    }

    fn landing(&mut self, node: &Node<'_>, gated: Gated) {
        let word = node.step.act.word();
        match gated {
            Gated::Yes => {}
            Gated::Stale => {
                let finding = Finding::warning(None, word, "the work is changed after the last gate");
                self.found.node(node, finding.hint("check once more before it"));
            }
            Gated::No => {
                let text = format!("`{word}` can be reached without passing a check, a review or a person");
                let finding = match role(node) {
                    Role::Proposal => Finding::warning(None, word, text),
                    _ => Finding::error(None, word, text),
                };
                self.found.node(node, finding.hint("put `check: all` before it"));
                self.bypassed(word);
            }
        }
    }

    fn bypassed(&mut self, word: &str) {
        for at in std::mem::take(&mut self.weak) {
            let Some(gate) = self.outline.nodes.get(at) else { continue };
            let (field, why) = match (role(gate), gate.step.on_failure) {
                (Role::Answer, _) => ("ask", "its answer decides nothing"),
                (_, OnFailure::Continue) => ("on_failure", "the run goes on although it failed"),
                (_, OnFailure::Fail) => ("when", "it may be left out"),
            };
            let text = format!("this gate can be bypassed on the way to `{word}`: {why}");
            let hint =
                format!("ask for `outputs.{}` before `{word}`", gate.step.id.as_str().replace('-', "_"));
            self.found.node(gate, Finding::warning(None, field, text).hint(hint));
        }
    }
}
