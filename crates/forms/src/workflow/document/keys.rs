//! The keys of the language, one table for each mapping.
//!
//! The reader refuses what is not here, the writer and the published schema know the same.

use crate::words::did_you_mean;

/// The keys of a mapping.
pub(super) type KeyTable = &'static [&'static str];

/// A workflow.
pub(super) const TOP: KeyTable =
    &["name", "description", "inputs", "settings", "budget", "plugins", "checks", "nodes"];
/// Something a workflow is told.
pub(super) const INPUT: KeyTable = &["type", "description", "required", "default", "choices"];
/// How sessions are run.
pub(super) const SETTINGS: KeyTable = &["driver", "model", "isolation", "timeout"];
/// What may be spent.
pub(super) const BUDGET: KeyTable = &["turns", "tokens", "cost", "time"];
/// How often a node is tried again.
pub(super) const RETRY: KeyTable = &["times", "delay"];
/// Turns of one agent.
pub(super) const TURNS: KeyTable =
    &["max", "mode", "marker", "match", "promise", "blocked", "continue", "tracker", "stuck_after"];
/// What `loop` says.
pub(super) const LOOP: KeyTable = &["until", "max"];
/// What `task_loop` says.
pub(super) const TASK_LOOP: KeyTable = &["path", "until", "select", "max", "jobs", "attempts"];
/// What `criteria_loop` says.
pub(super) const CRITERIA_LOOP: KeyTable = &["signal", "max"];
/// What `parallel` says.
pub(super) const PARALLEL: KeyTable = &["limit", "join"];
/// What `wait` says, unless it is a duration.
pub(super) const WAIT: KeyTable = &["event", "timeout"];
/// What `review` says.
pub(super) const REVIEW: KeyTable = &["agent", "max_cycles", "threshold"];
/// What `land` says.
pub(super) const LAND: KeyTable = &["target"];
/// What `pull_request` says.
pub(super) const PULL_REQUEST: KeyTable = &["title", "body"];

/// What any node may have.
pub(super) const COMMON: KeyTable =
    &["id", "when", "driver", "model", "isolation", "timeout", "retry", "budget", "on_failure"];

/// All mappings that are not nodes, as the schema calls them; and what all nodes have.
pub(super) const MAPPINGS: &[(&str, KeyTable)] = &[
    ("workflow", TOP),
    ("input", INPUT),
    ("settings", SETTINGS),
    ("budget", BUDGET),
    ("retry", RETRY),
    ("turns", TURNS),
    ("loop", LOOP),
    ("task_loop", TASK_LOOP),
    ("criteria_loop", CRITERIA_LOOP),
    ("parallel", PARALLEL),
    ("wait", WAIT),
    ("review", REVIEW),
    ("land", LAND),
    ("pull_request", PULL_REQUEST),
    ("common", COMMON),
];

/// The keys of which a node has one, each with those that belong to it.
pub(super) const ACTS: &[(&str, KeyTable)] = &[
    ("prompt", &["turns", "schema"]),
    ("agent", &["prompt", "turns", "schema"]),
    ("skill", &["args", "turns", "schema"]),
    ("command", &["args", "turns", "schema"]),
    ("shell", &["idempotent"]),
    ("check", &[]),
    ("if", &["then", "else"]),
    ("loop", &["do"]),
    ("task_loop", &["before_each", "do"]),
    ("criteria_loop", &["do"]),
    ("parallel", &["branches"]),
    ("workflow", &["with"]),
    ("ask", &["choices", "default"]),
    ("wait", &[]),
    ("review", &[]),
    ("land", &[]),
    ("pull_request", &[]),
    ("clear_context", &[]),
];

/// What other tools call something that has another name here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("steps", "nodes"),
    ("tasks", "nodes"),
    ("run", "shell"),
    ("while", "loop"),
    ("body", "do"),
    ("max_iterations", "max"),
    ("tasks_path", "path"),
    ("completion_marker", "marker"),
    ("completion_promise", "promise"),
    ("continue_message", "continue"),
    ("tracker_template", "tracker"),
    ("marker_match", "match"),
    ("blocked_marker", "blocked"),
    ("max_attempts", "attempts"),
    ("max_parallel", "jobs"),
];

/// What belongs to what a node does.
pub(super) fn own(act: &str) -> KeyTable {
    ACTS.iter().find(|(key, _)| *key == act).map_or(&[], |(_, own)| own)
}

/// Which nodes have a key of their own by this name.
pub(super) fn owners(key: &str) -> Vec<&'static str> {
    ACTS.iter().filter(|(_, own)| own.contains(&key)).map(|(act, _)| *act).collect()
}

/// What a key of other tools is called here, if it may stand in this place.
pub(super) fn called_here(key: &str, known: &[&str]) -> Option<&'static str> {
    let (_, here) = ELSEWHERE.iter().find(|(there, _)| is_near(key, there))?;
    known.contains(here).then_some(here)
}

/// Whether somebody probably meant `known`, but wrote what no mapping has, or another tool.
pub(super) fn is_slip_for(key: &str, known: &str) -> bool {
    called_here(key, &[known]).is_some() || !is_key(key) && is_near(key, known)
}

/// Whether no mapping has such a key, or another tool has it.
pub(super) fn is_strange(key: &str) -> bool {
    !is_key(key) || ELSEWHERE.iter().any(|(there, _)| *there == key)
}

fn is_near(key: &str, known: &str) -> bool {
    did_you_mean(key, [known]).is_some()
}

fn is_key(key: &str) -> bool {
    let is_of_node = ACTS.iter().any(|(act, own)| *act == key || own.contains(&key));
    is_of_node || MAPPINGS.iter().any(|(_, keys)| keys.contains(&key))
}

/// Whether a key is a person's own note, which is left alone.
pub(super) fn is_note(key: &str) -> bool {
    key.starts_with("x-")
}
