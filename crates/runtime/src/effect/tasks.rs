//! Takes a task from its file, and says there how it went.
//!
//! The file is always that of the run's own workspace, whatever worktree a task is done in. It is
//! read anew each time: people and agents edit it meanwhile, and what they wrote is never lost.
//!
//! Done twice, it comes to the same: a task that was taken by a run that died is held by nobody,
//! is put back and taken again; how a task went can be written twice.

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
use crate::tasks::superseded::is_overtaken;
use crate::tasks::vouched::{self, UnvouchedStatuses, VouchedTasks};
use crate::tasks::{LoadedTasks, TaskChange, TaskFilePath, TasksError, change, load, locate, locate_inside};

/// So often a file is looked at again that somebody changed in between.
const LOOKS: usize = 10;
/// What is wrong with a file while a run works on it: one that is gone was there, and is not begun anew.
fn told_in_a_run(error: TasksError) -> String {
    let (TasksError::Missing { file } | TasksError::Gone { file }) = &error else { return error.told() };
    format!(
        "{file} was removed while the run was going\n  hint: get it back before the next run, with `git checkout -- {file}` \
         where it is committed; an empty one would begin a new list"
    )
}

/// What is said of a task that somebody took out of the file.
const REMOVED: &str = "the task was removed from the file meanwhile";

/// What is said of a task that another run settled.
const OVERTAKEN: &str =
    "another run worked on the file while this one was dead, and what it wrote of the task stands";

/// What a status in the file means for a task that is being done, where it is not `in_progress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusClaim {
    /// A claim: the agent wrote it, or a person.
    Claim,
    /// It stands: another run wrote it after this one died.
    Stands,
}

impl StatusClaim {
    /// What it means in a round.
    pub(super) fn in_round(dir: &Path, round: &NodeId) -> StatusClaim {
        if is_overtaken(dir, round) { StatusClaim::Stands } else { StatusClaim::Claim }
    }

    /// How far a task is whatever this run has done for it.
    fn decided(self, in_file: TaskStatus) -> Option<TaskStatus> {
        (self == StatusClaim::Stands && in_file != TaskStatus::InProgress).then_some(in_file)
    }
}

/// Which task is wanted.
#[derive(Debug, Clone)]
pub(super) struct TaskQuery {
    /// The file; the usual places where nothing is said.
    pub(super) path: Option<String>,
    /// Which of the ready tasks may be taken.
    pub(super) select: Option<Expression>,
    /// What this run is at already.
    pub(super) busy: Vec<TaskId>,
    /// How often each may be tried, and was.
    pub(super) attempts: Attempts,
}

/// How the work on a task ended.
#[derive(Debug, Clone)]
pub(super) struct TaskEnd {
    /// The file; the usual places where nothing is said.
    pub(super) path: Option<String>,
    /// Which.
    pub(super) task: TaskId,
    /// What was done for it succeeded, its checks too.
    pub(super) ok: bool,
    /// The last words of the last agent that was asked how the task is, empty where it said nothing;
    /// none where no agent was asked.
    pub(super) said: Option<String>,
    /// What was wrong, where something was.
    pub(super) why: Option<String>,
    /// What the file says counts as this.
    pub(super) file: StatusClaim,
}

/// Chooses the next task and marks it as begun.
pub(super) fn claim(context: &RunContext, scope: Scope, effect: EffectId, query: TaskQuery) -> Event {
    let workspace = Path::new(&context.spec.workspace);
    let held = place(workspace, query.path.as_deref()).and_then(|place| context.claim_tasks(&place));
    let mut odd = Vec::new();
    let choose = |()| choose(context.vouched_tasks(), workspace, scope, &query, &mut odd, now());
    let claim = held.map_err(TasksError::told).and_then(choose);
    let claim = claim.unwrap_or_else(|why| Claim::Unreadable { why });
    Event::TaskClaimed { effect, claim, odd }
}

/// Says in the file how a task went.
pub(super) fn settle(context: &RunContext, effect: EffectId, end: TaskEnd) -> Event {
    let (status, why, error) =
        write_end(context.vouched_tasks(), Path::new(&context.spec.workspace), end, now());
    Event::TaskSettled { effect, status, why, error }
}

/// Puts a task back in the file that was not done, and that nobody is at any more.
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

