//! The keys of workflow documents, one table for each mapping.
//!
//! The reader refuses every other key. The writer and the published schema use the same keys.

use crate::words::did_you_mean;

pub(super) type KeyTable = &'static [&'static str];

/// Keys of a workflow.
pub(super) const TOP: KeyTable = &[
    "name",
    "description",
    "inputs",
    "settings",
    "budget",
    "plugins",
    "checks",
    "env",
    "gives",
    "nodes",
    "finally",
];
pub(super) const INPUT: KeyTable =
    &["type", "description", "required", "default", "choices", "minimum", "maximum"];
pub(super) const SETTINGS: KeyTable = &["driver", "model", "effort", "isolation", "timeout", "shell"];
pub(super) const BUDGET: KeyTable = &["turns", "tokens", "cost", "time"];
/// Keys of a number that a run computes.
pub(super) const FROM: KeyTable = &["from", "at_most"];
pub(super) const RETRY: KeyTable = &["times", "delay"];
pub(super) const TURNS: KeyTable =
    &["max", "mode", "marker", "match", "promise", "blocked", "continue", "tracker", "stuck_after"];
pub(super) const LOOP: KeyTable = &["until", "max", "forever"];
pub(super) const TASK_LOOP: KeyTable = &["path", "until", "select", "max", "jobs", "attempts", "land"];
pub(super) const EACH: KeyTable = &["in", "as", "jobs", "join", "worktree", "max"];
/// Keys of `finally`, unless it is a list of nodes.
pub(super) const FINALLY: KeyTable = &["timeout", "do"];
pub(super) const CRITERIA_LOOP: KeyTable = &["signal", "max"];
pub(super) const PARALLEL: KeyTable = &["limit", "join"];
/// Keys of `wait`, unless it is a duration.
pub(super) const WAIT: KeyTable = &["event", "timeout"];
pub(super) const REVIEW: KeyTable = &["agent", "max_cycles", "threshold"];
pub(super) const LAND: KeyTable = &["target"];
pub(super) const PULL_REQUEST: KeyTable = &["title", "body"];

/// Keys that every node may have.
pub(super) const COMMON: KeyTable = &[
    "id",
    "when",
    "driver",
    "model",
    "effort",
    "isolation",
    "timeout",
    "env",
    "retry",
    "budget",
    "on_failure",
];

/// The mappings that are not nodes, by their names in the schema, and the keys common to all nodes.
pub(super) const MAPPINGS: &[(&str, KeyTable)] = &[
    ("workflow", TOP),
    ("input", INPUT),
    ("settings", SETTINGS),
    ("budget", BUDGET),
    ("retry", RETRY),
    ("computed_count", FROM),
    ("computed_time", FROM),
    ("turns", TURNS),
    ("loop", LOOP),
    ("task_loop", TASK_LOOP),
    ("criteria_loop", CRITERIA_LOOP),
    ("each", EACH),
    ("finally", FINALLY),
    ("parallel", PARALLEL),
    ("wait", WAIT),
    ("review", REVIEW),
    ("land", LAND),
    ("pull_request", PULL_REQUEST),
    ("common", COMMON),
];

/// The keys that define a node's kind (a node has exactly one), each with the keys that belong to
/// it.
pub(super) const KIND_KEYS: &[(&str, KeyTable)] = &[
    ("prompt", &["turns", "schema", "continue", "tools"]),
    ("agent", &["prompt", "turns", "schema", "continue", "tools"]),
    ("skill", &["args", "turns", "schema", "continue", "tools"]),
    ("command", &["args", "turns", "schema", "continue", "tools"]),
    ("shell", &["idempotent", "stdin", "schema"]),
    ("check", &[]),
    ("if", &["then", "else"]),
    ("loop", &["do"]),
    ("task_loop", &["before_each", "do"]),
    ("criteria_loop", &["do"]),
    ("each", &["do"]),
    ("parallel", &["branches"]),
    ("try", &["catch"]),
    ("fail", &[]),
    ("workflow", &["with"]),
    ("ask", &["choices", "default"]),
    ("wait", &[]),
    ("review", &[]),
    ("land", &[]),
    ("pull_request", &[]),
    ("clear_context", &[]),
];

/// Keys of other tools, with the key that Windlass uses instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("steps", "nodes"),
    ("tasks", "nodes"),
    ("run", "shell"),
    ("while", "loop"),
    ("foreach", "each"),
    ("for_each", "each"),
    ("matrix", "each"),
    ("fan_out", "each"),
    ("always", "finally"),
    ("rescue", "catch"),
    ("returns", "gives"),
    ("items", "in"),
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

/// Returns the keys that belong to a kind of node.
pub(super) fn own(act: &str) -> KeyTable {
    KIND_KEYS.iter().find(|(key, _)| *key == act).map_or(&[], |(_, own)| own)
}

/// Returns the kinds of node that this key belongs to.
pub(super) fn owners(key: &str) -> Vec<&'static str> {
    KIND_KEYS.iter().filter(|(_, own)| own.contains(&key)).map(|(act, _)| *act).collect()
}

/// Returns Windlass's key for a key of another tool, if it is allowed in this mapping.
pub(super) fn called_here(key: &str, known: &[&str]) -> Option<&'static str> {
    let (_, here) = ELSEWHERE.iter().find(|(there, _)| is_near(key, there))?;
    known.contains(here).then_some(here)
}

/// Decides whether `key` is probably meant as `known`: a misspelling that is no key itself, or
/// another tool's name for it.
pub(super) fn is_slip_for(key: &str, known: &str) -> bool {
    called_here(key, &[known]).is_some() || !is_key(key) && is_near(key, known)
}

/// Decides whether a key is unknown in every mapping, or belongs to another tool.
pub(super) fn is_strange(key: &str) -> bool {
    !is_key(key) || ELSEWHERE.iter().any(|(there, _)| *there == key)
}

fn is_near(key: &str, known: &str) -> bool {
    did_you_mean(key, [known]).is_some()
}

fn is_key(key: &str) -> bool {
    let is_of_node = KIND_KEYS.iter().any(|(act, own)| *act == key || own.contains(&key));
    is_of_node || MAPPINGS.iter().any(|(_, keys)| keys.contains(&key))
}

/// Decides whether a key is a user's own note, which Windlass ignores.
pub(super) fn is_note(key: &str) -> bool {
    key.starts_with("x-")
}
