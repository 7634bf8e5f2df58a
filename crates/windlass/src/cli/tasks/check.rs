//! `windlass tasks check` and `graph`: reports the errors in the file, and draws the dependencies.

use serde_json::json;
use windlass_runtime::catalog::Diagnostic;
use windlass_runtime::tasks::{draw, inspect};

use super::{Of, TaskFormat, loaded, place, report, tell};
use crate::cli::feed::{envelope, words};
use crate::cli::invocation::{Invocation, print};
use crate::cli::report::Report;
use crate::cli::sanitize::{plain, plain_line};
use crate::exit::Exit;

/// Runs `windlass tasks check`.
pub(super) fn check(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let place = place(invocation, of)?;
    let reading = inspect(&place).map_err(report)?;
    let problems: Vec<Diagnostic> = reading.problems.into_iter().chain(reading.diagnostics).collect();
    let is_fine = !problems.iter().any(Diagnostic::is_error);
    let count = reading.document.map(|document| document.tasks().tasks.len());
    if of.json {
        let line = |problem: &Diagnostic| {
            envelope("diagnostic", words::now(), None, serde_json::to_value(problem).unwrap_or_default())
        };
        let mut lines: Vec<String> = problems.iter().map(line).collect();
        let data = json!({"file": place.path(), "tasks": count, "ok": is_fine});
        lines.push(envelope("checked", words::now(), None, data));
        print(&lines)?;
    } else {
        tell(&problems);
        let count = words::count(count.unwrap_or_default() as u64, "task");
        let fine = [format!("{}: ok, {count}", plain_line(place.shown()))];
        print(if is_fine { &fine } else { &[] })?;
    }
    Ok(if is_fine { Exit::Completed } else { Exit::Configuration })
}

/// Runs `windlass tasks graph`.
pub(super) fn graph(invocation: &Invocation, of: &Of, format: TaskFormat) -> Result<Exit, Report> {
    let loaded = loaded(invocation, of)?;
    let tasks = &loaded.document.tasks().tasks;
    let (name, drawn) = match format {
        TaskFormat::Mermaid => ("mermaid", draw::mermaid(tasks)),
        TaskFormat::Dot => ("dot", draw::dot(tasks)),
    };
    if of.json {
        return print(&[envelope("tasks.graph", words::now(), None, json!({"format": name, "text": drawn}))]);
    }
    print(&plain(&drawn).lines().map(str::to_owned).collect::<Vec<_>>())
}
