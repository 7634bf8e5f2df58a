//! Takes a task from the task file, and writes its outcome there.
//!
//! The file is always that of the run's workspace, even if a task is done in a worktree. Windlass reads it
//! anew each time and never loses what people and agents write meanwhile.
//!
//! Both steps can be repeated after a crash. A task that a dead run had taken counts as free again, and an
//! outcome can be written twice.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::event::Event;
use windlass_core::graph::template::{self, Scope, TemplateError};
use windlass_core::graph::workflow::Expression;
use windlass_core::id::{EffectId, NodeId};
use windlass_core::tasks::{
    self as core, Attempts, Claim, Deadlock, NextTask, StatusWriter, Task, TaskId, TaskListError, TaskStatus,
};
use windlass_core::time::Moment;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::tasks::claimed;

use super::RunContext;
use crate::clock::now;
use crate::tasks::superseded::is_superseded;
use crate::tasks::vouched::{self, UnvouchedStatuses, VouchedTasks};
use crate::tasks::{LoadedTasks, TaskChange, TaskFilePath, TasksError, change, load, locate, locate_inside};

/// The maximum number of reads when somebody keeps changing the file.
const LOOKS: usize = 10;
/// Describes an error in the task file during a run. A missing file was there before, so the hint is to
/// restore it.
fn told_in_a_run(error: TasksError) -> String {
    let (TasksError::Missing { file } | TasksError::Gone { file }) = &error else { return error.message() };
    format!(
        "{file} was removed during the run\n  hint: restore it before the next run; if it is committed, with \
         `git checkout -- {file}`; an empty file would start a new list"
    )
}

/// The outcome of a task that somebody removed from the file.
const REMOVED: &str = "the task was removed from the file meanwhile";

/// The outcome of a task that another run settled.
const SUPERSEDED: &str =
    "another run worked on the task file while this run was stopped, and it has settled the task";

/// The meaning of a status in the file, other than `in_progress`, for a task that this run works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusClaim {
    /// A claim by the agent or a person.
    Claim,
    /// A fact: another run wrote it after this one died.
    Unchanged,
}

impl StatusClaim {
    /// Decides which of the two a status means in a round.
    pub(super) fn in_round(dir: &Path, round: &NodeId) -> StatusClaim {
        if is_superseded(dir, round) { StatusClaim::Unchanged } else { StatusClaim::Claim }
    }

    /// Returns the status if it is final, no matter how this run's work went.
    fn decided(self, in_file: TaskStatus) -> Option<TaskStatus> {
        (self == StatusClaim::Unchanged && in_file != TaskStatus::InProgress).then_some(in_file)
    }
}

/// A request for the next task.
#[derive(Debug, Clone)]
pub(super) struct TaskQuery {
    /// The file. Without a path, the default locations are searched.
    pub(super) path: Option<String>,
    /// A filter for the ready tasks.
    pub(super) select: Option<Expression>,
    /// The tasks that this run is working on.
    pub(super) busy: Vec<TaskId>,
    /// The number of attempts allowed, and made for each task.
    pub(super) attempts: Attempts,
}

/// The end of the work on a task.
#[derive(Debug, Clone)]
pub(super) struct TaskEnd {
    /// The file. Without a path, the default locations are searched.
    pub(super) path: Option<String>,
    pub(super) task: TaskId,
    /// True if the work and its checks succeeded.
    pub(super) ok: bool,
    /// The last message of the agent that was asked for the task's status. Empty if it was silent; none if no
    /// agent was asked.
    pub(super) said: Option<String>,
    /// The error, if there was one.
    pub(super) why: Option<String>,
    /// The meaning of the status in the file.
    pub(super) file: StatusClaim,
}

/// Chooses the next task and marks it as in progress.
pub(super) fn claim(context: &RunContext, scope: Scope, effect: EffectId, query: TaskQuery) -> Event {
    let workspace = Path::new(&context.spec.workspace);
    let held = place(workspace, query.path.as_deref()).and_then(|place| context.claim_tasks(&place));
    let mut odd = Vec::new();
    let choose = |()| choose(context.vouched_tasks(), workspace, scope, &query, &mut odd, now());
    let claim = held.map_err(TasksError::message).and_then(choose);
    let claim = claim.unwrap_or_else(|why| Claim::Unreadable { why });
    Event::TaskClaimed { effect, claim, odd }
}