/// Why what was done for a task is not to be brought back, though it succeeded: it would not be
/// passing by the words of its agent and by its file.
pub(super) fn withheld(book: VouchedTasks<'_>, workspace: &Path, end: &TaskEnd) -> Option<String> {
    let word = end.said.as_deref().and_then(claimed);
    let (in_file, by) = match place(workspace, end.path.as_deref()).and_then(|place| load(&place)) {
        Ok(seen) => match seen.document.tasks().get(&end.task) {
            Some(task) => (task.status, by(book, &seen.place, &end.task, task.status)),
            None => return Some(REMOVED.to_owned()),
        },
        // What the file would say is not known; that it cannot be read is said when it is written.
        Err(_) => (TaskStatus::InProgress, StatusWriter::Anybody),
    };
    if end.file.decided(in_file).is_some() {
        return Some(OVERTAKEN.to_owned());
    }
    match core::settle(end.ok, end.said.is_some(), word, in_file, by) {
        (TaskStatus::Passing, _) => None,
        (TaskStatus::Skipped, _) => Some("the task was given up meanwhile".to_owned()),
        (status, why) => Some(why.unwrap_or_else(|| status.word()).to_owned()),
    }
}

/// Who wrote a status into the file for the task that is being done.
fn by(book: VouchedTasks<'_>, place: &TaskFilePath, id: &TaskId, in_file: TaskStatus) -> StatusWriter {
    if book.is_vouched(place, id, in_file) { StatusWriter::Person } else { StatusWriter::Anybody }
}

/// The file of a run; one with a path of its own must be below the workspace.
pub(crate) fn place(workspace: &Path, path: Option<&str>) -> Result<TaskFilePath, TasksError> {
    match path.map(Path::new) {
        Some(path) => locate_inside(workspace, path.strip_prefix(workspace).unwrap_or(path)),
        None => locate(workspace, None),
    }
}

/// What there is to do, or why the file cannot be used.
fn choose(
    book: VouchedTasks<'_>,
    workspace: &Path,
    mut scope: Scope,
    query: &TaskQuery,
    odd: &mut Vec<String>,
    now: Moment,
) -> Result<Claim, String> {
    let place = place(workspace, query.path.as_deref()).map_err(TasksError::told)?;
    for _ in 0..LOOKS {
        odd.clear();
        match look(book, &place, &mut scope, query, odd, now) {
            Ok(claim) => return Ok(claim),
            Err(ClaimObstacle::Changed) => {}
            Err(ClaimObstacle::File(error)) if query.attempts.made.is_empty() => return Err(error.told()),
            Err(ClaimObstacle::File(error)) => return Err(told_in_a_run(error)),
            Err(ClaimObstacle::Unusable(why)) => return Err(why),
        }
    }
    Err(TasksError::Busy { file: place.shown().to_owned() }.told())
}

/// Why one look came to nothing.
enum ClaimObstacle {
    /// Somebody changed the task that was chosen.
    Changed,
    /// The file cannot be used.
    File(TasksError),
    /// It will not be otherwise at the next look.
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
        // No round is left: only whether everything is done is asked.
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
    Ok(Claim::Task { id: task.id.clone(), task: told(task) })
}

/// Whether any task is left that may be taken.
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

/// Nothing is left that may be taken. Where `select` matches no task at all, that is no success: it may be
/// a slip in it.
fn all_done(tasks: &[Task], scope: &mut Scope, query: &TaskQuery) -> Claim {
    let open = tasks.iter().filter(|task| !task.status.is_met()).count();
    let is_any = |task| !matches!(is_selected(task, scope, query), Ok(false));
    match open > 0 && !tasks.iter().any(is_any) {
        true => Claim::NoneSelected { open },
        false => Claim::AllDone,
    }
}

/// Of two tasks with one id nobody can say which is meant. Any other flaw holds up only the
/// tasks that it is about.
fn refuse_twins(seen: &LoadedTasks) -> Result<(), ClaimObstacle> {
    let is_twin = |flaw: &TaskListError| matches!(flaw, TaskListError::DuplicateId { .. });
    if !core::list_errors(&seen.document.tasks().tasks).iter().any(is_twin) {
        return Ok(());
    }
    let flaws: Vec<String> = seen.diagnostics.iter().map(Diagnostic::to_string).collect();
    Err(ClaimObstacle::Unusable(flaws.join("\n\n")))
}

