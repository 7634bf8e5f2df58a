//! `windlass tasks list` and `next`: shows the tasks and the one that is next.

use serde_json::{Value, json};
use windlass_core::tasks::{self, Attempts, NextTask, Task, TaskId, TaskStatus};
use windlass_runtime::tasks::LoadedTasks;

use super::{Of, loaded};
use crate::cli::feed::{envelope, words};
use crate::cli::fit;
use crate::cli::invocation::{Invocation, print};
use crate::cli::report::{Report, note};
use crate::cli::sanitize::plain_line;
use crate::cli::terminal::{Terminal, TextTone};
use crate::exit::Exit;

/// The column of the names, which a narrow terminal shortens.
const NAME: usize = 3;

/// The most other ready tasks that are named.
const LISTED: usize = 12;

const TITLES: [&str; 5] = ["ID", "STATUS", "PRIO", "NAME", "WAITS FOR"];

/// Runs `windlass tasks list`.
pub(super) fn list(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let loaded = loaded(invocation, of)?;
    let tasks = &loaded.document.tasks().tasks;
    let waits = tasks::waits(tasks);
    if of.json {
        let lines = tasks.iter().zip(&waits).map(|(task, waits)| {
            let more = [("waits_for", json!(waits))];
            envelope("task", words::now(), None, object(task, more))
        });
        return print(&lines.collect::<Vec<_>>());
    }
    mention_flaws(&loaded);
    if tasks.is_empty() {
        note("no tasks yet: `windlass tasks add NAME` adds one");
        return Ok(Exit::Completed);
    }
    let shown = print(&table(invocation.screen, tasks, &waits))?;
    note(&summary(tasks));
    Ok(shown)
}

/// Returns a task as JSON, with more fields.
pub(super) fn object(task: &Task, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let Ok(Value::Object(mut data)) = serde_json::to_value(task) else { return Value::Null };
    // Always there, so that scripts need not check.
    data.insert("dependencies".to_owned(), json!(task.dependencies));
    data.extend(more.into_iter().map(|(key, value)| (key.to_owned(), value)));
    Value::Object(data)
}

fn mention_flaws(loaded: &LoadedTasks) {
    if !loaded.diagnostics.is_empty() {
        // The stored diagnostics are cut off if there are very many.
        let all = tasks::list_errors(&loaded.document.tasks().tasks).len();
        let count = words::count(all as u64, "problem");
        note(&format!("{count} in {}: see `windlass tasks check`", loaded.place.shown()));
    }
}

fn table(screen: Terminal, tasks: &[Task], waits: &[Vec<&TaskId>]) -> Vec<String> {
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(tasks.iter().zip(waits).map(|(task, waits)| row(screen, task, waits)));
    let tones = std::iter::once(Some(TextTone::Faint)).chain(tasks.iter().map(|task| tone(task.status)));
    let lines = fit::table(&rows, NAME, screen.limit());
    let painted = lines.into_iter().zip(tones).map(|(line, tone)| match tone {
        Some(tone) => screen.paint(tone, &line),
        None => line,
    });
    painted.collect()
}

fn row(screen: Terminal, task: &Task, waits: &[&TaskId]) -> [String; 5] {
    let waits = if task.status.is_met() { String::new() } else { join(waits) };
    [
        plain_line(task.id.as_str()),
        format!("{} {}", sign(screen, task.status), task.status.word()),
        task.priority.map(|priority| priority.to_string()).unwrap_or_default(),
        plain_line(&task.name),
        plain_line(&waits),
    ]
}

fn sign(screen: Terminal, status: TaskStatus) -> &'static str {
    match (status, screen.unicode) {
        (TaskStatus::Pending, true) => "○",
        (TaskStatus::InProgress, true) => "◐",
        (TaskStatus::Passing, true) => "✓",
        (TaskStatus::Failing, true) => "✗",
        (TaskStatus::Skipped, true) => "–",
        (TaskStatus::Pending, false) => "[ ]",
        (TaskStatus::InProgress, false) => "[>]",
        (TaskStatus::Passing, false) => "[x]",
        (TaskStatus::Failing, false) => "[!]",
        (TaskStatus::Skipped, false) => "[-]",
    }
}

fn tone(status: TaskStatus) -> Option<TextTone> {
    match status {
        TaskStatus::Pending => None,
        TaskStatus::InProgress => Some(TextTone::Careful),
        TaskStatus::Passing => Some(TextTone::Good),
        TaskStatus::Failing => Some(TextTone::Bad),
        TaskStatus::Skipped => Some(TextTone::Faint),
    }
}

