//! The documents in `examples/workflows`, and those that come with Windlass, have no mistake, and are
//! written and read back.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::graph::check::CheckContext;
use windlass_core::registry::Registry;
use windlass_forms::entity::builtin;
use windlass_forms::workflow;
use windlass_forms::workflow::document::{print, read, starter};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let folders = [folder.join("nodes"), folder.join("ports"), folder];
    let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_document = |name: &str| name.ends_with(".yaml") && !name.ends_with(".test.yaml");
    files.retain(|file| file.to_str().is_some_and(is_document));
    files.sort();
    files
}

/// The texts of the examples, each with its name.
#[expect(clippy::unwrap_used, reason = "a test stops where it stands")]
fn texts_of_examples() -> impl Iterator<Item = (String, String)> {
    let text = |file: PathBuf| (file.display().to_string(), fs::read_to_string(&file).unwrap());
    examples().into_iter().map(text)
}

/// The texts of the workflows that come with Windlass.
fn texts_of_builtin() -> impl Iterator<Item = (String, String)> {
    workflow::builtin().into_iter().map(|(name, text)| (name.to_owned(), text.to_owned()))
}

#[test]
fn every_example_reads_without_a_diagnostic_and_prints_to_the_same() {
    let texts: Vec<_> = texts_of_examples().chain(texts_of_builtin()).collect();
    assert!(texts.len() >= 27, "{}", texts.len());
    for (name, text) in texts {
        let (document, said) = read(&text, &name);
        let said: String = said.iter().map(|diagnostic| format!("{diagnostic}\n")).collect();
        assert_eq!(said, "");
        let workflow = document.unwrap().workflow;
        let printed = print(&workflow);
        assert_eq!(read(&printed, "printed").0.unwrap().workflow, workflow, "{printed}");
    }
}

#[test]
fn every_kind_of_node_has_an_example() {
    let named: Vec<String> =
        examples().iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let acts = [
        "prompt",
        "agent",
        "skill",
        "command",
        "shell",
        "check",
        "if",
        "loop",
        "task_loop",
        "criteria_loop",
        "parallel",
        "workflow",
        "ask",
        "wait",
        "review",
        "land",
        "pull_request",
        "clear_context",
    ];
    for act in acts {
        assert!(named.iter().any(|name| name == act), "{act}");
    }
}

/// Everything that the check says about these documents, which may run each other.
#[expect(clippy::unwrap_used, reason = "a test stops where it stands")]
fn said(texts: &[(String, String)], checks: &[&str]) -> String {
    let registry = Registry::new(builtin());
    let mut known = CheckContext::new(&registry);
    known.checks = checks.iter().map(|check| (*check).to_owned()).collect();
    let documents: Vec<_> = texts.iter().map(|(name, text)| read(text, name).0.unwrap()).collect();
    for document in &documents {
        known.workflows.insert(document.workflow.name.clone(), Some(document.workflow.clone()));
    }
    let found = documents.iter().flat_map(|document| document.check(Vec::new(), &known));
    found.map(|diagnostic| format!("{diagnostic}\n")).collect()
}

#[test]
fn every_example_and_the_starter_pass_the_checks_in_a_project_without_settings() {
    let starter = ("starter".to_owned(), starter("first"));
    assert_eq!(said(&texts_of_examples().chain([starter]).collect::<Vec<_>>(), &[]), "");
}

#[test]
fn the_workflows_that_come_with_windlass_pass_the_checks_in_a_project_that_has_checks() {
    assert_eq!(said(&texts_of_builtin().collect::<Vec<_>>(), &["test"]), "");
}
