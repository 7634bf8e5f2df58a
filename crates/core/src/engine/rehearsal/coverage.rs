//! Finds a way to every node: decides each condition both ways at least once.
//!
//! The number of walks grows with the number of nodes, not with the number of ways: the first walk follows the
//! conditions, and each further one has one goal that no walk has reached yet. On the way to its goal it sets the
//! conditions of the blocks around it, and of the nodes that call its workflow. A second try at the same goal
//! continues after nodes that fail.
//!
//! A new kind of block needs one arm in [`enter`], if its nodes do not simply run.

use std::collections::BTreeSet;

use super::ways::{NodeOf, Steering};
use super::{Rehearsal, RehearsalOptions, RehearsedEffect, RehearsedLoops, StubField, once};
use crate::engine::node::shape::Structure;
use crate::graph::walk::{NodeBlock, find, ids_in};
use crate::graph::workflow::{FINALLY_ID, IfNode, Node, OnFailure, TryNode};
use crate::id::NodeId;
use crate::run::{FinalStatus, Outcome};
use crate::spec::Spec;

/// A further way through the workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct RehearsedWay {
    /// The decision that leads to it, for people.
    pub because: String,
    /// The actions that no earlier way has.
    pub acts: Vec<RehearsedEffect>,
    pub outcome: Outcome,
}

/// A node to which no way leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedNode {
    pub node: NodeId,
    pub workflow: String,
    pub why: String,
}

/// Something that one of the walks must do.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Goal {
    /// Start the node.
    Walked(NodeOf),
    /// Evaluate the condition of an `if` to this.
    Branch(NodeOf, bool),
    /// Skip the node, because its `when` is false.
    Skipped(NodeOf),
    /// Let the node fail, after which the workflow continues.
    Fails(NodeOf),
}

impl Goal {
    fn of(&self) -> &NodeOf {
        match self {
            Goal::Walked(of) | Goal::Branch(of, _) | Goal::Skipped(of) | Goal::Fails(of) => of,
        }
    }
}

/// The nodes of a walk, by what happened to them.
#[derive(Default)]
struct WalkMarks {
    walked: BTreeSet<NodeOf>,
    skipped: BTreeSet<NodeOf>,
    failed: BTreeSet<NodeOf>,
}

impl WalkMarks {
    fn of(acts: &[RehearsedEffect]) -> WalkMarks {
        let mut marks = WalkMarks::default();
        for act in acts {
            match act.what {
                "begins" => marks.walked.insert(owner(act)),
                "skipped" => marks.skipped.insert(owner(act)),
                "ends" => marks.failed.insert(owner(act)),
                _ => false,
            };
        }
        marks
    }

    fn meets(&self, spec: &Spec, goal: &Goal) -> bool {
        match goal {
            Goal::Walked(of) => self.walked.contains(of),
            Goal::Skipped(of) => self.skipped.contains(of),
            Goal::Fails(of) => self.failed.contains(of),
            Goal::Branch(of, condition) => self.takes(spec, of, *condition),
        }
    }

    /// Decides whether a branch of an `if` was taken. Of an empty branch, only the absence of the other tells.
    fn takes(&self, spec: &Spec, of: &NodeOf, condition: bool) -> bool {
        let Some(node) = find(body_of(spec, &of.workflow), &of.node) else { return true };
        let Structure::Either(IfNode { then, otherwise, .. }) = node.kind.shape().structure() else {
            return true;
        };
        let (own, other) = if condition { (then, otherwise) } else { (otherwise, then) };
        let is_reached = |body: &[Node]| {
            let ids = ids_in(body).into_iter();
            let mut ids = ids.map(|node| NodeOf { workflow: of.workflow.clone(), node });
            ids.any(|of| self.walked.contains(&of) || self.skipped.contains(&of))
        };
        self.walked.contains(of) && if own.is_empty() { !is_reached(other) } else { is_reached(own) }
    }
}

fn owner(act: &RehearsedEffect) -> NodeOf {
    NodeOf { workflow: act.workflow.clone(), node: act.node.in_workflow() }
}

/// Walks until every node is reached and every condition decided both ways, as far as possible.
pub(super) fn all_ways(spec: &Spec, options: &RehearsalOptions) -> Rehearsal {
    let options = RehearsalOptions { loops: RehearsedLoops::Once, ..options.clone() };
    let plain = Steering { joins_all: true, ..Steering::default() };
    let mut whole = once(spec, &options, &plain);
    let mut shown: Vec<RehearsedEffect> = whole.acts.clone();
    let mut left = goals(spec);
    let first = WalkMarks::of(&whole.acts);
    left.retain(|goal| !first.meets(spec, goal));
    while !left.is_empty() {
        let goal = left.remove(0);
        let mut steering = plain.clone();
        aim(spec, &goal, &mut steering);
        let (way, is_reached) = try_way(spec, &options, steering, &goal);
        if !is_reached {
            whole.missed.extend(missed(&goal, &way));
            continue;
        }
        let marks = WalkMarks::of(&way.acts);
        left.retain(|goal| !marks.meets(spec, goal));
        let acts = news(&way.acts, &shown);
        shown.extend(acts.iter().cloned());
        whole.ways.push(RehearsedWay { because: because(&goal, spec), acts, outcome: way.outcome });
    }
    whole
}

