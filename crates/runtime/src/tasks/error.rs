//! Errors about task files, each with a hint.

use std::io;

use windlass_core::id::RunId;
use windlass_core::tasks::{TaskId, TaskStatus};
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::tasks::EditError;
use windlass_peers::files::{FileError, is_refused};

use crate::error::chain;
use crate::user_error::{UserError, UserErrorKind};

/// An error about a task file. `file` is its path as people know it.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// The file does not exist.
    #[error("there is no {file}")]
    Missing { file: String },
    /// The folder of the file does not exist.
    #[error("there is no folder {folder} for {file}")]
    NoFolder { file: String, folder: String },
    /// A file exists that was to be new.
    #[error("{file} already exists")]
    Exists { file: String },
    /// A link or the path itself leads out of the project.
    #[error("{file} leads out of the project {project}")]
    Outside { file: String, project: String },
    #[error("{file} is a link to a file that is not there")]
    Dangling { file: String },
    /// An error of the operating system.
    #[error("{file} cannot be used")]
    Io {
        file: String,
        #[source]
        source: io::Error,
    },
    /// The file cannot be read or written.
    #[error("{file} cannot be used")]
    File {
        file: String,
        #[source]
        source: FileError,
    },
    #[error("{file} is not UTF-8 text")]
    NotText { file: String },
    /// The file is text but contains no tasks.
    #[error("{file} cannot be read as tasks")]
    Broken {
        file: String,
        /// At least one error.
        problems: Vec<Diagnostic>,
    },
    /// Somebody broke the file since it was read.
    #[error("{file} was changed meanwhile and cannot be read as tasks now: nothing was written")]
    BrokenMeanwhile {
        file: String,
        /// At least one error.
        problems: Vec<Diagnostic>,
    },
    /// Somebody removed the file since it was read.
    #[error("{file} was removed meanwhile: nothing was written")]
    Gone { file: String },
    #[error("there is no task `{id}` in {file}")]
    NoSuchTask {
        file: String,
        id: TaskId,
        /// The ids of the existing tasks.
        known: Vec<TaskId>,
    },
    /// Somebody removed the task since the file was read.
    #[error("task `{id}` was removed from {file} meanwhile: nothing was written")]
    TaskGone { file: String, id: TaskId },
    /// Somebody changed the task since the file was read.
    #[error("task `{id}` in {file} is {} now, no longer {}: nothing was written", found.word(), expected.word())]
    StatusChanged { file: String, id: TaskId, expected: TaskStatus, found: TaskStatus },
    /// Another process keeps writing the file.
    #[error("somebody else is writing {file}")]
    Busy { file: String },
    /// A live run works on the file.
    #[error("{file} is being worked on by {}, and two runs would take each other's tasks", named(run.as_ref()))]
    Held {
        file: String,
        /// The run, if it has recorded its id already.
        run: Option<RunId>,
    },
    /// The text around the tasks would be lost.
    #[error(
        "{file} has other text around its tasks, and too many backups of it exist already: nothing was written"
    )]
    NotKept { file: String },
    /// The text cannot be changed.
    #[error("{file} cannot be changed")]
    Edit {
        file: String,
        #[source]
        source: EditError,
    },
}

const READ_ONLY: &str = "make the file and its folder writable, or use another folder";

/// The maximum number of ids in a hint.
const LISTED: usize = 12;

impl TasksError {
    /// Returns a hint about what to do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            TasksError::Missing { file } if file == "tasks.json" => {
                "`windlass tasks init` creates one".to_owned()
            }
            TasksError::Missing { file } => format!("`windlass tasks init --file {file}` creates one"),
            TasksError::NoFolder { folder, .. } => format!("make it: `mkdir -p {folder}`"),
            TasksError::Exists { .. } => "Windlass left it as it is; choose another file".to_owned(),
            TasksError::Outside { .. } => {
                "move the file into the project, or run Windlass in the file's own project".to_owned()
            }
            TasksError::Dangling { .. } => "remove the link, or make the file it names".to_owned(),
            TasksError::Io { source, .. } if is_refused(source) => READ_ONLY.to_owned(),
            TasksError::File { source, .. } if source.is_refused() => READ_ONLY.to_owned(),
            TasksError::Broken { .. } | TasksError::Io { .. } | TasksError::NotText { .. } => return None,
            TasksError::File { .. } | TasksError::Edit { .. } => return None,
            TasksError::NotKept { file } => format!("leave only the JSON in it, or remove {file}.before*"),
            TasksError::BrokenMeanwhile { .. } => "fix it, then try again".to_owned(),
            TasksError::Gone { .. } | TasksError::TaskGone { .. } | TasksError::StatusChanged { .. } => {
                "`windlass tasks list` shows the current tasks".to_owned()
            }
            TasksError::NoSuchTask { known, .. } => listed(known),
            TasksError::Busy { .. } | TasksError::Held { run: None, .. } => {
                "try again when it has ended".to_owned()
            }
            TasksError::Held { run: Some(run), .. } => format!(
                "wait until it has ended, or end it with `windlass cancel {run}`; to run both at once, give the other \
                 run its own task file"
            ),
        })
    }
}

impl TasksError {
    /// Returns the error as one text: what is wrong, where, and what to do.
    pub(crate) fn message(self) -> String {
        let problem = UserError::from(self);
        let text = problem.text();
        match problem.hint {
            Some(hint) => format!("{text}\n  hint: {hint}"),
            None => text,
        }
    }
}

fn named(run: Option<&RunId>) -> String {
    run.map_or_else(|| "another run".to_owned(), |run| format!("run {run}"))
}

fn listed(known: &[TaskId]) -> String {
    if known.is_empty() {
        return "there are none yet: `windlass tasks add NAME` adds one".to_owned();
    }
    let ids: Vec<&str> = known.iter().take(LISTED).map(TaskId::as_str).collect();
    let more = known.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are: {}{more}", ids.join(", "))
}

impl From<TasksError> for UserError {
    fn from(error: TasksError) -> UserError {
        let class = match &error {
            TasksError::NoSuchTask { .. } | TasksError::Held { .. } => UserErrorKind::Usage,
            TasksError::Outside { .. } => UserErrorKind::Refused,
            _ => UserErrorKind::Configuration,
        };
        let hint = error.hint();
        let problem = match &error {
            TasksError::Broken { problems, .. } => {
                return UserError::of(problems).unwrap_or_else(|| UserError::new(class, error.to_string()));
            }
            TasksError::BrokenMeanwhile { problems, .. } => match UserError::of(problems) {
                // Puts a blank line before the errors in the file.
                Some(problem) => problem.after(vec![format!("{error}\n").into()]),
                None => UserError::new(class, error.to_string()),
            },
            _ => UserError::new(class, chain(&error)),
        };
        UserError { hint, ..problem }
    }
}
