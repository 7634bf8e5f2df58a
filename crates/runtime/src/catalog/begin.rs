//! Writes a document for a person to edit, new or a copy of a built-in one. Provides the schema of the
//! language for editors.

use std::path::{Path, PathBuf};

use windlass_core::graph::ids::is_id;
use windlass_forms::workflow::builtin;
use windlass_forms::workflow::document::{print, read, schema, starter};
use windlass_peers::agent::Agents;

use super::{WorkflowEntry, catalog_with};
use crate::home::Home;
use crate::new_file::{self, NewFileScope};
use crate::user_error::{UserError, UserErrorKind};

/// Returns the JSON Schema of workflow documents, with the drivers that exist.
pub fn document_schema() -> String {
    let agents = Agents::default();
    schema(&agents.iter().map(|driver| driver.name()).collect::<Vec<_>>())
}

/// Writes a commented document and returns its path. Never overwrites a file.
pub fn begin_document(
    home: &Home,
    cwd: &Path,
    name: &str,
    scope: NewFileScope,
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
    put(home, cwd, name, scope, &starter(name))
}

/// Writes a workflow as a document for a person to change, and returns its path: a copy of a built-in one or
/// of a named file, or a translation of a `workflow.json`. Never overwrites a file.
pub fn eject_document(
    home: &Home,
    cwd: &Path,
    name: &str,
    scope: NewFileScope,
    plugins: &[PathBuf],
) -> Result<PathBuf, UserError> {
    let own = builtin();
    if let Some((name, text)) = own.iter().find(|(own, _)| *own == name) {
        return put(home, cwd, name, scope, text);
    }
    let catalog = catalog_with(home, cwd, plugins, Some(name))?;
    if let Some(problem) = catalog.broken_first(name, &catalog.problems) {
        return Err(problem);
    }
    let Some(entry) = catalog.named(name)? else {
        let broken = UserError::of(&catalog.diagnostics(name));
        return Err(broken.unwrap_or_else(|| catalog.missing(name, &catalog.problems)));
    };
    let text = match (catalog.of_file(name), entry.text()) {
        // A document that a person names by its path may be anywhere, so a copy makes sense.
        (Some(_), Some(text)) => text.to_owned(),
        _ => translated(entry)?,
    };
    put(home, cwd, &entry.name, scope, &text)
}

/// Writes a `workflow.json` as a document.
fn translated(entry: &WorkflowEntry) -> Result<String, UserError> {
    let error = |text: String| UserError::new(UserErrorKind::Configuration, text);
    let place = entry.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    if entry.text().is_some() {
        return Err(error(format!("workflow `{}` is a document already: {place}", entry.name))
            .hint("change that file, or copy it"));
    }
    let graph = entry.graph();
    let text = format!("# Translated from {place}\n{}", print(&graph));
    // A workflow that the document language cannot express must not change its meaning on the way.
    let is_same = read(&text, &place).0.is_some_and(|document| document.workflow == *graph);
    is_same.then_some(text).ok_or_else(|| error(format!("workflow `{}` cannot be a document", entry.name)))
}

fn put(home: &Home, cwd: &Path, name: &str, scope: NewFileScope, text: &str) -> Result<PathBuf, UserError> {
    // The same name in another format would define the same workflow twice.
    let folder = new_file::base(home, cwd, scope).join("workflows");
    let others = ["yml", "json"].map(|extension| folder.join(format!("{name}.{extension}")));
    if let Some(other) = others.iter().find(|path| path.exists()) {
        let text = format!("{} already exists", other.display());
        return Err(
            UserError::new(UserErrorKind::Configuration, text).hint("edit that file, or move it away")
        );
    }
    new_file::put(home, cwd, scope, &Path::new("workflows").join(format!("{name}.yaml")), text)
}
