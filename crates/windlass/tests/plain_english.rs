//! Phrases that readers stumbled over do not come back.

use std::fs;
use std::path::{Path, PathBuf};

/// Phrases that sound translated, or that hide who acts.
const STUMBLES: &[&str] = &[
    "nothing to leave it",
    "as the folder is now",
    "stands in the tracker",
    "iterations are spent",
    "somebody cancelled it",
    "put away",
    "once more ends it",
    "may end what they began",
    "found red",
    "otherwise than well",
    "it began because",
    "no such answer",
    "works on its input",
    "once this is mended",
    "going on where it stood",
    "begins anew",
    "with the orders of",
    "its armed state",
    "would have gone otherwise",
    "What a tool is told",
    "begin nothing new",
    "takes it as yes",
    "in nobody's way",
    "is only told when",
    "nobody runs is",
    "of the id what",
    "is told to the agent",
    "They lie in",
    "the lowest priority,",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}

/// Returns whether users read the file: pages, examples, help texts, and code that is no test.
fn is_read(file: &Path) -> bool {
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_apart = |part: &str| ["tests", "testkit", "crash_sweep", "design", "target"].contains(&part);
    let is_test = stem.ends_with("tests") || file.iter().filter_map(|part| part.to_str()).any(is_apart);
    ["rs", "md", "txt", "toml", "yaml", "json"].contains(&kind) && !is_test
}

/// Returns the phrases of a text, without the tests inside it.
fn found_in(text: &str) -> Vec<&'static str> {
    let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
    STUMBLES.iter().copied().filter(|phrase| shipped.contains(phrase)).collect()
}

#[test]
fn no_page_and_no_message_has_a_phrase_that_readers_stumbled_over() {
    let root = root();
    let folders = ["crates", "docs", "examples"].map(|folder| root.join(folder));
    let pages = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|page| root.join(page));
    let all = folders.iter().flat_map(|folder| files(folder)).chain(pages);
    let mut found = Vec::new();
    for file in all.filter(|file| is_read(file.strip_prefix(&root).unwrap())) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        found.extend(found_in(&text).iter().map(|phrase| format!("{}: {phrase}", file.display())));
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn such_a_phrase_would_be_seen() {
    assert_eq!(found_in("Let a run begin nothing new"), ["begin nothing new"]);
    assert!(found_in("fn a() {}\n#[cfg(test)]\nmod tests { /* put away */ }").is_empty());
}
