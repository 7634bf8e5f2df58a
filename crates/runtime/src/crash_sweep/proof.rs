//! Checks what must be true of the log of a finished run, however often its owner died.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::effect::Effect;
use windlass_core::engine;
use windlass_core::event::{Event, LandingEnd, Record};
use windlass_core::graph::template::NodeOutput;
use windlass_core::graph::workflow::{Node, NodeKind, OnFailure};
use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_core::looping::verdict::CheckResult;
use windlass_core::run::{FinalStatus, News, NodeCause, NodeHistory, Outcome, RunState, Spent};
use windlass_core::spec::Spec;
use windlass_core::tasks::{TaskId, TaskStatus};
use windlass_store::Store;

use super::executor::{RUN, TOKENS};
use super::story::COST;
use super::world::World;

/// The final state, without times and without the order of parallel events.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Left {
    pub(super) runs: BTreeMap<RunId, Ended>,
    /// Everything that was started, with its input.
    pub(super) begun: BTreeMap<String, String>,
    pub(super) tasks: BTreeMap<String, Vec<(TaskId, TaskStatus)>>,
}

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) turns: u32,
    pub(super) spent: Spent,
    pub(super) nodes: BTreeMap<NodeId, Seen>,
    pub(super) outputs: BTreeMap<NodeId, NodeOutput>,
}

/// The history of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// The last instance, why it ran, and how it ended. `None` if chance decides which instance is the last.
    pub(super) last: Option<(NodeId, NodeCause, Option<Outcome>)>,
    pub(super) times: u32,
    pub(super) spent: Spent,
}

/// Records that were parsed already: the logs of two runs of a story have much in common.
#[derive(Default)]
pub(super) struct Known {
    logs: BTreeMap<RunId, Vec<(Vec<u8>, Record)>>,
}

impl Known {
    /// Parses the records of a log. Remembers the first log of a run.
    fn read(&mut self, run: &RunId, bodies: Vec<Vec<u8>>) -> Vec<Record> {
        let known = self.logs.entry(run.clone()).or_default();
        let common = known.iter().zip(&bodies).take_while(|((known, _), body)| known == *body).count();
        let mut log: Vec<Record> = known.iter().take(common).map(|(_, record)| record.clone()).collect();
        log.extend(bodies.iter().skip(common).map(|body| serde_json::from_slice::<Record>(body).unwrap()));
        if known.is_empty() {
            known.extend(bodies.into_iter().zip(log.iter().cloned()));
        }
        log
    }
}

/// Proves every run of a store, and returns the final state.
pub(super) fn prove(store: &Store, world: &World, known: &mut Known) -> Left {
    let mut ended = BTreeMap::new();
    let mut logs = BTreeMap::new();
    for row in store.runs().unwrap() {
        let bodies = store.read_from(&row.id, 1, usize::MAX).unwrap();
        let bodies = bodies.into_iter().map(|record| record.body).collect();
        let log = known.read(&row.id, bodies);
        let state = replay(&row.id, &log);
        planned_once(&row.id, &log);
        settled(&state);
        gates(&state.spec, &log);
        ended.insert(row.id.clone(), end_of(&state));
        logs.insert(row.id, log);
    }
    for (run, log) in &logs {
        children(run, log, &logs, &ended);
    }
    let begun = world.once();
    paid_once(&ended, &begun);
    Left { runs: ended, begun, tasks: world.statuses() }
}

/// Proves that the first run, with its sub-runs, spent exactly the cost of all started turns.
fn paid_once(ended: &BTreeMap<RunId, Ended>, begun: &BTreeMap<String, String>) {
    let turns = begun.keys().filter(|name| name.ends_with(".session")).count() as u64;
    let spent = ended[&RunId::new(RUN)].spent.usage.output_tokens;
    assert_eq!(spent, turns * TOKENS, "{turns} turns were begun");
    let cost = ended[&RunId::new(RUN)].spent.usage.cost();
    let known = cost.usd.unwrap_or_default();
    assert!((known - turns as f64 * COST).abs() < 1e-6 && !cost.is_partial, "{turns} turns cost {cost:?}");
}

/// Replays the log, and proves that every decision in it follows from its events.
fn replay(run: &RunId, log: &[Record]) -> RunState {
    let replayed = engine::replay(run.clone(), log);
    let differences: Vec<String> = replayed.differences.iter().map(ToString::to_string).collect();
    assert!(differences.is_empty(), "run {run}: a replay differs: {}", differences.join("; "));
    replayed.state.expect("a log with a beginning")
}

