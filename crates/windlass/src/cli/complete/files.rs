//! Completes names that are in files: entities, workflows and tasks.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use windlass_core::entity::EntityKind;
use windlass_runtime::catalog::catalog;
use windlass_runtime::entities;
use windlass_runtime::tasks::{load, locate};

use super::{MOST, begins, candidate, is_harmless, values_of};
use crate::cli::invocation::Invocation;

/// Offers the entities that match the typed text.
pub(super) fn entities(
    invocation: &Invocation,
    kind: Option<EntityKind>,
    typed: &str,
) -> Option<Vec<CompletionCandidate>> {
    let loaded = entities::load(&invocation.home, &invocation.cwd, &plugins(invocation)).ok()?;
    let mut found = loaded.registry.search(kind, typed, MOST);
    found.retain(|entity| entity.name.chars().all(is_harmless));
    // A shell replaces the typed word with the common prefix of all answers. Answers that do not start
    // with the word would delete it, unless there is only one.
    if found.len() > 1 {
        found.retain(|entity| begins(&entity.name, typed));
    }
    Some(found.iter().filter_map(|entity| candidate(&entity.name, &entity.description, "")).collect())
}

/// Offers the workflows, or the files if the typed text is a path.
pub(super) fn workflows(invocation: &Invocation, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let found = catalog(&invocation.home, &invocation.cwd, &plugins(invocation)).ok()?;
    let offer = |name: &str| {
        let entry = found.workflows.iter().find(|entry| entry.name == name);
        candidate(name, entry.and_then(|entry| entry.description.as_deref()).unwrap_or_default(), typed)
    };
    let names: Vec<CompletionCandidate> = found.names().into_iter().filter_map(offer).collect();
    Some(if names.is_empty() || typed.contains('/') { paths(typed) } else { names })
}

/// Offers folders and files that may be workflows.
fn paths(typed: &str) -> Vec<CompletionCandidate> {
    let is_workflow = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        matches!(extension, Some("yaml" | "yml" | "json"))
    };
    let mut found = PathCompleter::any().filter(is_workflow).complete(OsStr::new(typed));
    found.retain(|path| path.get_value().to_str().is_some_and(|path| path.chars().all(is_harmless)));
    found
}

/// Offers the tasks of the file on the line, or of the default file.
pub(super) fn tasks(invocation: &Invocation, typed: &str) -> Option<Vec<CompletionCandidate>> {
    let file = values_of("--file").pop().map(PathBuf::from);
    let loaded = load(&locate(&invocation.cwd, file.as_deref()).ok()?).ok()?;
    let offer = |task: &windlass_core::tasks::Task| {
        candidate(task.id.as_str(), &format!("{}: {}", task.status.word(), task.name), typed)
    };
    Some(loaded.document.tasks().tasks.iter().filter_map(offer).collect())
}

/// Returns the plugins on the line.
fn plugins(invocation: &Invocation) -> Vec<PathBuf> {
    let dirs = values_of("--plugin").into_iter().map(|dir| invocation.cwd.join(dir));
    dirs.filter(|dir| dir.join(".claude-plugin/plugin.json").is_file()).collect()
}
