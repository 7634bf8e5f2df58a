//! Writes a file that a person asked for: a copy of an entity or a new workflow document.
//!
//! Never overwrites a file, and in a project never follows a link out of it.

use std::path::{Path, PathBuf};

use windlass_peers::files::{FileMode, checkout, is_refused};

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};

/// The place of a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewFileScope {
    /// The `.windlass` folder of the repository.
    Project,
    /// The configuration folder of the user.
    User,
}

impl NewFileScope {
    /// Returns the owner in a full name: `project:NAME`.
    pub fn word(self) -> &'static str {
        match self {
            NewFileScope::Project => "project",
            NewFileScope::User => "user",
        }
    }
}

fn project(cwd: &Path) -> &Path {
    cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd)
}

/// Returns the folder of a scope.
pub(crate) fn base(home: &Home, cwd: &Path, scope: NewFileScope) -> PathBuf {
    match scope {
        NewFileScope::User => home.config.clone(),
        NewFileScope::Project => project(cwd).join(".windlass"),
    }
}

/// Creates a file at a path below the folder of a scope, and returns the full path.
pub(crate) fn put(
    home: &Home,
    cwd: &Path,
    scope: NewFileScope,
    below: &Path,
    text: &str,
) -> Result<PathBuf, UserError> {
    let project = project(cwd);
    let path = base(home, cwd, scope).join(below);
    let wrong =
        |why: String| UserError::new(UserErrorKind::Configuration, format!("{}: {why}", path.display()));
    let folder = path.parent().unwrap_or(project);
    let refused = |problem: UserError| match scope {
        NewFileScope::Project => problem.hint("make the folder writable, or use --user"),
        NewFileScope::User => problem.hint("make the folder writable"),
    };
    std::fs::create_dir_all(folder).map_err(|error| match is_refused(&error) {
        true => refused(wrong(error.to_string())),
        false => wrong(error.to_string()),
    })?;
    if scope == NewFileScope::Project && leads_out(folder, project) {
        return Err(wrong("its folder leads out of the project".to_owned())
            .hint("use --user, or a folder in the project"));
    }
    match checkout::create_new(&path, text.as_bytes(), FileMode::Shared) {
        Ok(true) => Ok(path),
        Ok(false) => {
            let text = format!("{} already exists", path.display());
            Err(UserError::new(UserErrorKind::Configuration, text).hint("edit that file, or move it away"))
        }
        Err(error) if error.is_refused() => Err(refused(wrong(error.why()))),
        Err(error) => Err(wrong(error.why())),
    }
}

fn leads_out(folder: &Path, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(folder).zip(real(project)).is_some_and(|(to, project)| !to.starts_with(project))
}