/// Walks towards a goal, at the second try past nodes that fail.
fn try_way(spec: &Spec, options: &RehearsalOptions, steering: Steering, goal: &Goal) -> (Rehearsal, bool) {
    let way = once(spec, options, &steering);
    if WalkMarks::of(&way.acts).meets(spec, goal) {
        return (way, true);
    }
    let way = once(spec, options, &Steering { carries_on: true, ..steering });
    let is_reached = WalkMarks::of(&way.acts).meets(spec, goal);
    (way, is_reached)
}

/// Returns the actions that no earlier way has: of new nodes, and new ends of known ones.
fn news(acts: &[RehearsedEffect], shown: &[RehearsedEffect]) -> Vec<RehearsedEffect> {
    let known: BTreeSet<NodeOf> = shown.iter().filter(|act| act.what == "begins").map(owner).collect();
    let is_told = |act: &RehearsedEffect| {
        let mut same = shown.iter().filter(|other| owner(other) == owner(act));
        same.any(|other| other.what == act.what && other.text == act.text)
    };
    let is_new = |act: &&RehearsedEffect| match act.what {
        "ends" | "skipped" => !is_told(act),
        _ => !known.contains(&owner(act)),
    };
    acts.iter().filter(is_new).cloned().collect()
}

/// Lists what the walks must do together, in the order of the documents.
fn goals(spec: &Spec) -> Vec<Goal> {
    let mut goals = Vec::new();
    gather(&spec.workflow, &spec.body, &mut goals);
    for (name, other) in &spec.others {
        gather(name, &other.body, &mut goals);
    }
    goals
}

fn gather(workflow: &str, body: &[Node], goals: &mut Vec<Goal>) {
    for node in body {
        let of = || NodeOf { workflow: workflow.to_owned(), node: node.id.clone() };
        goals.push(Goal::Walked(of()));
        if let Structure::Either(_) = node.kind.shape().structure() {
            goals.extend([Goal::Branch(of(), true), Goal::Branch(of(), false)]);
        }
        if node.when.is_some() {
            goals.push(Goal::Skipped(of()));
        }
        if node.on_failure == OnFailure::Continue && !failing_nodes(node).is_empty() {
            goals.push(Goal::Fails(of()));
        }
        for block in node.kind.blocks() {
            gather(workflow, block.body, goals);
        }
    }
}

/// Sets the decisions that lead to a goal.
fn aim(spec: &Spec, goal: &Goal, steering: &mut Steering) {
    lead_to(spec, goal.of(), steering, &mut Vec::new());
    match goal {
        Goal::Walked(_) => {}
        Goal::Branch(of, condition) => drop(steering.conditions.insert(of.clone(), *condition)),
        Goal::Skipped(of) => drop(steering.whens.insert(of.clone(), false)),
        Goal::Fails(of) => {
            let node = find(body_of(spec, &of.workflow), &of.node);
            let failing = node.map(failing_nodes).unwrap_or_default().into_iter();
            steering.fails.extend(failing.map(|node| NodeOf { workflow: of.workflow.clone(), node }));
        }
    }
}

/// Sets the decisions that lead to a node, and to the node that calls its workflow.
fn lead_to(spec: &Spec, to: &NodeOf, steering: &mut Steering, seen: &mut Vec<String>) {
    descend(body_of(spec, &to.workflow), to, steering);
    if to.workflow == spec.workflow || seen.contains(&to.workflow) {
        return;
    }
    seen.push(to.workflow.clone());
    if let Some(caller) = caller(spec, &to.workflow) {
        lead_to(spec, &caller, steering, seen);
    }
}

/// Goes down to a node, and sets what it takes on the way. Returns false if the node is not below.
fn descend(body: &[Node], to: &NodeOf, steering: &mut Steering) -> bool {
    for node in body {
        let of = NodeOf { workflow: to.workflow.clone(), node: node.id.clone() };
        let inside = || node.kind.blocks().into_iter().find(|block| find(block.body, &to.node).is_some());
        let block = if node.id == to.node { None } else { inside() };
        if node.id != to.node && block.is_none() {
            continue;
        }
        if node.when.is_some() {
            steering.whens.insert(of.clone(), true);
        }
        if let Some(block) = block {
            enter(node, &of, block, steering);
            descend(block.body, to, steering);
        }
        return true;
    }
    false
}

