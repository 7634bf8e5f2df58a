//! Checks that every path to a landing passes a gate.
//!
//! A gate is a check, a review or a person's answer. A run can bypass a gate that it may skip (`when`)
//! or that does not stop it on failure (`on_failure: continue`). A later `if` or `when` that tests the
//! output of the gate makes up for this. An answer never stops a run by itself, so it always needs such
//! a condition. A gate does not cover changes made after it.

use std::ops::Range;

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::order;
use super::outline::{Outline, OutlineNode};
use crate::engine::node::shape::{NodeRole, Structure};
use crate::graph::workflow::{Join, OnFailure, ParallelNode};

/// The weakest state of the work on any path to a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GateState {
    /// Some path passes no gate.
    No,
    /// Some path changes the work after its last gate.
    Stale,
    /// On every path the last gate covers all work.
    Yes,
}

/// The effect of a node: the new state for each old state.
#[derive(Clone, Copy)]
struct GateChange {
    no: GateState,
    stale: GateState,
    yes: GateState,
}

impl GateChange {
    const NONE: GateChange = GateChange { no: GateState::No, stale: GateState::Stale, yes: GateState::Yes };
    const WORK: GateChange = GateChange { no: GateState::No, stale: GateState::Stale, yes: GateState::Stale };
    const GATE: GateChange = GateChange { no: GateState::Yes, stale: GateState::Yes, yes: GateState::Yes };

    fn of(self, gated: GateState) -> GateState {
        match gated {
            GateState::No => self.no,
            GateState::Stale => self.stale,
            GateState::Yes => self.yes,
        }
    }

    fn map(of: impl Fn(GateState) -> GateState) -> GateChange {
        GateChange { no: of(GateState::No), stale: of(GateState::Stale), yes: of(GateState::Yes) }
    }

    fn then(self, next: GateChange) -> GateChange {
        GateChange::map(|gated| next.of(self.of(gated)))
    }

    fn or(self, other: GateChange) -> GateChange {
        GateChange::map(|gated| self.of(gated).min(other.of(gated)))
    }

    /// Combines two effects that happen at the same time.
    fn beside(self, other: GateChange) -> GateChange {
        GateChange::map(|gated| match self.of(gated).max(other.of(gated)) {
            GateState::No => GateState::No,
            _ if self.yes != GateState::Yes || other.yes != GateState::Yes => GateState::Stale,
            best => best,
        })
    }

    /// Repeats an effect once or more.
    fn again(self) -> GateChange {
        let twice = self.then(self);
        self.or(twice).or(twice.then(self))
    }
}

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let lands = |node: &OutlineNode<'_>| matches!(role(node), NodeRole::Landing | NodeRole::Proposal);
    if !outline.nodes.iter().any(lands) {
        return;
    }
    let mut changes = vec![GateChange::NONE; outline.nodes.len()];
    for node in outline.nodes.iter().rev() {
        let change = whole(outline, node, &changes);
        if let Some(place) = changes.get_mut(node.at) {
            *place = change;
        }
    }
    let mut walk = GateWalk { outline, changes, weak: Vec::new(), found };
    walk.sequence(0..outline.nodes.len(), GateState::No);
}

fn role(node: &OutlineNode<'_>) -> NodeRole {
    node.node.kind.shape().role()
}

fn is_gate(node: &OutlineNode<'_>) -> bool {
    matches!(role(node), NodeRole::Gate | NodeRole::Answer)
}

/// Returns whether the run may continue past a gate that does not pass.
fn is_weak(node: &OutlineNode<'_>) -> bool {
    let holds = !node.is_optional() && node.node.on_failure == OnFailure::Fail;
    match role(node) {
        NodeRole::Answer => true,
        NodeRole::Gate => !holds,
        NodeRole::Work | NodeRole::Landing | NodeRole::Proposal | NodeRole::Aside => false,
    }
}

/// Returns whether a condition of a node tests the output of a gate.
fn asks_a_gate(outline: &Outline<'_>, node: &OutlineNode<'_>, field: &str) -> bool {
    node.asks_about(field, |id| outline.find(id).is_some_and(is_gate))
}

/// Returns the effect of a node and everything in it.
fn whole(outline: &Outline<'_>, node: &OutlineNode<'_>, changes: &[GateChange]) -> GateChange {
    let blocks = || outline.blocks(node).into_iter().map(|range| in_sequence(outline, range, changes));
    let own = match node.node.kind.shape().structure() {
        Structure::Leaf => match (role(node), node.node.on_failure) {
            (NodeRole::Work, _) => GateChange::WORK,
            (NodeRole::Gate, OnFailure::Fail) => GateChange::GATE,
            (NodeRole::Gate, OnFailure::Continue) => GateChange::NONE,
            (NodeRole::Answer | NodeRole::Landing | NodeRole::Proposal | NodeRole::Aside, _) => {
                GateChange::NONE
            }
        },
        Structure::Either(_) => {
            let ways = blocks().zip([true, false]).filter(|(_, way)| node.condition != Some(!way));
            let asked = if asks_a_gate(outline, node, "if") { GateChange::GATE } else { GateChange::NONE };
            ways.map(|(way, _)| asked.then(way)).reduce(GateChange::or).unwrap_or(GateChange::NONE)
        }
        Structure::Rounds { .. } => in_a_round(outline, node, changes).again(),
        Structure::Tasks(_) | Structure::Items(_) => {
            in_a_round(outline, node, changes).again().or(GateChange::NONE)
        }
        Structure::Last(_) => blocks().next().unwrap_or(GateChange::NONE),
        Structure::Guarded(_) => {
            let mut ways = blocks();
            let body = ways.next().unwrap_or(GateChange::NONE);
            let catch = ways.next().unwrap_or(GateChange::NONE);
            // A body that fails may have done a part of its work.
            body.or(body.or(GateChange::NONE).or(GateChange::WORK).then(catch))
        }
        Structure::Beside(ParallelNode { join, .. }) => {
            let both = match join {
                Join::All => GateChange::beside,
                Join::Any | Join::FirstSuccess | Join::Some => GateChange::or,
            };
            blocks().reduce(both).unwrap_or(GateChange::NONE)
        }
    };
    match node.when {
        Some(true) => own,
        Some(false) => GateChange::NONE,
        None => own.or(GateChange::NONE),
    }
}

