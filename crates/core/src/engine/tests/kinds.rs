//! In how many files a kind of node is named: what it takes to add one.

use std::fs;
use std::path::{Path, PathBuf};

/// The heading of the section in the architecture page.
const SECTION: &str = "### How to add a kind of node";

/// Every file of the workspace that is shipped and names the node, by its path from `crates`.
fn files_that_name(crates: &Path, names: [&str; 2]) -> Vec<String> {
    let mut files = Vec::new();
    let mut left: Vec<PathBuf> = vec![crates.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                left.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                if names.iter().any(|name| text.contains(name)) {
                    files.push(path.strip_prefix(crates).unwrap().to_string_lossy().into_owned());
                }
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_kind_of_node_is_named_only_where_the_architecture_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let section = page.split(SECTION).nth(1).expect("the page has the section").split("\n#").next().unwrap();
    let mut said: Vec<String> = section
        .split('`')
        .filter(|word| word.ends_with(".rs"))
        .map(|file| file.replace("<kind>", "land"))
        .collect();
    said.sort();
    assert_eq!(files_that_name(&root.join("crates"), ["NodeKind::Land", "LandNode"]), said);
    let count = format!("{} files", said.len());
    assert!(section.contains(&count), "the section says `{count}`");
}
