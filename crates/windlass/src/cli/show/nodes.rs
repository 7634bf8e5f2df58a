//! Lists the nodes of a run in the order of its workflow, with the progress, time and cost of each.

use serde_json::{Value, json};
use windlass_core::engine::explain::{NodeProgress, far};
use windlass_core::graph::workflow::Node;
use windlass_core::id::{EffectId, Verb};
use windlass_core::run::{ActiveNode, Activity, FinalStatus, RunState, Spent};
use windlass_core::time::Moment;

use super::super::feed::{add_output, rfc3339, words};
use super::super::sanitize::{columns, padded, plain_line, shorten};
use super::super::terminal::{Terminal, TextTone};
use super::RunDetails;

/// A node with its progress, time and cost.
pub(super) struct NodeRow<'a> {
    pub(super) node: &'a Node,
    /// The number of blocks around the node.
    depth: usize,
    pub(super) far: NodeProgress,
    /// The number of its starts, and of those that failed.
    times: u32,
    failed: u32,
    /// The milliseconds of all starts together; a running node counts until now.
    pub(super) took_ms: Option<u64>,
    pub(super) spent: Spent,
}

/// Returns all nodes of a run.
pub(super) fn rows(state: &RunState, now: Moment) -> Vec<NodeRow<'_>> {
    let mut rows = Vec::new();
    add(state, now, &state.spec.body, 0, &mut rows);
    rows
}

fn add<'a>(state: &'a RunState, now: Moment, body: &'a [Node], depth: usize, into: &mut Vec<NodeRow<'a>>) {
    for node in body {
        into.push(row(state, now, node, depth));
        for block in node.kind.blocks() {
            add(state, now, block.body, depth + 1, into);
        }
    }
}

fn row<'a>(state: &RunState, now: Moment, step: &'a Node, depth: usize) -> NodeRow<'a> {
    let seen = state.bookkeeping.nodes.get(&step.id);
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let under_way: Vec<&&ActiveNode> = actives.iter().filter(|active| active.step == step.id).collect();
    let mut spent = seen.map(|seen| seen.spent).unwrap_or_default();
    under_way.iter().for_each(|active| spent.add(&active.spent.since(&active.earlier)));
    let held: u32 = under_way.iter().map(|active| held_turns(state, active)).sum();
    spent.turns = spent.turns.saturating_sub(held);
    let has_begun = |active: &&&&ActiveNode| !matches!(active.activity, Activity::Deferred { .. });
    let so_far: u64 = under_way.iter().filter(has_begun).map(|active| now.since(active.began)).sum();
    let times = seen.map_or(0, |seen| seen.times);
    let took_ms = seen.filter(|_| times > 0).map(|seen| seen.took_ms.saturating_add(so_far));
    let failed = seen.map_or(0, |seen| seen.failed);
    NodeRow { node: step, depth, far: far(state, &step.id), times, failed, took_ms, spent }
}

/// Counts the turns that a pause defers: the engine has counted them already, but they have not started.
fn held_turns(state: &RunState, active: &ActiveNode) -> u32 {
    let mut within = vec![active];
    active.activity.lanes().into_iter().for_each(|lane| lane.actives(&mut within));
    // A retry is the same turn.
    let is_first = |id: &&EffectId| id.verb == Verb::Session && id.attempt == 1;
    let is_within = |id: &&EffectId| within.iter().any(|active| active.instance == id.node);
    let held = state.bookkeeping.deferred.iter().filter(is_first).filter(is_within).count();
    u32::try_from(held).unwrap_or(u32::MAX)
}

/// The column of the names, and the least width to which a narrow terminal shortens it.
const NAME: usize = 1;
const NAME_MIN: usize = 16;

/// Returns the nodes as a table.
pub(super) fn table(screen: Terminal, state: &RunState, now: Moment) -> Vec<String> {
    let rows = rows(state, now);
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let mut widths = [0; 6];
    for cells in &cells {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(columns(cell));
        }
    }
    let whole = 4 + widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum::<usize>() - 2;
    let over = screen.limit().map_or(0, |limit| whole.saturating_sub(limit));
    widths[NAME] = widths[NAME].saturating_sub(over).max(NAME_MIN.min(widths[NAME]));
    let line = |(row, cells): (&NodeRow<'_>, &[String; 6])| {
        let mut shown = vec![painted(screen, row.far, &padded(row.far.word(), widths[0]))];
        let rest = cells.iter().zip(widths).skip(1).filter(|(_, width)| *width > 0);
        shown.extend(rest.map(|(cell, width)| padded(&shorten(cell, width), width)));
        format!("    {}", shown.join("  ")).trim_end().to_owned()
    };
    rows.iter().zip(&cells).map(line).collect()
}

fn cells(row: &NodeRow<'_>) -> [String; 6] {
    let name = format!("{} ({})", row.node.id, row.node.kind.word());
    let turns = Some(row.spent.turns).filter(|turns| *turns > 0);
    [
        row.far.word().to_owned(),
        format!("{}{}", "  ".repeat(row.depth), plain_line(&name)),
        times(row.times, row.failed).unwrap_or_default(),
        row.took_ms.map(words::span).unwrap_or_default(),
        turns.map(|turns| words::count(u64::from(turns), "turn")).unwrap_or_default(),
        words::known_cost(row.spent.usage.cost()).unwrap_or_default(),
    ]
}

/// Says how often a node ran, if more than once, and how often it failed.
pub(super) fn times(times: u32, failed: u32) -> Option<String> {
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    (times > 1).then(|| format!("ran {times} times{failed}"))
}

/// Paints a text in the colour of the node's progress.
pub(super) fn painted(screen: Terminal, far: NodeProgress, text: &str) -> String {
    let tone = match far {
        NodeProgress::NotReached | NodeProgress::Skipped => TextTone::Faint,
        NodeProgress::Running => TextTone::Strong,
        NodeProgress::Waiting | NodeProgress::Held => TextTone::Careful,
        NodeProgress::Over(FinalStatus::Completed) => TextTone::Good,
        NodeProgress::Over(FinalStatus::Failed) => TextTone::Bad,
        NodeProgress::Over(
            FinalStatus::Blocked | FinalStatus::Exhausted | FinalStatus::Interrupted | FinalStatus::Cancelled,
        ) => TextTone::Careful,
    };
    screen.paint(tone, text)
}

/// Returns the nodes as JSON.
pub(super) fn objects(details: &RunDetails, now: Moment) -> Vec<Value> {
    let state = &details.view.state;
    let object = |row: &NodeRow<'_>| {
        let seen = state.bookkeeping.nodes.get(&row.node.id);
        let mut data = json!({
            "id": row.node.id,
            "kind": row.node.kind.word(),
            "depth": row.depth,
            "state": row.far.word(),
            "times": row.times,
            "failed": row.failed,
            "instance": seen.map(|seen| &seen.instance),
            "began": seen.map(|seen| rfc3339(seen.began)),
            "ended": seen.and_then(|seen| seen.ended).map(rfc3339),
            "outcome": seen.and_then(|seen| seen.outcome.as_ref()),
            "took_ms": row.took_ms,
            "turns": row.spent.turns,
            "usage": row.spent.usage,
            "cost_usd": row.spent.usage.cost_usd,
            "exit_code": details.exit_codes.get(&row.node.id),
        });
        if let Value::Object(map) = &mut data {
            add_output(map, state.bookkeeping.outputs.get(&row.node.id));
        }
        data
    };
    rows(state, now).iter().map(object).collect()
}