/// Proves that no effect with an outcome is planned twice.
fn planned_once(run: &RunId, log: &[Record]) {
    let mut seen: BTreeSet<&EffectId> = BTreeSet::new();
    let planned = log.iter().flat_map(|record| &record.effects);
    for planned in planned.filter(|planned| planned.effect.is_settled_by_an_event()) {
        assert!(seen.insert(&planned.id), "run {run}: {} is planned twice", planned.id);
    }
}

/// Proves that nothing is left open, and that the nodes together spent what the run did.
fn settled(state: &RunState) {
    let RunState { run, bookkeeping: book, spent, spec, .. } = state;
    assert!(state.is_done(), "run {run} is not over: {state:?}");
    assert!(book.open.is_empty() && book.deferred.is_empty() && book.asks.is_empty(), "run {run}: {book:?}");
    let mut sum = Spent::default();
    for place in places(&spec.body) {
        let is_paid = matches!(place.node.kind, NodeKind::Session(_) | NodeKind::Workflow(_));
        if let Some(seen) = book.nodes.get(&place.node.id).filter(|_| is_paid) {
            sum.add(&seen.spent);
        }
    }
    assert_eq!(sum, *spent, "run {run}: its nodes spent something else than it did");
}

fn end_of(state: &RunState) -> Ended {
    let beside = nodes_at_once(&state.spec.body);
    let seen = |node: &NodeId, seen: &NodeHistory| Seen {
        last: (!beside.contains(node))
            .then(|| (seen.instance.clone(), seen.cause.clone(), seen.outcome.clone())),
        times: seen.times,
        spent: seen.spent,
    };
    Ended {
        outcome: state.outcome().cloned().unwrap(),
        turns: state.turns(),
        spent: state.spent,
        nodes: state.bookkeeping.nodes.iter().map(|(node, of)| (node.clone(), seen(node, of))).collect(),
        outputs: state
            .bookkeeping
            .outputs
            .iter()
            .filter(|(node, _)| !beside.contains(node) && !ends_by_chance(&state.spec.body, node))
            .map(|(node, output)| (node.clone(), output.clone()))
            .collect(),
    }
}

/// Decides whether a node works on several tasks, or items of a list, at once.
fn works_at_once(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Each(each) => each.jobs > 1,
        NodeKind::TaskLoop(tasks) => tasks.jobs > 1,
        _ => false,
    }
}

/// Decides whether the text of a block is that of whichever item ended last.
fn ends_by_chance(body: &[Node], id: &NodeId) -> bool {
    let all = places(body);
    let Some(block) = all.iter().find(|place| place.node.id == *id) else { return false };
    let blocks = block.node.kind.blocks();
    blocks.iter().flat_map(|block| places(block.body)).any(|place| works_at_once(place.node))
}

/// Returns the nodes that run for several tasks, or items of a list, at once. Their output and history are those
/// of whichever instance was the last.
fn nodes_at_once(body: &[Node]) -> BTreeSet<NodeId> {
    let blocks = places(body).into_iter().filter(|place| works_at_once(place.node));
    let inside = blocks.flat_map(|place| place.node.kind.blocks()).flat_map(|block| places(block.body));
    inside.map(|place| place.node.id.clone()).collect()
}

/// Proves that every sub-run exists, names its parent, and ended as its parent recorded.
fn children(
    run: &RunId,
    log: &[Record],
    logs: &BTreeMap<RunId, Vec<Record>>,
    ended: &BTreeMap<RunId, Ended>,
) {
    let mut started: BTreeMap<&EffectId, &RunId> = BTreeMap::new();
    for planned in log.iter().flat_map(|record| &record.effects) {
        let Effect::StartRun { run: child, .. } = &planned.effect else { continue };
        let Some(first) = logs.get(child).and_then(|log| log.first()) else { continue };
        let Event::RunStarted { spec } = &first.event else { panic!("run {child} has no beginning") };
        let parent = spec.parent.as_ref().expect("a parent");
        assert_eq!((&parent.run, &parent.node), (run, &planned.id.node), "run {child} has another parent");
        started.insert(&planned.id, child);
    }
    for record in log {
        let Event::RunEnded { effect, end } = &record.event else { continue };
        let child = &ended[started[effect]];
        assert_eq!((&end.outcome, end.spent), (&child.outcome, child.spent), "{effect} was told otherwise");
    }
}

/// A node, and the node that must be over before it starts.
struct Place<'s> {
    node: &'s Node,
    before: Option<&'s Node>,
    /// The number of round and attempt marks that enclosing blocks add to its name.
    marks: usize,
}

fn places(body: &[Node]) -> Vec<Place<'_>> {
    let mut into = Vec::new();
    gather(body, None, 0, &mut into);
    into
}