fn in_a_round(outline: &Outline<'_>, node: &OutlineNode<'_>, changes: &[GateChange]) -> GateChange {
    let blocks = outline.blocks(node).into_iter().map(|range| in_sequence(outline, range, changes));
    blocks.reduce(GateChange::then).unwrap_or(GateChange::NONE)
}

fn in_sequence(outline: &Outline<'_>, range: Range<usize>, changes: &[GateChange]) -> GateChange {
    let mut sum = GateChange::NONE;
    let mut at = range.start;
    while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
        sum = sum.then(changes.get(at).copied().unwrap_or(GateChange::NONE));
        at = node.end;
    }
    sum
}

struct GateWalk<'o, 'w, 'f> {
    outline: &'o Outline<'w>,
    changes: Vec<GateChange>,
    /// Earlier gates that a run can bypass.
    weak: Vec<usize>,
    found: &'f mut GraphDiagnostics,
}

impl<'o, 'w> GateWalk<'o, 'w, '_> {
    fn sequence(&mut self, range: Range<usize>, mut gated: GateState) -> GateState {
        let mut at = range.start;
        while let Some(node) = self.outline.nodes.get(at).filter(|_| at < range.end) {
            self.step(node, gated);
            gated = self.changes.get(at).map_or(gated, |change| change.of(gated));
            at = node.end;
        }
        gated
    }

    fn step(&mut self, node: &'o OutlineNode<'w>, before: GateState) {
        let asked = asks_a_gate(self.outline, node, "when") || asks_a_gate(self.outline, node, "if");
        let gated = if asked { GateState::Yes } else { before };
        if is_weak(node) {
            self.weak.push(node.at);
        } else if matches!(role(node), NodeRole::Landing | NodeRole::Proposal) {
            self.landing(node, gated);
        } else {
            let round = match node.node.kind.shape().structure() {
                Structure::Rounds { .. } | Structure::Tasks(_) | Structure::Items(_) => {
                    in_a_round(self.outline, node, &self.changes).again().or(GateChange::NONE).of(gated)
                }
                // The run may end anywhere before it.
                Structure::Last(_) => GateState::No,
                Structure::Leaf | Structure::Either(_) | Structure::Beside(_) | Structure::Guarded(_) => {
                    gated
                }
            };
            self.inside(node, round);
        }
    }

    fn inside(&mut self, node: &'o OutlineNode<'w>, gated: GateState) {
        let follows = matches!(node.node.kind.shape().structure(), Structure::Tasks(_));
        let mut at_start = gated;
        for range in self.outline.blocks(node) {
            let after = self.sequence(range, at_start);
            at_start = if follows { after } else { gated };
        }
    }

    fn landing(&mut self, node: &OutlineNode<'_>, gated: GateState) {
        let word = node.node.kind.word();
        match gated {
            GateState::Yes => {}
            GateState::Stale => {
                let finding = GraphDiagnostic::warning(None, word, "the work changes after the last gate");
                self.found.node(node, finding.hint("put another check before it"));
            }
            GateState::No => {
                let text = format!("`{word}` can be reached without passing a check, a review or a person");
                let finding = match role(node) {
                    NodeRole::Proposal => GraphDiagnostic::warning(None, word, text),
                    _ => GraphDiagnostic::error(None, word, text),
                };
                self.found.node(node, finding.hint("put `check: all` before it"));
                self.bypassed(word);
            }
        }
    }

    fn bypassed(&mut self, word: &str) {
        for at in std::mem::take(&mut self.weak) {
            let Some(gate) = self.outline.nodes.get(at) else { continue };
            let (field, why) = match (role(gate), gate.node.on_failure) {
                (NodeRole::Answer, _) => ("ask", "its answer decides nothing"),
                (_, OnFailure::Continue) => ("on_failure", "the run continues when it fails"),
                (_, OnFailure::Fail) => ("when", "the run may skip it"),
            };
            let text = format!("this gate can be bypassed on the way to `{word}`: {why}");
            let hint = format!("test `{}` in a condition before `{word}`", order::reference(gate));
            self.found.node(gate, GraphDiagnostic::warning(None, field, text).hint(hint));
        }
    }
}
