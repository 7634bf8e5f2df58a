//! Checks workflows before any run: one by name or file, or all of them.

use std::path::{Path, PathBuf};

use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::document;

use super::{Catalog, Of, World, add, collect, unreadable};
use crate::config::{self, try_text};
use crate::home::Home;
use crate::trust;
use crate::user_error::UserError;

/// Checks one workflow by name or file, or all of them. Returns the checked names and the diagnostics.
pub fn check_workflow(
    home: &Home,
    cwd: &Path,
    plugins: &[PathBuf],
    wanted: Option<&str>,
) -> Result<(Vec<String>, Vec<Diagnostic>), UserError> {
    let resolved = config::read(home, cwd, Vec::new())?;
    let mut all = collect(home, cwd, plugins, &resolved)?;
    let file = wanted.map(|wanted| cwd.join(wanted)).filter(|path| is_file(path));
    if let Some(path) = &file {
        all.add_called_beside(path);
    }
    let world = World::look(home, cwd, plugins, &resolved, &all).with_losses();
    let Some(wanted) = wanted else {
        check_documents(&mut all, &world);
        return Ok((names(&all), all.problems));
    };
    if let Some(path) = file {
        return Ok(check_file(&path, &world));
    }
    if let Some(path) = whole_name(&all, wanted) {
        return Ok(check_file(&path, &world));
    }
    let missing = all.missing(wanted, &all.problems);
    keep_only(&mut all, wanted);
    check_documents(&mut all, &world);
    // Built-in workflows are checked only when somebody names one, because users cannot fix them.
    let first = all.workflows.iter().find(|entry| entry.name == wanted);
    let builtin = first.filter(|entry| entry.is_builtin).and_then(|entry| entry.document());
    all.problems.extend(builtin.map(|own| world.check(own, Vec::new())).unwrap_or_default());
    let mut names = names(&all);
    if !names.iter().any(|name| name == wanted) && !all.problems.iter().any(Diagnostic::is_error) {
        return Err(trust::explain(missing, &resolved));
    }
    names.retain(|name| name == wanted);
    Ok((names, all.problems))
}

fn is_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok() && !path.is_dir()
}

/// Returns the file of a workflow that is given by its full name, `OWNER:NAME`.
fn whole_name(all: &Catalog, wanted: &str) -> Option<PathBuf> {
    let entry = all.named(wanted).ok().flatten().filter(|entry| entry.name != wanted)?;
    entry.path.clone()
}

fn names(catalog: &Catalog) -> Vec<String> {
    catalog.names().into_iter().map(str::to_owned).collect()
}

fn check_file(path: &Path, world: &World<'_>) -> (Vec<String>, Vec<Diagnostic>) {
    let mut alone = Catalog::default();
    add(&mut alone, path, "file", Of::Person);
    check_documents(&mut alone, world);
    (names(&alone), alone.problems)
}

/// Drops the files of other workflows and their diagnostics.
fn keep_only(all: &mut Catalog, wanted: &str) {
    let its = all.files_of(wanted);
    all.documents.retain(|path| its.contains(path));
    all.files.retain(|path| !its.contains(path));
    let others: Vec<String> = all.files.iter().map(|path| path.display().to_string()).collect();
    all.problems.retain(|problem| !others.iter().any(|file| problem.is_in(file)));
}

/// Replaces the diagnostics from reading with those of the full check.
fn check_documents(catalog: &mut Catalog, world: &World<'_>) {
    for path in std::mem::take(&mut catalog.documents) {
        check_document(catalog, &path, world);
    }
}

fn check_document(catalog: &mut Catalog, path: &Path, world: &World<'_>) {
    let text = match try_text(path) {
        Ok(Some(text)) => text,
        Ok(None) => return,
        Err(why) => return catalog.problems.push(unreadable(path, &why)),
    };
    let (read, said) = document::read_for_check(&text, &path.display().to_string());
    catalog.problems.retain(|problem| !said.contains(problem));
    catalog.problems.extend(match read {
        Some(read) => world.check_with_called(&read, said),
        None => said,
    });
}

/// Adds the diagnostics of the full check for broken documents.
pub(crate) fn look_into_broken(
    catalog: &mut Catalog,
    home: &Home,
    cwd: &Path,
    plugins: &[PathBuf],
    resolved: &Resolved,
) {
    let is_document = |path: &&PathBuf| catalog.documents.contains(path);
    let mut paths: Vec<PathBuf> =
        catalog.broken.iter().map(|(_, path)| path).filter(is_document).cloned().collect();
    paths.dedup();
    if paths.is_empty() {
        return;
    }
    let world = World::look(home, cwd, plugins, resolved, catalog);
    for path in paths {
        check_document(catalog, &path, &world);
    }
}
