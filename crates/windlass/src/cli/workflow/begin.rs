//! `windlass workflow new`, `eject` and `schema`: creates documents, and prints the schema for editors.

use serde_json::json;
use windlass_runtime::catalog::{TASKS, begin_document, document_schema, eject_document};
use windlass_runtime::new_file::NewFileScope;

use super::super::feed::{envelope, words};
use super::super::invocation::{Invocation, print};
use super::super::report::{Report, note};
use super::super::sanitize::plain_line;
use super::Of;
use crate::exit::Exit;

/// Writes a commented document. Never overwrites a file.
pub(super) fn new(
    invocation: &Invocation,
    name: &str,
    scope: NewFileScope,
    json: bool,
) -> Result<Exit, Report> {
    let path = begin_document(&invocation.home, &invocation.cwd, name, scope)?;
    if json {
        return print(&[envelope("workflow.new", words::now(), None, json!({ "path": path }))]);
    }
    note(&format!(
        "`windlass workflow check {name}` checks it, `windlass run --workflow {name} INPUT` runs it"
    ));
    print(&[plain_line(&path.display().to_string())])
}

/// Writes a built-in workflow or a `workflow.json` as a document, never over another file.
pub(super) fn eject(
    invocation: &Invocation,
    name: &str,
    scope: NewFileScope,
    of: &Of,
) -> Result<Exit, Report> {
    let path = eject_document(&invocation.home, &invocation.cwd, name, scope, &of.plugins)?;
    if of.json {
        return print(&[envelope("workflow.ejected", words::now(), None, json!({ "path": path }))]);
    }
    // With its owner, because a plugin may still bring a workflow of the same name.
    let own_name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    note(&format!("`windlass run --workflow {}:{own_name}` runs this one", scope.word()));
    if own_name == TASKS && scope == NewFileScope::Project {
        note("`windlass tasks run` runs it once you trust it: edit it, then `windlass trust`");
    }
    print(&[plain_line(&path.display().to_string())])
}

/// Prints the JSON Schema.
pub(super) fn schema() -> Result<Exit, Report> {
    print(&document_schema().lines().map(str::to_owned).collect::<Vec<_>>())
}
