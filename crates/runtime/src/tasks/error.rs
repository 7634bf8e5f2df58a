//! Why tasks cannot be read or changed, each with what to do about it.

use std::io;

use windlass_core::id::RunId;
use windlass_core::tasks::{TaskId, TaskStatus};
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::tasks::EditError;
use windlass_peers::files::FileError;

use crate::error::chain;
use crate::user_error::{UserError, UserErrorKind};

/// What went wrong with a file of tasks. `file` is its path as people know it.
#[derive(Debug, thiserror::Error)]
pub enum TasksError {
    /// There is none.
    #[error("there is no {file}")]
    Missing {
        /// Which.
        file: String,
    },
    /// Nor is there the folder it would lie in.
    #[error("there is no folder {folder} for {file}")]
    NoFolder {
        /// Which file.
        file: String,
        /// Its folder.
        folder: String,
    },
    /// There is one, and it was to be new.
    #[error("{file} is there already")]
    Exists {
        /// Which.
        file: String,
    },
    /// A link leads out of the project, or the path does.
    #[error("{file} leads out of the project {project}")]
    Outside {
        /// Which.
        file: String,
        /// The folder it must stay in.
        project: String,
    },
    /// A link to nothing.
    #[error("{file} is a link to a file that is not there")]
    Dangling {
        /// Which.
        file: String,
    },
    /// The system said no.
    #[error("{file} cannot be used")]
    Io {
        /// Which.
        file: String,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// It cannot be read or written as a file.
    #[error("{file} cannot be used")]
    File {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: FileError,
    },
    /// It is not text.
    #[error("{file} is not UTF-8 text")]
    NotText {
        /// Which.
        file: String,
    },
    /// It is text, and not tasks.
    #[error("{file} cannot be read as tasks")]
    Broken {
        /// Which.
        file: String,
        /// What is wrong, at least one error.
        problems: Vec<Diagnostic>,
    },
    /// Somebody broke it since it was read.
    #[error("{file} was changed meanwhile and cannot be read as tasks now: nothing was written")]
    BrokenMeanwhile {
        /// Which.
        file: String,
        /// What is wrong, at least one error.
        problems: Vec<Diagnostic>,
    },
    /// Somebody removed it since it was read.
    #[error("{file} was removed meanwhile: nothing was written")]
    Gone {
        /// Which.
        file: String,
    },
    /// There is no such task.
    #[error("there is no task `{id}` in {file}")]
    NoSuchTask {
        /// In which file.
        file: String,
        /// Which.
        id: TaskId,
        /// Those there are.
        known: Vec<TaskId>,
    },
    /// Somebody removed the task since the file was read.
    #[error("task `{id}` was removed from {file} meanwhile: nothing was written")]
    TaskGone {
        /// In which file.
        file: String,
        /// Which.
        id: TaskId,
    },
    /// Somebody changed the task since the file was read.
    #[error("task `{id}` in {file} is {} now, no longer {}: nothing was written", found.word(), expected.word())]
    StatusChanged {
        /// In which file.
        file: String,
        /// Which.
        id: TaskId,
        /// How far it was to be.
        expected: TaskStatus,
        /// How far it is.
        found: TaskStatus,
    },
    /// Another process is writing it, and does not come to an end.
    #[error("somebody else is writing {file}")]
    Busy {
        /// Which.
        file: String,
    },
    /// A living run works on it.
    #[error("{file} is being worked on by {}, and two runs would take each other's tasks", named(run.as_ref()))]
    Held {
        /// Which.
        file: String,
        /// The run, where it has said so already.
        run: Option<RunId>,
    },
    /// What stands around the tasks would be lost.
    #[error(
        "{file} has other text around its tasks, of which too many copies are kept already: nothing was written"
    )]
    NotKept {
        /// Which.
        file: String,
    },
    /// The text cannot be changed.
    #[error("{file} cannot be changed")]
    Edit {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: EditError,
    },
}

/// So many ids are listed in a hint.
const LISTED: usize = 12;

impl TasksError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            TasksError::Missing { file } if file == "tasks.json" => {
                "`windlass tasks init` begins one".to_owned()
            }
            TasksError::Missing { file } => format!("`windlass tasks init --file {file}` begins one"),
            TasksError::NoFolder { folder, .. } => format!("make it: `mkdir -p {folder}`"),
            TasksError::Exists { .. } => {
                "it was left as it is; choose another with --file or --out".to_owned()
            }
            TasksError::Outside { .. } => "put the file into the project, or go to its own".to_owned(),
            TasksError::Dangling { .. } => "remove the link, or make the file it names".to_owned(),
            TasksError::Broken { .. } | TasksError::Io { .. } | TasksError::NotText { .. } => return None,
            TasksError::File { .. } | TasksError::Edit { .. } => return None,
            TasksError::NotKept { file } => format!("leave only the JSON in it, or remove {file}.before*"),
            TasksError::BrokenMeanwhile { .. } => "put it right, then try again".to_owned(),
            TasksError::Gone { .. } | TasksError::TaskGone { .. } | TasksError::StatusChanged { .. } => {
                "`windlass tasks list` shows how things are now".to_owned()
            }
            TasksError::NoSuchTask { known, .. } => listed(known),
            TasksError::Busy { .. } | TasksError::Held { run: None, .. } => {
                "try again when it has ended".to_owned()
            }
            TasksError::Held { run: Some(run), .. } => format!(
                "try again when it has ended, or end it: `windlass cancel {run}`; tasks for a run beside it need a file of \
                 their own"
            ),
        })
    }
}

impl TasksError {
    /// All that a person needs, in one text: what is wrong, where, and what to do.
    pub(crate) fn told(self) -> String {
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
                // A blank line before what is wrong in the file.
                Some(problem) => problem.after(vec![format!("{error}\n").into()]),
                None => UserError::new(class, error.to_string()),
            },
            _ => UserError::new(class, chain(&error)),
        };
        UserError { hint, ..problem }
    }
}