fn summary(tasks: &[Task]) -> String {
    let tally = tasks::tally(tasks);
    let counts = [
        (tally.passing, TaskStatus::Passing),
        (tally.in_progress, TaskStatus::InProgress),
        (tally.failing, TaskStatus::Failing),
        (tally.pending, TaskStatus::Pending),
        (tally.skipped, TaskStatus::Skipped),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, status)| format!("{count} {}", status.word().replace('_', " ")))
        .collect();
    format!("{}: {}", words::count(tasks.len() as u64, "task"), counts.join(", "))
}

/// Runs `windlass tasks next`.
pub(super) fn next(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let loaded = loaded(invocation, of)?;
    let tasks = &loaded.document.tasks().tasks;
    // Without a run there is no count of tries: a failing task may be tried again.
    let attempts = Attempts::default();
    let next = tasks::next(tasks, &attempts);
    let ready = tasks::ready(tasks, &attempts);
    if of.json {
        print(&[envelope("task.next", words::now(), None, next_object(&next, tasks, &ready))])?;
        return Ok(exit_of(&next));
    }
    mention_flaws(&loaded);
    match &next {
        NextTask::Task(_) => print(&chosen(&ready)),
        NextTask::Working => print(&[format!("no task is ready: {} in progress", join(&working(tasks)))]),
        NextTask::AllDone if tasks.is_empty() => print(&["there are no tasks".to_owned()]),
        NextTask::AllDone => print(&[format!("all tasks are done: {}", summary(tasks))]),
        NextTask::Failed { ids } => {
            let ids: Vec<&TaskId> = ids.iter().collect();
            Err(Report::new(exit_of(&next), format!("failed for good: {}", join(&ids))))
        }
        NextTask::Deadlock(deadlock) => {
            Err(Report::new(exit_of(&next), format!("deadlock: {deadlock}")).hint(deadlock.way_out()))
        }
    }
}

fn exit_of(next: &NextTask) -> Exit {
    match next {
        NextTask::Task(_) | NextTask::Working | NextTask::AllDone => Exit::Completed,
        NextTask::Failed { .. } => Exit::Agent,
        NextTask::Deadlock(_) => Exit::Blocked,
    }
}

fn next_object(next: &NextTask, tasks: &[Task], ready: &[&Task]) -> Value {
    match next {
        NextTask::Task(_) => {
            let ids: Vec<&TaskId> = ready.iter().map(|task| &task.id).collect();
            json!({"next": "task", "task": ready.first().map(|task| object(task, [])), "why": why(ready), "ready": ids})
        }
        NextTask::Working => json!({"next": "working", "in_progress": working(tasks)}),
        NextTask::AllDone => json!({"next": "all_done"}),
        NextTask::Failed { ids } => json!({"next": "failed", "ids": ids}),
        NextTask::Deadlock(deadlock) => {
            json!({"next": "deadlock", "deadlock": deadlock, "why": deadlock.to_string(), "hint": deadlock.way_out()})
        }
    }
}

fn chosen(ready: &[&Task]) -> Vec<String> {
    let Some(task) = ready.first() else { return Vec::new() };
    let mut lines = vec![format!("{}  {}", plain_line(task.id.as_str()), plain_line(&task.name))];
    lines.push(format!("why: {}", plain_line(&why(ready))));
    let others: Vec<&TaskId> = ready.iter().skip(1).map(|task| &task.id).collect();
    if !others.is_empty() {
        let more = others.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let listed: Vec<&TaskId> = others.into_iter().take(LISTED).collect();
        lines.push(format!("also ready: {}{more}", plain_line(&join(&listed))));
    }
    lines
}

/// Explains why the first ready task is next.
fn why(ready: &[&Task]) -> String {
    let Some((task, others)) = ready.split_first() else { return String::new() };
    let turn = match (others.first(), task.priority) {
        (None, _) => "the only one that is ready".to_owned(),
        (Some(second), Some(priority)) if second.priority != Some(priority) => {
            format!("its priority, {priority}, comes first of the {} that are ready", ready.len())
        }
        (Some(_), Some(priority)) => {
            format!("the first in the file with priority {priority}, of {} that are ready", ready.len())
        }
        (Some(_), None) => format!("the first in the file, of {} that are ready", ready.len()),
    };
    let mut reasons = vec![turn];
    if !task.dependencies.is_empty() {
        let before: Vec<&TaskId> = task.dependencies.iter().collect();
        reasons.push(format!("its dependencies are done: {}", join(&before)));
    }
    if task.status == TaskStatus::Failing {
        reasons.push("it is failing and gets another try".to_owned());
    }
    reasons.join("; ")
}

fn working(tasks: &[Task]) -> Vec<&TaskId> {
    tasks.iter().filter(|task| task.status == TaskStatus::InProgress).map(|task| &task.id).collect()
}

fn join(ids: &[&TaskId]) -> String {
    ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ")
}
