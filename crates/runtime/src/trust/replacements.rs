//! Finds the workflows of a project that replace a built-in one which no person names.
//!
//! A person who names a workflow means it. `windlass tasks run` names none, so a repository could choose what
//! it runs. A person trusts such a workflow by its text and by the texts of the project's workflows that it
//! runs.

use std::path::{Path, PathBuf};

use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::workflow::TASKS;

use super::{ProjectIdentity, TrustContent, TrustSubject, identity};
use crate::catalog::{Catalog, WorkflowEntry, project_workflows};
use crate::home::Home;
use crate::plan::called_workflows;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};

/// The built-in workflows that a command runs although nobody names them, and that a file can replace.
pub(super) const UNNAMED: &[&str] = &[TASKS];

/// A workflow of the project that replaces a built-in one which no person names.
#[derive(Debug, Clone)]
pub struct ReplacingWorkflow {
    pub name: String,
    /// Its file, and the files of the project's workflows that it runs.
    pub files: Vec<WorkflowText>,
    /// The reason why it needs trust, as a clause.
    pub why: &'static str,
    pub is_trusted: bool,
    /// The folder that has the project's `.windlass`.
    pub(super) project: PathBuf,
    pub(super) content: TrustContent,
}

/// A file of a workflow, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowText {
    pub file: PathBuf,
    pub text: String,
}

/// Returns the workflows of the project of a folder that need trust.
pub(super) fn of_project(home: &Home, cwd: &Path) -> Vec<ReplacingWorkflow> {
    of_catalog(home, &project_workflows(cwd))
}

fn of_catalog(home: &Home, catalog: &Catalog) -> Vec<ReplacingWorkflow> {
    UNNAMED.iter().filter_map(|name| replacing(home, catalog, name)).collect()
}

fn replacing(home: &Home, catalog: &Catalog, name: &str) -> Option<ReplacingWorkflow> {
    let main = catalog.of_project(name)?;
    let folder = main.path.as_deref()?.parent()?;
    let mut all: Vec<&WorkflowEntry> = vec![main];
    let mut at = 0;
    while let Some(entry) = all.get(at).copied() {
        for called in called_workflows(&entry.graph()) {
            let Some(other) = catalog.of_project(&called) else { continue };
            if all.iter().all(|known| known.name != other.name) {
                all.push(other);
            }
        }
        at += 1;
    }
    let content = TrustContent {
        subject: TrustSubject::Workflow(name.to_owned()),
        identity: ProjectIdentity::of(folder),
        parts: all
            .iter()
            .flat_map(|entry| [entry.name.clone(), entry.file_text.clone()])
            .map(String::into_bytes)
            .collect(),
    };
    let text = |entry: &&WorkflowEntry| {
        Some(WorkflowText { file: entry.path.clone()?, text: entry.file_text.clone() })
    };
    Some(ReplacingWorkflow {
        name: name.to_owned(),
        files: all.iter().filter_map(text).collect(),
        why: "`windlass tasks run` uses it in place of the built-in one",
        is_trusted: content.is_trusted(home),
        project: identity::folder_of(folder),
        content,
    })
}

/// Leaves out the workflow of the project that a command would run although nobody named it and nobody
/// trusts it. Returns the warning about it. Refuses the run if nobody is at a terminal.
pub(crate) fn leave_out(
    home: &Home,
    catalog: &mut Catalog,
    name: &str,
    has_terminal: bool,
) -> Result<Option<Diagnostic>, UserError> {
    let Some(found) = replacing(home, catalog, name).filter(|found| !found.is_trusted) else {
        return Ok(None);
    };
    let file = found.files.first().map(|part| part.file.display().to_string());
    let text = format!("workflow `{name}` of this repository needs your trust: {}", found.why);
    let warning = Diagnostic::new(Severity::Warning, &text).in_file(file.as_deref());
    if !has_terminal {
        let parts = vec![ProblemPart::from(Diagnostic { severity: Severity::Error, ..warning })];
        let hint = format!(
            "`windlass trust` shows and trusts it; a script of yours can use --trust, or name the workflow: \
             `windlass run --workflow {name}`"
        );
        let first = "this workflow needs your trust, and nobody is at a terminal".to_owned();
        let problem = UserError { class: UserErrorKind::Refused, parts, hint: Some(hint) };
        return Err(problem.after(vec![first.into()]));
    }
    catalog.workflows.retain(|entry| !(entry.is_of_project() && entry.name == name));
    let other = catalog.named(name)?.map_or("built-in", WorkflowEntry::owner_name);
    let hint = format!(
        "left out, and the {other} workflow `{name}` runs; `windlass trust` shows it and lets you trust it"
    );
    Ok(Some(warning.hint(Some(hint))))
}