/// Writes the outcome of a task into the file.
pub(super) fn settle(context: &RunContext, effect: EffectId, end: TaskEnd) -> Event {
    let (status, why, error) =
        write_end(context.vouched_tasks(), Path::new(&context.spec.workspace), end, now());
    Event::TaskSettled { effect, status, why, error }
}

/// Marks an unfinished task as pending again.
pub(super) fn release(
    context: &RunContext,
    effect: EffectId,
    path: Option<&str>,
    task: &TaskId,
    why: String,
) -> Event {
    match put_back(context.vouched_tasks(), Path::new(&context.spec.workspace), path, task, now()) {
        Ok(status) => Event::TaskSettled { effect, status, why: Some(why), error: None },
        Err(error) => {
            let error = told_in_a_run(error);
            let why = format!("{why}, and it could not be put back: {error}");
            Event::TaskSettled { effect, status: TaskStatus::InProgress, why: Some(why), error: Some(error) }
        }
    }
}

/// Returns the reason not to land successful work: the agent's last message or the file says that the task is
/// not passing.
pub(super) fn withheld(book: VouchedTasks<'_>, workspace: &Path, end: &TaskEnd) -> Option<String> {
    let word = end.said.as_deref().and_then(claimed);
    let (in_file, by) = match place(workspace, end.path.as_deref()).and_then(|place| load(&place)) {
        Ok(seen) => match seen.document.tasks().get(&end.task) {
            Some(task) => (task.status, by(book, &seen.place, &end.task, task.status)),
            None => return Some(REMOVED.to_owned()),
        },
        // The status in the file is unknown. The error appears when the outcome is written.
        Err(_) => (TaskStatus::InProgress, StatusWriter::Anybody),
    };
    if end.file.decided(in_file).is_some() {
        return Some(SUPERSEDED.to_owned());
    }
    match core::settle(end.ok, end.said.is_some(), word, in_file, by) {
        (TaskStatus::Passing, _) => None,
        (TaskStatus::Skipped, _) => Some("the task was skipped meanwhile".to_owned()),
        (status, why) => Some(why.unwrap_or_else(|| status.word()).to_owned()),
    }
}

/// Decides who wrote a status into the file.
fn by(book: VouchedTasks<'_>, place: &TaskFilePath, id: &TaskId, in_file: TaskStatus) -> StatusWriter {
    if book.is_vouched(place, id, in_file) { StatusWriter::Person } else { StatusWriter::Anybody }
}

/// Locates the task file of a run. A path given by the workflow must be inside the workspace.
pub(crate) fn place(workspace: &Path, path: Option<&str>) -> Result<TaskFilePath, TasksError> {
    match path.map(Path::new) {
        Some(path) => locate_inside(workspace, path.strip_prefix(workspace).unwrap_or(path)),
        None => locate(workspace, None),
    }
}

/// Chooses a task, or returns the reason why the file cannot be used.
fn choose(
    book: VouchedTasks<'_>,
    workspace: &Path,
    mut scope: Scope,
    query: &TaskQuery,
    odd: &mut Vec<String>,
    now: Moment,
) -> Result<Claim, String> {
    let place = place(workspace, query.path.as_deref()).map_err(TasksError::message)?;
    for _ in 0..LOOKS {
        odd.clear();
        match look(book, &place, &mut scope, query, odd, now) {
            Ok(claim) => return Ok(claim),
            Err(ClaimObstacle::Changed) => {}
            Err(ClaimObstacle::File(error)) if query.attempts.made.is_empty() => return Err(error.message()),
            Err(ClaimObstacle::File(error)) => return Err(told_in_a_run(error)),
            Err(ClaimObstacle::Unusable(why)) => return Err(why),
        }
    }
    Err(TasksError::Busy { file: place.shown().to_owned() }.message())
}

/// The reason why one attempt to claim a task failed.
enum ClaimObstacle {
    /// Somebody changed the chosen task.
    Changed,
    /// The file cannot be read or written.
    File(TasksError),
    /// Another attempt would not help.
    Unusable(String),
}