fn gather<'s>(body: &'s [Node], first: Option<&'s Node>, marks: usize, into: &mut Vec<Place<'s>>) {
    let mut before = first;
    for node in body {
        // It runs at every end.
        if matches!(node.kind, NodeKind::Finally(_)) {
            before = None;
        }
        into.push(Place { node, before, marks });
        let has_rounds = matches!(
            node.kind,
            NodeKind::Loop(_) | NodeKind::CriteriaLoop(_) | NodeKind::TaskLoop(_) | NodeKind::Each(_)
        );
        let inside = marks + usize::from(node.retry.times > 0) + usize::from(has_rounds);
        let mut first = None;
        for block in node.kind.blocks() {
            gather(block.body, first, inside, into);
            // The nodes before each task are over before the task starts.
            first = matches!(node.kind, NodeKind::TaskLoop(_)).then(|| block.body.last()).flatten();
        }
        before = Some(node);
    }
}

/// Returns the round and attempt marks in the name of a node, without those of the node itself.
fn mark_of(instance: &NodeId, marks: usize) -> &str {
    let name = instance.as_str();
    let begins: Vec<usize> = name.match_indices(['@', '~']).map(|(at, _)| at).collect();
    let from = begins.first().copied().unwrap_or(name.len());
    let to = begins.get(marks).copied().unwrap_or(name.len());
    &name[from..to]
}

/// Proves that no node starts before its predecessor ended well, and that every gate was passed properly.
fn gates(spec: &Spec, log: &[Record]) {
    let places: BTreeMap<&str, Place<'_>> =
        places(&spec.body).into_iter().map(|place| (place.node.id.as_str(), place)).collect();
    let place_of = |node: &NodeId| {
        let id = node.as_str().split(['@', '~']).next().unwrap_or_default();
        places.get(id).unwrap_or_else(|| panic!("no node `{node}`"))
    };
    let mut over: BTreeMap<String, Option<FinalStatus>> = BTreeMap::new();
    for record in log {
        for planned in &record.effects {
            if let Effect::SettleTask { ok: true, .. } = &planned.effect {
                assert!(
                    is_green(&record.event),
                    "{} settles a task that is not green: {:?}",
                    planned.id,
                    record.event
                );
            }
        }
        for news in &record.news {
            match news {
                News::NodeStarted { node, .. } => {
                    let Place { before, marks, .. } = place_of(node);
                    let Some(before) = before else { continue };
                    let name = format!("{}{}", before.id, mark_of(node, *marks));
                    let Some(how) = over.get(&name) else {
                        panic!("`{node}` begins before `{name}` is over")
                    };
                    let is_well = how.is_none_or(|status| status == FinalStatus::Completed);
                    let goes_on = is_well || before.on_failure == OnFailure::Continue;
                    assert!(goes_on, "`{node}` begins though `{name}` is {how:?}");
                }
                News::NodeFinished { node, outcome, .. } => {
                    let Place { node: definition, marks, .. } = place_of(node);
                    over.insert(format!("{}{}", definition.id, mark_of(node, *marks)), Some(outcome.status));
                    if outcome.status == FinalStatus::Completed {
                        passed(&definition.kind, node, &record.event);
                    }
                }
                News::NodeSkipped { node, .. } => {
                    let Place { node: definition, marks, .. } = place_of(node);
                    over.insert(format!("{}{}", definition.id, mark_of(node, *marks)), None);
                }
                _ => {}
            }
        }
    }
}

/// Proves that the right event opened a gate.
fn passed(kind: &NodeKind, node: &NodeId, by: &Event) {
    let is_passed = match (kind, by) {
        (NodeKind::Ask(_), by) => matches!(by, Event::PersonAnswered { .. }),
        (NodeKind::Check(_), Event::ChecksFinished { effect, results }) => {
            effect.node == *node && green(results)
        }
        (NodeKind::Check(_), _) => false,
        (NodeKind::Workflow(_), Event::RunEnded { end, .. }) => end.outcome.status == FinalStatus::Completed,
        (NodeKind::Workflow(_), _) => false,
        _ => true,
    };
    assert!(is_passed, "`{node}` was passed by {by:?}");
}

fn is_green(event: &Event) -> bool {
    match event {
        Event::ChecksFinished { results, .. } => green(results),
        Event::Landed { end, .. } => matches!(end, LandingEnd::Landed { .. }),
        _ => false,
    }
}

fn green(results: &[CheckResult]) -> bool {
    !results.is_empty() && results.iter().all(|check| check.passed)
}
