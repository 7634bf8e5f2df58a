//! Messages about runs that are not in the log or whose log this build cannot read.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::id::RunId;
use windlass_runtime::children::EndedChildren;
use windlass_runtime::handle::{Handle, OtherVersion, StrayRun};

use super::feed::{envelope, words};
use super::report::warn;
use super::sanitize::plain_line;

/// The most dead runs that are named.
const NAMED: usize = 3;

/// Returns a run that is not in the log as JSON.
pub(super) fn object(stray: &StrayRun) -> String {
    let living: Vec<Value> = stray
        .living
        .iter()
        .map(|child| json!({"name": child.name, "host": child.host, "workspace": child.workspace}))
        .collect();
    let data = json!({"folder": stray.dir, "owner": stray.owner, "living": living});
    envelope("run.unknown", words::now(), Some(&stray.run), data)
}

/// The reason why the log does not list the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogState {
    /// The log does not know them.
    Silent,
    /// The log cannot be read.
    Unreadable,
}

/// Describes the runs for people: each run with live processes has a line, all others share one.
pub(super) fn lines(strays: &[StrayRun], log: LogState) -> Vec<String> {
    let (living, dead): (Vec<&StrayRun>, Vec<&StrayRun>) =
        strays.iter().partition(|stray| stray.owner.is_some() || !stray.living.is_empty());
    let mut lines: Vec<String> = living.into_iter().map(|stray| alive(stray, log)).collect();
    let names: Vec<&str> = dead.iter().take(NAMED).map(|stray| stray.run.as_str()).collect();
    let more = if dead.len() > NAMED { format!(" and {} more", dead.len() - NAMED) } else { String::new() };
    if let Some(folder) = dead.first().and_then(|stray| stray.dir.parent()) {
        let names = names.join(", ");
        let (runs, folders) = match dead.len() {
            1 => (format!("run {names} is not in the log and has no live process"), "its folder"),
            _ => (format!("runs {names}{more} are not in the log and have no live process"), "their folders"),
        };
        let folder = folder.display();
        lines.push(format!("{runs}; you can delete {folders} in {folder}"));
    }
    lines
}

fn alive(stray: &StrayRun, log: LogState) -> String {
    let child = |living: &windlass_runtime::handle::LiveChild| {
        let place =
            living.workspace.as_ref().map(|place| format!(" in {}", place.display())).unwrap_or_default();
        let host = living.host.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        plain_line(&format!("{}{place}{host}", living.name))
    };
    let owner = stray.owner.map(|pid| format!("its owner (process {pid})"));
    let parts: Vec<String> = stray.living.iter().map(child).chain(owner).collect();
    let (run, parts) = (&stray.run, parts.join(", "));
    let why = match log {
        LogState::Silent => "is not in the log but still runs",
        LogState::Unreadable => "still runs, but its log cannot be read",
    };
    format!("run {run} {why}: {parts}; `windlass cancel {run}` ends it")
}

/// Describes what was ended.
pub(super) fn ended(ended: &EndedChildren) -> String {
    let EndedChildren { children, processes, left } = *ended;
    let many =
        |count: usize, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let done = match (children, processes) {
        (0, 0) => "nothing was running".to_owned(),
        (_, 0) => format!("ended {}", many(children, "agent or command", "agents or commands")),
        (0, _) => format!("ended {}", many(processes, "process", "processes")),
        _ => format!(
            "ended {} and {}",
            many(children, "agent or command", "agents or commands"),
            many(processes, "further process", "further processes")
        ),
    };
    match left {
        0 => done,
        _ => format!("{done}; {} could not be ended", many(left, "process", "processes")),
    }
}

/// Says how to continue a run that another version recorded.
pub(super) fn binary_hint(run: &RunId, other: &OtherVersion) -> String {
    let with = match &other.binary {
        Some(binary) => format!("`{} resume {run}` continues it", binary.display()),
        None => "finish it with the windlass that recorded it".to_owned(),
    };
    format!("{with}; `windlass cancel {run}` ends it")
}

/// Warns of agents in this folder whose run is not in the log: a new run would work beside them. Returns the
/// warnings.
pub(super) fn warn_of(handle: &Handle, workspace: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    // The code that needs these folders reports read errors.
    for stray in handle.strays().unwrap_or_default() {
        let is_here = |place: &Path| place.starts_with(workspace) || Path::new(workspace).starts_with(place);
        if stray.living.iter().any(|living| living.workspace.as_deref().is_some_and(is_here)) {
            let text = alive(&stray, LogState::Silent);
            warn(&text);
            warnings.push(text);
        }
    }
    warnings
}
