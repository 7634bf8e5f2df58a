//! Reads and changes a task file.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use windlass_core::tasks::{self, Priority, Task, TaskId, TaskStatus, Tasks};
use windlass_core::time::Moment;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::tasks::{self as forms, EditError, ParsedTasks, TaskDocument};
use windlass_peers::files::{self, FileMode, checkout};

use super::error::TasksError;
use super::lock::TaskFileLock;
use super::path::{TaskFilePath, io_error};

/// The maximum size of a task file.
const MAX: u64 = 4 << 20;

/// The maximum number of attempts to change a file that somebody keeps writing.
const ROUNDS: usize = 20;

/// A broken file this young may be half-written, so it is read again.
const YOUNG: Duration = Duration::from_secs(1);
/// The interval and the time limit for reading such a file again.
const AGAIN: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum number of backups of a file with other text around its tasks.
const KEPT: u32 = 100;

/// A task file as it was read.
#[derive(Debug, Clone)]
pub struct LoadedTasks {
    pub place: TaskFilePath,
    pub document: TaskDocument,
    /// Parts that were read leniently.
    pub warnings: Vec<Diagnostic>,
    /// Errors in the list of tasks, although the file can be read.
    pub diagnostics: Vec<Diagnostic>,
    text: String,
}

/// A change to a task file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChange {
    /// A new status for a task.
    Status {
        id: TaskId,
        /// The status that the task must still have on disk, if that matters.
        from: Option<TaskStatus>,
        to: TaskStatus,
    },
    Add(NewTask),
    /// Marks tasks in progress as pending again, because their worker died.
    Recover {
        /// The tasks that are still being worked on.
        held: Vec<TaskId>,
    },
}

/// A new task, which has no id yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewTask {
    /// The task in one line.
    pub name: String,
    pub description: Option<String>,
    pub priority: Option<Priority>,
    /// The tasks that must be done first.
    pub dependencies: Vec<TaskId>,
}

/// The result of a change.
#[derive(Debug, Clone)]
pub struct ChangedTasks {
    /// The file after the change.
    pub document: TaskDocument,
    /// The tasks that were changed or added.
    pub ids: Vec<TaskId>,
    /// The task's status before a status change.
    pub before: Option<TaskStatus>,
    /// True if somebody else had changed the file since it was read. Their change is included.
    pub picked_up: bool,
}

/// Reads the tasks. Errors in the list do not fail the read, because the other tasks can still be done.
pub fn load(place: &TaskFilePath) -> Result<LoadedTasks, TasksError> {
    when_written(place, || {
        let text = text_of(place)?;
        let ParsedTasks { document, problems, diagnostics: flaws } = forms::read(&text, &place.shown);
        match document {
            Some(document) => Ok(LoadedTasks {
                place: place.clone(),
                document,
                warnings: problems,
                diagnostics: flaws,
                text,
            }),
            None => Err(TasksError::Broken { file: place.shown.clone(), problems }),
        }
    })
}

/// Reads a file, and reads it again while it is broken and was written just now.
fn when_written<T>(place: &TaskFilePath, read: impl Fn() -> Result<T, TasksError>) -> Result<T, TasksError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match read() {
            Err(
                TasksError::Broken { .. } | TasksError::BrokenMeanwhile { .. } | TasksError::NotText { .. },
            ) if is_young(place) && Instant::now() < until => sleep(AGAIN),
            done => return done,
        }
    }
}

fn is_young(place: &TaskFilePath) -> bool {
    let written = fs::metadata(&place.path).and_then(|meta| meta.modified()).ok();
    written.and_then(|written| written.elapsed().ok()).is_some_and(|age| age < YOUNG)
}

/// Returns all diagnostics of a file, even if it cannot be used.
pub fn inspect(place: &TaskFilePath) -> Result<ParsedTasks, TasksError> {
    Ok(forms::read(&text_of(place)?, &place.shown))
}

/// Writes a new file. Never overwrites one.
pub fn create(place: &TaskFilePath, tasks: &Tasks) -> Result<(), TasksError> {
    let made = checkout::create_new(&place.path, forms::print(tasks).as_bytes(), FileMode::Shared);
    match made.map_err(|source| file_error(place, source))? {
        true => Ok(()),
        false => Err(TasksError::Exists { file: place.shown.clone() }),
    }
}

/// Reads a `feature-list.json` as tasks, with warnings.
pub fn migrate(place: &TaskFilePath, now: Moment) -> Result<(Tasks, Vec<Diagnostic>), TasksError> {
    let (tasks, problems) = forms::migrate(&text_of(place)?, &place.shown, now);
    match tasks {
        Some(tasks) => Ok((tasks, problems)),
        None => Err(TasksError::Broken { file: place.shown.clone(), problems }),
    }
}

/// Changes a file that was read before. Keeps what somebody else wrote since, or fails and writes nothing.
pub fn change(seen: &LoadedTasks, change: &TaskChange, now: Moment) -> Result<ChangedTasks, TasksError> {
    let place = &seen.place;
    let _lock = TaskFileLock::take(place)?;
    place.path.parent().into_iter().for_each(checkout::clear);
    for _ in 0..ROUNDS {
        let read = || {
            let text = text_of(place)?;
            Ok((document_now(seen, &text)?, text))
        };
        let (document, text) = match when_written(place, read) {
            Err(TasksError::Missing { file }) => return Err(TasksError::Gone { file }),
            read => read?,
        };
        let (after, ids, before) = apply(seen, &document, change)?;
        let picked_up = text != seen.text;
        if after.tasks() == document.tasks() {
            return Ok(ChangedTasks { document, ids, before, picked_up });
        }
        let after = after.touch(now).map_err(|source| edit_error(place, source))?;
        if document.is_excerpt() {
            keep_before(place, &text)?;
        }
        if replace(place, &text, after.text())? {
            return Ok(ChangedTasks { document: after, ids, before, picked_up });
        }
    }
    Err(TasksError::Busy { file: place.shown.clone() })
}

