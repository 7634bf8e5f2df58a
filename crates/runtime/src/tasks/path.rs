//! Locates the task file.
//!
//! A person may name any file. Windlass follows a link and changes its target, but never outside the project;
//! otherwise a repository could make it rewrite any file.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::error::TasksError;

/// The default paths, in order of preference.
const DEFAULTS: [&str; 2] = ["tasks.json", "research/tasks.json"];

/// The path of a task file, which need not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilePath {
    /// The path without links.
    pub(super) path: PathBuf,
    /// The path as people know it.
    pub(super) shown: String,
}

impl TaskFilePath {
    /// Returns the path without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path as people know it, for messages.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Locates the file that a person named. Without a name, searches this folder and the folders above it in the
/// repository, and falls back to `tasks.json` in this folder.
pub fn locate(cwd: &Path, given: Option<&Path>) -> Result<TaskFilePath, TasksError> {
    let path = match given {
        Some(given) => cwd.join(given),
        None => nearest(cwd).unwrap_or_else(|| cwd.join("tasks.json")),
    };
    let shown = path.strip_prefix(cwd).unwrap_or(&path).display().to_string();
    let folder = path.parent().filter(|_| path.file_name().is_some());
    let Some(folder) = folder else { return Err(io_error(&shown, io::ErrorKind::InvalidInput.into())) };
    let folder = folder.canonicalize().map_err(|error| folder_error(&shown, error))?;
    // A named file may be anywhere; a file found by search must be inside the project.
    let project = match given {
        Some(_) => project_of(&folder).to_owned(),
        None => project_of(&cwd.canonicalize().map_err(|error| io_error(&shown, error))?).to_owned(),
    };
    settle(&folder.join(path.file_name().unwrap_or_default()), &project, shown)
}

/// Locates the file that a workflow names, below the folder of a project.
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
    // A dangling link counts as a file, so that an error names it.
    files.into_iter().find(|path| path.symlink_metadata().is_ok())
}

/// Returns the repository that contains a folder, or the folder itself.
fn project_of(folder: &Path) -> &Path {
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder)
}

/// Follows links and checks that they stay inside the project.
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

/// Returns the path of a missing file in an existing folder.
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

/// Names a missing folder in the error: `tasks init` would not help.
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