impl From<TasksError> for ClaimObstacle {
    fn from(error: TasksError) -> ClaimObstacle {
        match error {
            TasksError::StatusChanged { .. } | TasksError::TaskGone { .. } => ClaimObstacle::Changed,
            error => ClaimObstacle::File(error),
        }
    }
}

fn look(
    book: VouchedTasks<'_>,
    place: &TaskFilePath,
    scope: &mut Scope,
    query: &TaskQuery,
    odd: &mut Vec<String>,
    now: Moment,
) -> Result<Claim, ClaimObstacle> {
    let seen = load(place)?;
    refuse_twins(&seen)?;
    let doubts = book.look(place, &seen.document.tasks().tasks, &query.busy)?;
    odd.extend(doubts.iter().map(|(id, status)| vouched::describe(place.shown(), id, *status)));
    let recovered = change(&seen, &TaskChange::Recover { held: query.busy.clone() }, now)?;
    let recovered = &recovered.document.tasks().tasks;
    let tasks = as_held(&as_believed(recovered, &doubts), &query.busy);
    if query.attempts.allowed == 0 {
        // No round is left, so the only question is whether everything is done.
        return whether_done(&tasks, &doubts, scope, query);
    }
    let Some(task) = first(&tasks, scope, query)? else {
        return match unproven(place, &doubts).filter(|_| query.busy.is_empty()) {
            Some(claim) => Ok(claim),
            None => nothing(&tasks, scope, query),
        };
    };
    let from = recovered.iter().find(|other| other.id == task.id).map(|other| other.status);
    book.vouch(place, &task.id, TaskStatus::InProgress)?;
    let begun = TaskChange::Status { id: task.id.clone(), from, to: TaskStatus::InProgress };
    let begun = change(&seen, &begun, now)?;
    let task = begun.document.tasks().get(&task.id).ok_or(ClaimObstacle::Changed)?;
    Ok(Claim::Task { id: task.id.clone(), task: task_value(task) })
}

/// Decides whether any selectable task is left.
fn whether_done(
    tasks: &[Task],
    doubts: &UnvouchedStatuses,
    scope: &mut Scope,
    query: &TaskQuery,
) -> Result<Claim, ClaimObstacle> {
    if doubts.values().any(Option::is_none) {
        return Ok(Claim::Working);
    }
    for task in tasks.iter().filter(|task| !task.status.is_met()) {
        if is_selected(task, scope, query)? {
            return Ok(Claim::Working);
        }
    }
    Ok(all_done(tasks, scope, query))
}

/// Reports that no selectable task is left. If `select` matches no task at all, that is not a success: it may
/// be a typo.
fn all_done(tasks: &[Task], scope: &mut Scope, query: &TaskQuery) -> Claim {
    let open = tasks.iter().filter(|task| !task.status.is_met()).count();
    let is_any = |task| !matches!(is_selected(task, scope, query), Ok(false));
    match open > 0 && !tasks.iter().any(is_any) {
        true => Claim::NoneSelected { open },
        false => Claim::AllDone,
    }
}

/// Refuses a list in which two tasks share an id: nobody can say which one is meant. Any other error blocks
/// only the tasks it is about.
fn refuse_twins(seen: &LoadedTasks) -> Result<(), ClaimObstacle> {
    let is_twin = |flaw: &TaskListError| matches!(flaw, TaskListError::DuplicateId { .. });
    if !core::list_errors(&seen.document.tasks().tasks).iter().any(is_twin) {
        return Ok(());
    }
    let flaws: Vec<String> = seen.diagnostics.iter().map(Diagnostic::to_string).collect();
    Err(ClaimObstacle::Unusable(flaws.join("\n\n")))
}

/// Shows the tasks that this run works on as in progress, whatever an agent wrote meanwhile. Their status is
/// decided when they are settled.
fn as_held(tasks: &[Task], busy: &[TaskId]) -> Vec<Task> {
    let held = |task: &Task| match busy.contains(&task.id) {
        true => Task { status: TaskStatus::InProgress, ..task.clone() },
        false => task.clone(),
    };
    tasks.iter().map(held).collect()
}

