//! A first document for a person to change, and the schema of the language for their editor.

use std::path::{Path, PathBuf};

use windlass_core::graph::ids::is_id;
use windlass_forms::workflow::document::{schema, starter};
use windlass_peers::files::{self, Mode};

use crate::error::chain;
use crate::home::Home;
use crate::problem::{Class, Problem};

/// Whose workflows it is put beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// The repository's.
    Project,
    /// The user's own.
    User,
}

/// The JSON Schema of workflow documents.
pub fn document_schema() -> &'static str {
    schema()
}

/// Writes a commented document and says where. What is there already is left alone.
pub fn begin_document(home: &Home, cwd: &Path, name: &str, shelf: Shelf) -> Result<PathBuf, Problem> {
    if !is_id(name) {
        return Err(Problem::new(Class::Usage, format!("`{name}` is no name for a workflow"))
            .hint("use small letters, digits, `-` and `_`"));
    }
    let folder = match shelf {
        Shelf::User => home.config.join("workflows"),
        Shelf::Project => {
            let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(cwd);
            root.join(".windlass/workflows")
        }
    };
    let wrong =
        |path: &Path, why: String| Problem::new(Class::Configuration, format!("{}: {why}", path.display()));
    std::fs::create_dir_all(&folder).map_err(|error| wrong(&folder, error.to_string()))?;
    let root = folder.parent().and_then(Path::parent);
    let leads_out = |root: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        shelf == Shelf::Project
            && real(&folder).zip(real(root)).is_some_and(|(to, root)| !to.starts_with(root))
    };
    if root.is_some_and(leads_out) {
        return Err(wrong(&folder, "it leads out of the project".to_owned())
            .hint("use --user, or a folder in the project"));
    }
    for extension in ["yaml", "yml", "json"] {
        let other = folder.join(format!("{name}.{extension}"));
        if other.exists() {
            return Err(wrong(&other, "there is one already".to_owned()).hint("choose another name"));
        }
    }
    let path = folder.join(format!("{name}.yaml"));
    match files::create_new(&path, starter(name).as_bytes(), Mode::Shared) {
        Ok(true) => Ok(path),
        Ok(false) => Err(wrong(&path, "there is one already".to_owned()).hint("choose another name")),
        Err(error) => Err(wrong(&path, chain(&error))),
    }
}