/// The tasks with those in progress that this run is at, whatever an agent wrote meanwhile: how
/// far they are is said when they are settled.
fn as_held(tasks: &[Task], busy: &[TaskId]) -> Vec<Task> {
    let held = |task: &Task| match busy.contains(&task.id) {
        true => Task { status: TaskStatus::InProgress, ..task.clone() },
        false => task.clone(),
    };
    tasks.iter().map(held).collect()
}

/// The tasks without what nobody stands behind: what is only said to be passing is to be done, and one that
/// no person left out waits for one.
fn as_believed(tasks: &[Task], doubts: &UnvouchedStatuses) -> Vec<Task> {
    let believed = |task: &Task| match doubts.get(&task.id) {
        Some(Some(TaskStatus::Skipped)) => Task { status: TaskStatus::InProgress, ..task.clone() },
        Some(Some(_)) => Task { status: TaskStatus::Pending, ..task.clone() },
        Some(None) | None => task.clone(),
    };
    tasks.iter().map(believed).collect()
}

/// What a person has to decide before all can be done.
fn unproven(place: &TaskFilePath, doubts: &UnvouchedStatuses) -> Option<Claim> {
    let open = doubts.iter().filter(|(_, status)| **status != Some(TaskStatus::Passing));
    let why: Vec<String> = open.map(|(id, status)| vouched::describe(place.shown(), id, *status)).collect();
    (!why.is_empty()).then(|| Claim::Unproven { why: why.join("\n") })
}

/// The first of the ready tasks that may be taken.
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
    scope.set_task(Some(&told(task)));
    let wrong = |error: TemplateError| {
        let hint = match &error {
            TemplateError::Undefined { .. } => {
                "\n  hint: not every task has it: ask first whether it `is defined`"
            }
            _ => "",
        };
        let (id, written) = (&task.id, select.0.trim());
        ClaimObstacle::Unusable(format!(
            "`select` cannot be told for task `{id}`: {error}, in: {written}{hint}"
        ))
    };
    template::is_true(select, scope).map_err(wrong)
}

/// Why there is nothing to take: judged by the tasks that may be taken, since the others are left
/// as they are.
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
        // Then it would have been taken.
        NextTask::Task(_) => Err(ClaimObstacle::Changed),
        NextTask::Working => Ok(Claim::Working),
        NextTask::AllDone => Ok(all_done(tasks, scope, query)),
        NextTask::Failed { ids } => Ok(Claim::Failed { ids }),
        NextTask::Deadlock(deadlock) => Ok(Claim::Deadlock(deadlock)),
    }
}

/// A task of ours that waits for one which is there and is not ours.
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

/// All that the file says of a task, with the fields of ours that it leaves out, so that every
/// template can name them.
pub(crate) fn told(task: &Task) -> Value {
    let mut value = json!({"description": "", "priority": null, "dependencies": [], "metadata": {}});
    let said = serde_json::to_value(task).unwrap_or_default();
    if let (Value::Object(all), Value::Object(said)) = (&mut value, said) {
        all.extend(said);
    }
    value
}

/// How far the task is now, why, and what kept it out of the file.
fn write_end(
    book: VouchedTasks<'_>,
    workspace: &Path,
    end: TaskEnd,
    now: Moment,
) -> (TaskStatus, Option<String>, Option<String>) {
    let word = end.said.as_deref().and_then(claimed);
    let decide = |in_file, by| match end.file.decided(in_file) {
        // What a landing said of it names the branch that holds the work.
        Some(status) => (status, Some(OVERTAKEN).filter(|_| end.why.is_none())),
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
            // What a landing said of it names the branch that holds the work.
            let why = end.why.filter(|why| why.starts_with(REMOVED)).unwrap_or_else(|| REMOVED.to_owned());
            (TaskStatus::Skipped, Some(why), None)
        }
        Err(error) => {
            let (status, reason) = decide(TaskStatus::InProgress, StatusWriter::Anybody);
            (status, reason.map(str::to_owned).or(end.why), Some(told_in_a_run(error)))
        }
    }
}

/// How far a task is that is not worked on any more: what a person or another run wrote about it stays. What
/// its agent claimed was never proven.
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
    // Written once more after a crash, the file does not say any more what was tried.
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
    // A task that is not there is named by the change itself.
    change(&seen, &TaskChange::Status { id: id.clone(), from: in_file, to: decided.0 }, now)?;
    Ok(decided)
}

#[cfg(test)]
mod tests;