fn document_now(seen: &LoadedTasks, text: &str) -> Result<TaskDocument, TasksError> {
    if text == seen.text {
        return Ok(seen.document.clone());
    }
    let ParsedTasks { document, problems, .. } = forms::read(text, &seen.place.shown);
    document.ok_or_else(|| TasksError::BrokenMeanwhile { file: seen.place.shown.clone(), problems })
}

type Applied = (TaskDocument, Vec<TaskId>, Option<TaskStatus>);

fn apply(seen: &LoadedTasks, document: &TaskDocument, change: &TaskChange) -> Result<Applied, TasksError> {
    match change {
        TaskChange::Status { id, from, to } => set(seen, document, id, *from, *to),
        TaskChange::Add(new) => add(seen, document, new),
        TaskChange::Recover { held } => recover(seen, document, held),
    }
}

fn set(
    seen: &LoadedTasks,
    document: &TaskDocument,
    id: &TaskId,
    from: Option<TaskStatus>,
    to: TaskStatus,
) -> Result<Applied, TasksError> {
    let Some(task) = document.tasks().get(id) else { return Err(no_such_task(seen, document, id)) };
    let found = task.status;
    if let Some(expected) = from.filter(|expected| *expected != found) {
        let (file, id) = (seen.place.shown.clone(), id.clone());
        return Err(TasksError::StatusChanged { file, id, expected, found });
    }
    let after = document.set_status(id, to).map_err(|source| edit_error(&seen.place, source))?;
    Ok((after, vec![id.clone()], Some(found)))
}

fn add(seen: &LoadedTasks, document: &TaskDocument, new: &NewTask) -> Result<Applied, TasksError> {
    let tasks = document.tasks();
    if let Some(unknown) = new.dependencies.iter().find(|id| tasks.get(id).is_none()) {
        return Err(no_such_task(seen, document, unknown));
    }
    let NewTask { name, description, priority, mut dependencies } = new.clone();
    let mut known = BTreeSet::new();
    dependencies.retain(|id| known.insert(id.clone()));
    let id = TaskId::following(&tasks.tasks);
    let task = Task { description, priority, dependencies, ..Task::named(id.clone(), name) };
    let after = document.add(&task).map_err(|source| edit_error(&seen.place, source))?;
    Ok((after, vec![id], None))
}

fn recover(seen: &LoadedTasks, document: &TaskDocument, held: &[TaskId]) -> Result<Applied, TasksError> {
    let ids = tasks::recover(&mut document.tasks().tasks.clone(), |id| held.contains(id));
    let mut after = document.clone();
    for id in &ids {
        after =
            after.set_status(id, TaskStatus::Pending).map_err(|source| edit_error(&seen.place, source))?;
    }
    Ok((after, ids, None))
}

fn no_such_task(seen: &LoadedTasks, document: &TaskDocument, id: &TaskId) -> TasksError {
    let (file, id) = (seen.place.shown.clone(), id.clone());
    if seen.document.tasks().get(&id).is_some() {
        return TasksError::TaskGone { file, id };
    }
    let known = document.tasks().tasks.iter().map(|task| task.id.clone()).collect();
    TasksError::NoSuchTask { file, id, known }
}

fn text_of(place: &TaskFilePath) -> Result<String, TasksError> {
    let bytes = files::read_bounded(&place.path, MAX).map_err(|source| file_error(place, source))?;
    String::from_utf8(bytes).map_err(|_| TasksError::NotText { file: place.shown.clone() })
}

/// Makes a backup of a file beside it, because writing the tasks drops the text around them. Never overwrites
/// a backup.
fn keep_before(place: &TaskFilePath, text: &str) -> Result<(), TasksError> {
    let failed = |source| file_error(place, source);
    for count in 1..=KEPT {
        let mut name = place.path.file_name().unwrap_or_default().to_owned();
        name.push(if count == 1 { ".before".to_owned() } else { format!(".before-{count}") });
        let beside = place.path.with_file_name(name);
        if checkout::create_new(&beside, text.as_bytes(), FileMode::Shared).map_err(failed)? {
            return Ok(());
        }
        if files::read_bounded(&beside, MAX).is_ok_and(|kept| kept == text.as_bytes()) {
            return Ok(());
        }
    }
    Err(TasksError::NotKept { file: place.shown.clone() })
}

/// Replaces the text of the file. Returns false if it no longer has the old text.
///
/// This is not `checkout::write`: it writes and syncs the new file first and compares the old one last. An
/// editor that ignores the lock then has almost no time in which its text could be overwritten.
fn replace(place: &TaskFilePath, old: &str, new: &str) -> Result<bool, TasksError> {
    let path = &place.path;
    if new.len() as u64 > MAX {
        // A larger file could not be read again.
        return Err(file_error(place, files::FileError::TooLarge { path: path.clone(), max: MAX }));
    }
    let io = |error| io_error(&place.shown, error);
    let mode = fs::metadata(path).map_err(io)?.permissions().mode() & 0o777;
    let draft = checkout::draft(path, new.as_bytes(), mode).map_err(|source| file_error(place, source))?;
    if text_of(place)? != old {
        return Ok(false);
    }
    draft.place().map_err(io)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
    Ok(true)
}

fn file_error(place: &TaskFilePath, source: files::FileError) -> TasksError {
    let file = place.shown.clone();
    if source.is_missing() { TasksError::Missing { file } } else { TasksError::File { file, source } }
}

fn edit_error(place: &TaskFilePath, source: EditError) -> TasksError {
    TasksError::Edit { file: place.shown.clone(), source }
}
