//! Documents that look like mistakes and are none: the check says nothing about them.

use std::fs;
use std::path::Path;

use windlass_core::graph::check::CheckContext;
use windlass_core::registry::Registry;
use windlass_forms::entity::builtin;
use windlass_forms::workflow::document::read;

use crate::workflow_broken::called;

#[test]
fn nothing_is_said_about_a_sound_document() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sound");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 7, "{}", files.len());
    let registry = Registry::new(builtin());
    let known = CheckContext { workflows: called(), ..CheckContext::new(&registry) };
    let mut found = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (document, mut said) = read(&fs::read_to_string(file).unwrap(), name);
        said.extend(document.iter().flat_map(|document| document.check(Vec::new(), &known)));
        found.extend(said.iter().map(ToString::to_string));
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
