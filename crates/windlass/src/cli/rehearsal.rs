//! The steps of a rehearsal, for people and as JSON. `--dry-run` and `workflow test` show them.

use serde_json::{Value, json};
use windlass_core::engine::rehearsal::{MissedNode, Rehearsal, RehearsedEffect, RehearsedWay};
use windlass_core::run::{FinalStatus, Outcome};

use super::feed::words;
use super::sanitize::{plain_line, plain_short};

/// The longest text that is shown for one step.
const TEXT: usize = 100;

/// Returns one line for each step, indented by the blocks around it.
pub(super) fn step_lines(acts: &[RehearsedEffect]) -> Vec<String> {
    let befores = std::iter::once(None).chain(acts.iter().map(Some));
    acts.iter().zip(befores).map(|(this, before)| step_line(this, before)).collect()
}

/// Formats one step. It names the node if the line above is about another node.
fn step_line(act: &RehearsedEffect, before: Option<&RehearsedEffect>) -> String {
    let (node, text) = (plain_line(act.node.as_str()), plain_short(&act.text, TEXT));
    let (deeper, line) = match act.what {
        "begins" => (0, format!("{node} ({text})")),
        "skipped" => (0, format!("{node} is skipped: {text}")),
        // Items that run at once take turns, so the lines above may be about another one.
        "round" | "loops" if node.contains('@') => (1, format!("{node}: {text}")),
        "round" | "loops" | "otherwise" => (1, text),
        what if before.is_some_and(|before| before.node == act.node) => (1, format!("{what}: {text}")),
        what => (1, format!("{node} {what}: {text}")),
    };
    format!("{}{line}", "  ".repeat(1 + act.depth + deeper))
}

/// Describes the end of a rehearsal.
pub(super) fn end_words(outcome: &Outcome) -> String {
    match outcome.status {
        FinalStatus::Completed => outcome.status.word().to_owned(),
        _ => words::outcome(outcome),
    }
}

/// Describes a further way: the decision that leads to it, its new steps, and its end.
pub(super) fn way_lines(way: &RehearsedWay) -> Vec<String> {
    let mut lines = vec![format!("{}:", plain_line(&way.because))];
    lines.extend(step_lines(&way.acts));
    if way.acts.is_empty() {
        lines.push("  no new node".to_owned());
    }
    if way.outcome.status != FinalStatus::Completed {
        lines.push(format!("  this way ends as {}", end_words(&way.outcome)));
    }
    lines
}

/// Lists the nodes to which no way leads.
pub(super) fn missed_lines(missed: &[MissedNode], workflow: &str) -> Vec<String> {
    if missed.is_empty() {
        return vec!["every node is reached".to_owned()];
    }
    let line = |node: &MissedNode| {
        let of = if node.workflow == workflow { String::new() } else { format!(" of {}", node.workflow) };
        format!("  {}: {}", plain_line(&format!("{}{of}", node.node)), plain_short(&node.why, TEXT))
    };
    let count = words::count(missed.len() as u64, "node");
    let mut lines = vec![format!("{count} not reached:")];
    lines.extend(missed.iter().map(line));
    lines
}

/// Returns a rehearsal as JSON.
pub(super) fn object(rehearsal: &Rehearsal) -> Value {
    let Rehearsal { acts, outcome, run_outcome, turns, ways, missed } = rehearsal;
    let all = |acts: &[RehearsedEffect]| acts.iter().map(step_object).collect::<Vec<_>>();
    let way =
        |way: &RehearsedWay| json!({"because": way.because, "acts": all(&way.acts), "outcome": way.outcome});
    let missing = |node: &MissedNode| json!({"node": node.node, "workflow": node.workflow, "why": node.why});
    json!({
        "acts": all(acts),
        "outcome": outcome,
        "run_outcome": run_outcome,
        "turns": turns,
        "ways": ways.iter().map(way).collect::<Vec<_>>(),
        "missed": missed.iter().map(missing).collect::<Vec<_>>(),
    })
}

fn step_object(act: &RehearsedEffect) -> Value {
    json!({
        "node": act.node,
        "path": act.path,
        "workflow": act.workflow,
        "depth": act.depth,
        "what": act.what,
        "text": act.text,
    })
}