/// Sets the decision by which a node enters one of its blocks.
fn enter(node: &Node, of: &NodeOf, block: NodeBlock<'_>, steering: &mut Steering) {
    match node.kind.shape().structure() {
        Structure::Either(_) => {
            steering.conditions.insert(of.clone(), block.field == "then");
        }
        Structure::Guarded(TryNode { body, .. }) if block.field == "catch" => {
            let failing = failing_in(body).map(|node| NodeOf { workflow: of.workflow.clone(), node });
            steering.fails.extend(failing);
        }
        Structure::Leaf
        | Structure::Rounds { .. }
        | Structure::Tasks(_)
        | Structure::Items(_)
        | Structure::Guarded(_)
        | Structure::Last(_)
        | Structure::Beside(_) => {}
    }
}

/// Returns the nodes that must fail so that a node does: itself or, for a block, one in each of its sequences.
fn failing_nodes(node: &Node) -> Vec<NodeId> {
    match node.kind.shape().stub_fields().contains(&StubField::Status) {
        true => vec![node.id.clone()],
        false => node.kind.blocks().iter().filter_map(|block| failing_in(block.body)).collect(),
    }
}

/// Finds the first node that a stub can let fail, and whose failure ends the nodes around it.
fn failing_in(body: &[Node]) -> Option<NodeId> {
    let ends = |node: &&Node| node.on_failure == OnFailure::Fail;
    body.iter().filter(ends).find_map(|node| {
        match node.kind.shape().stub_fields().contains(&StubField::Status) {
            true => Some(node.id.clone()),
            false => node.kind.blocks().into_iter().find_map(|block| failing_in(block.body)),
        }
    })
}

/// Finds a node that calls a workflow.
fn caller(spec: &Spec, workflow: &str) -> Option<NodeOf> {
    let bodies = std::iter::once((&spec.workflow, &spec.body))
        .chain(spec.others.iter().map(|(name, other)| (name, &other.body)));
    bodies.filter(|(name, _)| *name != workflow).find_map(|(name, body)| {
        let ids = ids_in(body).into_iter();
        let is_call = |id: &NodeId| {
            let called = find(body, id).and_then(|node| node.kind.shape().calls());
            called.is_some_and(|called| called.name == workflow)
        };
        ids.into_iter().find(is_call).map(|node| NodeOf { workflow: name.clone(), node })
    })
}

fn body_of<'s>(spec: &'s Spec, workflow: &str) -> &'s [Node] {
    match spec.others.get(workflow) {
        Some(other) if workflow != spec.workflow => &other.body,
        _ => &spec.body,
    }
}

/// Describes the decision that leads to a way.
fn because(goal: &Goal, spec: &Spec) -> String {
    let NodeOf { workflow, node } = goal.of();
    let of = if *workflow == spec.workflow { String::new() } else { format!(" of `{workflow}`") };
    match goal {
        Goal::Walked(_) => format!("if the run comes to `{node}`{of}"),
        Goal::Branch(_, condition) => format!("if the condition of `{node}`{of} is {condition}"),
        Goal::Skipped(_) => format!("if `{node}`{of} is skipped"),
        Goal::Fails(_) => format!("if `{node}`{of} fails"),
    }
}

/// Describes why a walk did not come to its node.
fn missed(goal: &Goal, way: &Rehearsal) -> Option<MissedNode> {
    let Goal::Walked(NodeOf { workflow, node }) = goal else { return None };
    let is_its = |act: &&RehearsedEffect| owner(act) == *goal.of() && act.what == "skipped";
    let skipped = way.acts.iter().find(is_its).map(|act| act.text.clone());
    let ended = || {
        // What `finally` does comes after the end of the run.
        let is_last = |act: &RehearsedEffect| act.what == "begins" && act.path == FINALLY_ID;
        let main = way.acts.iter().position(is_last).and_then(|at| way.acts.get(..at));
        let end = main.unwrap_or(&way.acts).iter().rfind(|act| act.what == "ends");
        end.map(|act| format!("`{}` ends before it: {}", act.node, act.text))
    };
    let detail = || way.outcome.detail.clone().unwrap_or_else(|| way.outcome.reason.sentence().to_owned());
    let why = skipped.or_else(ended).unwrap_or_else(|| match way.outcome.status {
        FinalStatus::Completed => "the run completes without it".to_owned(),
        status => format!("the run is {} before it: {}", status.word(), detail()),
    });
    Some(MissedNode { node: node.clone(), workflow: workflow.clone(), why })
}