/// Replaces statuses that nobody vouches for: an unproven `passing` becomes pending, and an unproven
/// `skipped` waits for a person.
fn as_believed(tasks: &[Task], doubts: &UnvouchedStatuses) -> Vec<Task> {
    let believed = |task: &Task| match doubts.get(&task.id) {
        Some(Some(TaskStatus::Skipped)) => Task { status: TaskStatus::InProgress, ..task.clone() },
        Some(Some(_)) => Task { status: TaskStatus::Pending, ..task.clone() },
        Some(None) | None => task.clone(),
    };
    tasks.iter().map(believed).collect()
}

/// Lists what a person has to decide before everything can be done.
fn unproven(place: &TaskFilePath, doubts: &UnvouchedStatuses) -> Option<Claim> {
    let open = doubts.iter().filter(|(_, status)| **status != Some(TaskStatus::Passing));
    let why: Vec<String> = open.map(|(id, status)| vouched::describe(place.shown(), id, *status)).collect();
    (!why.is_empty()).then(|| Claim::Unproven { why: why.join("\n") })
}

/// Returns the first ready task that `select` accepts.
fn first<'a>(
    tasks: &'a [Task],
    scope: &mut Scope,
    query: &TaskQuery,
) -> Result<Option<&'a Task>, ClaimObstacle> {
    for task in core::ready(tasks, &query.attempts) {
        if is_selected(task, scope, query)? {
            return Ok(Some(task));
        }
    }
    Ok(None)
}

fn is_selected(task: &Task, scope: &mut Scope, query: &TaskQuery) -> Result<bool, ClaimObstacle> {
    let Some(select) = &query.select else { return Ok(true) };
    scope.set_task(Some(&task_value(task)));
    let wrong = |error: TemplateError| {
        let hint = match &error {
            TemplateError::Undefined { .. } => {
                "\n  hint: not every task has this field: test it with `is defined` first"
            }
            _ => "",
        };
        let (id, written) = (&task.id, select.0.trim());
        ClaimObstacle::Unusable(format!(
            "`select` cannot be evaluated for task `{id}`: {error}, in: {written}{hint}"
        ))
    };
    template::is_true(select, scope).map_err(wrong)
}

/// Explains why no task can be taken. Considers only selected tasks, because the others are left as they are.
fn nothing(tasks: &[Task], scope: &mut Scope, query: &TaskQuery) -> Result<Claim, ClaimObstacle> {
    if !query.busy.is_empty() {
        return Ok(Claim::Working);
    }
    let mut ours = Vec::new();
    for task in tasks {
        if task.status.is_met() || is_selected(task, scope, query)? {
            ours.push(task.clone());
        }
    }
    if let Some((task, other)) = held_up(tasks, &ours) {
        let (task, dependency) = (task.clone(), other.clone());
        return Ok(Claim::Deadlock(Deadlock::LeftOut { task, dependency }));
    }
    match core::next(&ours, &query.attempts) {
        // A ready task would have been taken.
        NextTask::Task(_) => Err(ClaimObstacle::Changed),
        NextTask::Working => Ok(Claim::Working),
        NextTask::AllDone => Ok(all_done(tasks, scope, query)),
        NextTask::Failed { ids } => Ok(Claim::Failed { ids }),
        NextTask::Deadlock(deadlock) => Ok(Claim::Deadlock(deadlock)),
    }
}

/// Returns a selected task that waits for a task which exists but is not selected.
fn held_up<'a>(tasks: &'a [Task], ours: &[Task]) -> Option<(&'a TaskId, &'a TaskId)> {
    let is_ours = |id: &TaskId| ours.iter().any(|task| task.id == *id);
    let is_left_out = |id: &&TaskId| tasks.iter().any(|task| task.id == **id) && !is_ours(id);
    let mut waiting = tasks.iter().zip(core::waits(tasks));
    waiting.find_map(|(task, waits)| {
        let is_open = is_ours(&task.id) && !task.status.is_met();
        let other = waits.into_iter().find(is_left_out).filter(|_| is_open)?;
        Some((&task.id, other))
    })
}

/// Returns everything the file says about a task. Adds the standard fields that the file leaves out, so that
/// every template can use them.
pub(crate) fn task_value(task: &Task) -> Value {
    let mut value = json!({"description": "", "priority": null, "dependencies": [], "metadata": {}});
    let said = serde_json::to_value(task).unwrap_or_default();
    if let (Value::Object(all), Value::Object(said)) = (&mut value, said) {
        all.extend(said);
    }
    value
}

