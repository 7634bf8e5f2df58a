//! The nodes of a run in the order of its workflow: how far each is, and what it took.

use serde_json::{Value, json};
use windlass_core::engine::explain::{Far, far};
use windlass_core::graph::workflow::Step;
use windlass_core::id::{EffectId, Verb};
use windlass_core::run::{Active, Doing, Spent, State, Status};
use windlass_core::time::Moment;

use super::super::feed::{rfc3339, words};
use super::super::plain::{columns, padded, plain_line};
use super::super::screen::{Screen, Tone};

/// A node, and what is known of it.
pub(super) struct Row<'a> {
    pub(super) step: &'a Step,
    /// How many blocks are around it.
    depth: usize,
    pub(super) far: Far,
    /// How often it began.
    times: u32,
    /// In milliseconds, all times together; until now while it is under way.
    pub(super) took_ms: Option<u64>,
    pub(super) spent: Spent,
}

/// All of them.
pub(super) fn rows(state: &State, now: Moment) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    add(state, now, &state.spec.body, 0, &mut rows);
    rows
}

fn add<'a>(state: &'a State, now: Moment, body: &'a [Step], depth: usize, into: &mut Vec<Row<'a>>) {
    for step in body {
        into.push(row(state, now, step, depth));
        for block in step.act.blocks() {
            add(state, now, block.body, depth + 1, into);
        }
    }
}

fn row<'a>(state: &State, now: Moment, step: &'a Step, depth: usize) -> Row<'a> {
    let seen = state.book.nodes.get(&step.id);
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let under_way: Vec<&&Active> = actives.iter().filter(|active| active.step == step.id).collect();
    let mut spent = seen.map(|seen| seen.spent).unwrap_or_default();
    under_way.iter().for_each(|active| spent.add(&active.spent.since(&active.earlier)));
    let held: u32 = under_way.iter().map(|active| held_turns(state, active)).sum();
    spent.turns = spent.turns.saturating_sub(held);
    let has_begun = |active: &&&&Active| !matches!(active.doing, Doing::Held { .. });
    let so_far: u64 = under_way.iter().filter(has_begun).map(|active| now.since(active.began)).sum();
    let times = seen.map_or(0, |seen| seen.times);
    let took_ms = seen.filter(|_| times > 0).map(|seen| seen.took_ms.saturating_add(so_far));
    Row { step, depth, far: far(state, &step.id), times, took_ms, spent }
}

/// Turns in it that a pause holds back: they are counted when they are planned, and have not begun.
fn held_turns(state: &State, active: &Active) -> u32 {
    let mut within = vec![active];
    active.doing.lanes().into_iter().for_each(|lane| lane.actives(&mut within));
    // Another try of a turn is no other turn.
    let is_first = |id: &&EffectId| id.verb == Verb::Session && id.attempt == 1;
    let is_within = |id: &&EffectId| within.iter().any(|active| active.instance == id.node);
    let held = state.book.held.iter().filter(is_first).filter(is_within).count();
    u32::try_from(held).unwrap_or(u32::MAX)
}

/// The nodes as a table.
pub(super) fn table(screen: Screen, state: &State, now: Moment) -> Vec<String> {
    let rows = rows(state, now);
    let cells: Vec<[String; 6]> = rows.iter().map(cells).collect();
    let mut widths = [0; 6];
    for cells in &cells {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(columns(cell));
        }
    }
    let line = |(row, cells): (&Row<'_>, &[String; 6])| {
        let mut shown = vec![painted(screen, row.far, &padded(row.far.word(), widths[0]))];
        let rest = cells.iter().zip(widths).skip(1).filter(|(_, width)| *width > 0);
        shown.extend(rest.map(|(cell, width)| padded(cell, width)));
        format!("    {}", shown.join("  ")).trim_end().to_owned()
    };
    rows.iter().zip(&cells).map(line).collect()
}

fn cells(row: &Row<'_>) -> [String; 6] {
    let name = format!("{} ({})", row.step.id, row.step.act.word());
    let turns = Some(row.spent.turns).filter(|turns| *turns > 0);
    [
        row.far.word().to_owned(),
        format!("{}{}", "  ".repeat(row.depth), plain_line(&name)),
        Some(row.times).filter(|times| *times > 1).map(|times| format!("{times} times")).unwrap_or_default(),
        row.took_ms.map(words::span).unwrap_or_default(),
        turns.map(|turns| words::count(u64::from(turns), "turn")).unwrap_or_default(),
        row.spent.usage.cost_usd.map(|usd| words::cost(Some(usd))).unwrap_or_default(),
    ]
}

/// The word in the colour of what it means.
pub(super) fn painted(screen: Screen, far: Far, text: &str) -> String {
    let tone = match far {
        Far::NotReached | Far::Skipped => Tone::Faint,
        Far::Running => Tone::Strong,
        Far::Waiting | Far::Held => Tone::Careful,
        Far::Over(Status::Completed) => Tone::Good,
        Far::Over(Status::Failed) => Tone::Bad,
        Far::Over(Status::Blocked | Status::Exhausted | Status::Cancelled) => Tone::Careful,
    };
    screen.paint(tone, text)
}

/// The nodes for programs.
pub(super) fn objects(state: &State, now: Moment) -> Vec<Value> {
    let object = |row: &Row<'_>| {
        let seen = state.book.nodes.get(&row.step.id);
        json!({
            "id": row.step.id,
            "kind": row.step.act.word(),
            "depth": row.depth,
            "state": row.far.word(),
            "times": row.times,
            "instance": seen.map(|seen| &seen.instance),
            "began": seen.map(|seen| rfc3339(seen.began)),
            "ended": seen.and_then(|seen| seen.ended).map(rfc3339),
            "outcome": seen.and_then(|seen| seen.outcome.as_ref()),
            "took_ms": row.took_ms,
            "turns": row.spent.turns,
            "usage": row.spent.usage,
            "cost_usd": row.spent.usage.cost_usd,
        })
    };
    rows(state, now).iter().map(object).collect()
}
