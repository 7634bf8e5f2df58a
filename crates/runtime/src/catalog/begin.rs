//! Writes a document for a person to edit, new or a copy of a built-in one. Provides the schema of the
//! language for editors.

use std::path::{Path, PathBuf};

use windlass_core::graph::ids::is_id;
use windlass_forms::workflow::builtin;
use windlass_forms::workflow::document::{schema, starter};

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};
use crate::workflow_scope::{self, WorkflowScope};

/// Returns the JSON Schema of workflow documents.
pub fn document_schema() -> &'static str {
    schema()
}

/// Writes a commented document and returns its path. Never overwrites a file.
pub fn begin_document(
    home: &Home,
    cwd: &Path,
    name: &str,
    shelf: WorkflowScope,
) -> Result<PathBuf, UserError> {
    if !is_id(name) {
        return Err(UserError::new(UserErrorKind::Usage, format!("`{name}` is not a valid workflow name"))
            .hint("use lowercase letters, digits, `-` and `_`"));
    }
    // `tasks run` and other commands rely on the built-in workflows.
    if builtin().iter().any(|(own, _)| *own == name) {
        return Err(UserError::new(UserErrorKind::Configuration, format!("`{name}` comes with Windlass"))
            .hint(format!("choose another name, or change a copy of it: `windlass workflow eject {name}`")));
    }
    put(home, cwd, name, shelf, &starter(name))
}

/// Writes a copy of a built-in workflow and returns its path. Never overwrites a file.
pub fn eject_document(
    home: &Home,
    cwd: &Path,
    name: &str,
    shelf: WorkflowScope,
) -> Result<PathBuf, UserError> {
    let own = builtin();
    let Some((name, text)) = own.iter().find(|(own, _)| *own == name) else {
        let names: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        return Err(UserError::new(
            UserErrorKind::Configuration,
            format!("`{name}` is not a built-in workflow"),
        )
        .hint(format!("there are: {}; any other is a file already", names.join(", "))));
    };
    put(home, cwd, name, shelf, text)
}

fn put(home: &Home, cwd: &Path, name: &str, shelf: WorkflowScope, text: &str) -> Result<PathBuf, UserError> {
    // The same name in another format would define the same workflow twice.
    let folder = workflow_scope::base(home, cwd, shelf).join("workflows");
    let others = ["yml", "json"].map(|extension| folder.join(format!("{name}.{extension}")));
    if let Some(other) = others.iter().find(|path| path.exists()) {
        let text = format!("{}: there is one already", other.display());
        return Err(
            UserError::new(UserErrorKind::Configuration, text).hint("change that one, or move it away")
        );
    }
    workflow_scope::put(home, cwd, shelf, &Path::new("workflows").join(format!("{name}.yaml")), text)
}
