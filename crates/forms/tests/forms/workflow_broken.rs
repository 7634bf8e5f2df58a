//! Broken documents, each with everything that is said about it, in one pass.
//!
//! `WINDLASS_WRITE_BROKEN=1` writes the expected texts anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use windlass_core::graph::check::CheckContext;
use windlass_core::graph::workflow::Workflow;
use windlass_core::registry::Registry;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::entity::builtin;
use windlass_forms::workflow::document::{read, read_for_check};

/// Everything that is wrong with a document, as `windlass workflow check` says it.
fn wrong_with(text: &str, name: &str, known: &CheckContext<'_>) -> Vec<Diagnostic> {
    match read_for_check(text, name) {
        (Some(document), said) => document.check(said, known),
        (None, said) => said,
    }
}

/// The workflows that the documents of the tests run.
pub(crate) fn called() -> BTreeMap<String, Option<Workflow>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/called");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let workflows =
        files.map(|file| read(&fs::read_to_string(&file).unwrap(), "called.yaml").0.unwrap().workflow);
    workflows.map(|workflow| (workflow.name.clone(), Some(workflow))).collect()
}

#[test]
fn every_mistake_of_a_broken_document_is_said_at_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let writes = std::env::var_os("WINDLASS_WRITE_BROKEN").is_some();
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_none_or(|extension| extension != "txt"));
    files.sort();
    assert!(files.len() >= 20, "{}", files.len());
    let registry = Registry::new(builtin());
    let known = CheckContext { workflows: called(), ..CheckContext::new(&registry) };
    let mut differing = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let diagnostics = wrong_with(&fs::read_to_string(file).unwrap(), name, &known);
        assert!(diagnostics.iter().any(Diagnostic::is_error), "{name} has no mistake");
        let said: String = diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n\n")).collect();
        let expected = folder.join(format!("{name}.txt"));
        if writes {
            fs::write(&expected, &said).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != said {
            differing.push(format!("{name}:\n{said}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
