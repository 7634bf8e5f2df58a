//! Adds the workflow of a file that a person names by its path.

use std::path::{Path, PathBuf};

use super::{Catalog, Of, WorkflowEntry, add};
use crate::user_error::{UserError, UserErrorKind};

/// The source of a workflow that was named by its path.
pub(super) const SOURCE: &str = "file";

/// A path as a person wrote it, and the file.
#[derive(Debug, Clone)]
pub(super) struct NamedFile {
    written: String,
    path: PathBuf,
}

impl Catalog {
    /// Adds the workflow of a file if `wanted` is a path and not the name of a workflow, and those in its
    /// folder that it runs. Fails if the file does not exist.
    pub(crate) fn add_file(&mut self, cwd: &Path, wanted: &str) -> Result<(), UserError> {
        if !is_path(wanted) || self.workflows.iter().any(|entry| entry.name == wanted) {
            return Ok(());
        }
        let path = cwd.join(wanted);
        if !path.exists() || path.is_dir() {
            return Err(UserError::new(UserErrorKind::Configuration, format!("there is no file `{wanted}`"))
                .hint("`windlass workflow list` lists the workflows that have a name"));
        }
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let known = self.files.iter().find(|known| real(known) == real(&path)).cloned();
        let file = NamedFile { written: wanted.to_owned(), path: known.clone().unwrap_or(path) };
        self.add_called_beside(&file.path);
        if known.is_none() {
            self.files.push(file.path.clone());
            add(self, &file.path, SOURCE, Of::Person);
        }
        self.named_file = Some(file);
        Ok(())
    }

    /// Returns the file that a person named by this path.
    pub(super) fn file_at(&self, wanted: &str) -> Option<&Path> {
        self.named_file.as_ref().filter(|file| file.written == wanted).map(|file| file.path.as_path())
    }

    /// Returns the workflow of the file that a person named by this path.
    pub(super) fn of_file(&self, wanted: &str) -> Option<&WorkflowEntry> {
        let path = self.file_at(wanted)?;
        self.workflows.iter().find(|entry| entry.path.as_deref() == Some(path))
    }
}

/// Decides whether a text is a path. The name of a workflow has no slash and no ending.
fn is_path(text: &str) -> bool {
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    text.contains('/') || matches!(extension, Some("yaml" | "yml" | "json"))
}
