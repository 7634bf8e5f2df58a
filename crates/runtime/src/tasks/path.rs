//! Where the tasks lie.
//!
//! A person may name any file. A link is followed, so that what it names is changed and not the
//! link, but never out of the project: a repository could otherwise have any file rewritten.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::TasksError;

/// Where tasks lie when nobody says, the first before the second.
const DEFAULTS: [&str; 2] = ["tasks.json", "research/tasks.json"];

/// A place for a file of tasks, which need not be there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilePath {
    /// Without links.
    pub(super) path: PathBuf,
    /// As people know it.
    pub(super) shown: String,
}

impl TaskFilePath {
    /// The file, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path as people know it, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// The file a person named, or the one of this folder or of the nearest above it in the
/// repository that has one; `tasks.json` of this folder when none has.
pub fn locate(cwd: &Path, given: Option<&Path>) -> Result<TaskFilePath, TasksError> {
    let path = match given {
        Some(given) => cwd.join(given),
        None => nearest(cwd).unwrap_or_else(|| cwd.join("tasks.json")),
    };
    let shown = path.strip_prefix(cwd).unwrap_or(&path).display().to_string();
    let folder = path.parent().filter(|_| path.file_name().is_some());
    let Some(folder) = folder else { return Err(io_error(&shown, io::ErrorKind::InvalidInput.into())) };
    let folder = folder.canonicalize().map_err(|error| folder_error(&shown, error))?;
    // A file somebody names may lie anywhere; one that is found belongs to the project.
    let project = match given {
        Some(_) => project_of(&folder).to_owned(),
        None => project_of(&cwd.canonicalize().map_err(|error| io_error(&shown, error))?).to_owned(),
    };
    settle(&folder.join(path.file_name().unwrap_or_default()), &project, shown)
}

/// The file that a workflow names, below the folder of a project.
pub fn locate_inside(project: &Path, path: &Path) -> Result<TaskFilePath, TasksError> {
    let shown = path.display().to_string();
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_below || path.file_name().is_none() {
        return Err(TasksError::Outside { file: shown, project: project.display().to_string() });
    }
    let root = project.canonicalize().map_err(|error| io_error(&shown, error))?;
    settle(&root.join(path), &root, shown)
}

fn nearest(cwd: &Path) -> Option<PathBuf> {
    let project = project_of(cwd);
    let within = cwd.ancestors().take_while(|folder| folder.starts_with(project));
    let files = within.flat_map(|folder| DEFAULTS.map(|name| folder.join(name)));
    // A dangling link is a file, too: it is to be named, not passed over.
    files.into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// The repository a folder is in, or the folder itself.
fn project_of(folder: &Path) -> &Path {
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder)
}

/// Follows links, and looks where they lead.
fn settle(path: &Path, root: &Path, shown: String) -> Result<TaskFilePath, TasksError> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => unmade(path, &shown)?,
        Err(error) => return Err(io_error(&shown, error)),
    };
    if !real.starts_with(root) {
        return Err(TasksError::Outside { file: shown, project: root.display().to_string() });
    }
    Ok(TaskFilePath { path: real, shown })
}

/// The path of a file that is not there, in a folder that is.
fn unmade(path: &Path, shown: &str) -> Result<PathBuf, TasksError> {
    if path.symlink_metadata().is_ok() {
        return Err(TasksError::Dangling { file: shown.to_owned() });
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io_error(shown, io::ErrorKind::InvalidInput.into()));
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(_) => Err(TasksError::Missing { file: shown.to_owned() }),
    }
}

/// A folder that is not there is named: to begin the file would not help.
fn folder_error(shown: &str, source: io::Error) -> TasksError {
    let folder = Path::new(shown).parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|_| source.kind() == io::ErrorKind::NotFound) {
        Some(folder) => TasksError::NoFolder { file: shown.to_owned(), folder: folder.display().to_string() },
        None => io_error(shown, source),
    }
}

pub(super) fn io_error(shown: &str, source: io::Error) -> TasksError {
    match source.kind() {
        io::ErrorKind::NotFound => TasksError::Missing { file: shown.to_owned() },
        _ => TasksError::Io { file: shown.to_owned(), source },
    }
}