/// Writes the outcome. Returns the status, its reason, and the error if the file could not be written.
fn write_end(
    book: VouchedTasks<'_>,
    workspace: &Path,
    end: TaskEnd,
    now: Moment,
) -> (TaskStatus, Option<String>, Option<String>) {
    let word = end.said.as_deref().and_then(claimed);
    let decide = |in_file, by| match end.file.decided(in_file) {
        // A landing's reason names the branch with the work, so it is kept.
        Some(status) => (status, Some(SUPERSEDED).filter(|_| end.why.is_none())),
        None => core::settle(end.ok, end.said.is_some(), word, in_file, by),
    };
    let written = place(workspace, end.path.as_deref()).and_then(|place| {
        let mut tries = 0..LOOKS;
        loop {
            let written = write_once(book, &place, &end.task, &decide, now);
            match written {
                Err(TasksError::StatusChanged { .. }) if tries.next().is_some() => {}
                written => return written,
            }
        }
    });
    match written {
        Ok((status, reason)) => (status, reason.map(str::to_owned).or(end.why), None),
        Err(TasksError::NoSuchTask { .. } | TasksError::TaskGone { .. }) => {
            // A landing's reason names the branch with the work, so it is kept.
            let why = end.why.filter(|why| why.starts_with(REMOVED)).unwrap_or_else(|| REMOVED.to_owned());
            (TaskStatus::Skipped, Some(why), None)
        }
        Err(error) => {
            let (status, reason) = decide(TaskStatus::InProgress, StatusWriter::Anybody);
            (status, reason.map(str::to_owned).or(end.why), Some(told_in_a_run(error)))
        }
    }
}

/// Marks a task that nobody works on any more as pending. A status from a person or another run stays; an
/// agent's claim was never proven and does not.
fn put_back(
    book: VouchedTasks<'_>,
    workspace: &Path,
    path: Option<&str>,
    id: &TaskId,
    now: Moment,
) -> Result<TaskStatus, TasksError> {
    let place = place(workspace, path)?;
    let mut tries = 0..LOOKS;
    loop {
        let seen = load(&place)?;
        let Some(in_file) = seen.document.tasks().get(id).map(|task| task.status) else {
            return Ok(TaskStatus::Pending);
        };
        let is_claimed = in_file.is_met() && !book.is_vouched(&place, id, in_file);
        if in_file != TaskStatus::InProgress && !is_claimed {
            return Ok(in_file);
        }
        book.vouch(&place, id, TaskStatus::Pending)?;
        let back = TaskChange::Status { id: id.clone(), from: Some(in_file), to: TaskStatus::Pending };
        match change(&seen, &back, now) {
            Ok(_) => return Ok(TaskStatus::Pending),
            Err(TasksError::StatusChanged { .. } | TasksError::TaskGone { .. }) if tries.next().is_some() => {
            }
            Err(error) => return Err(error),
        }
    }
}

type Decided = (TaskStatus, Option<&'static str>);

fn write_once(
    book: VouchedTasks<'_>,
    place: &TaskFilePath,
    id: &TaskId,
    decide: &impl Fn(TaskStatus, StatusWriter) -> Decided,
    now: Moment,
) -> Result<Decided, TasksError> {
    let seen = load(place)?;
    let in_file = seen.document.tasks().get(id).map(|task| task.status);
    let by = in_file.map_or(StatusWriter::Anybody, |in_file| by(book, place, id, in_file));
    // On a repeated write after a crash, the file no longer shows what the agent wrote; the record does.
    let was_tried = in_file == Some(TaskStatus::Failing) && book.is_doubted(place, id, TaskStatus::Skipped);
    let found = if was_tried { TaskStatus::Skipped } else { in_file.unwrap_or(TaskStatus::InProgress) };
    let by = if was_tried { StatusWriter::Anybody } else { by };
    let decided = decide(found, by);
    if found == TaskStatus::Skipped && decided.0 == TaskStatus::Failing {
        book.record_unvouched(place, id, found)?;
    }
    if in_file.is_some() {
        book.vouch(place, id, decided.0)?;
    }
    // The change itself reports a task that is missing.
    change(&seen, &TaskChange::Status { id: id.clone(), from: in_file, to: decided.0 }, now)?;
    Ok(decided)
}

#[cfg(test)]
mod tests;
