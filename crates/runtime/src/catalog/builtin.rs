//! Adds the workflows that come with Windlass to the catalog.

use windlass_forms::workflow::{builtin, document};

use super::{WorkflowEntry, of_document};

/// The source that `workflow list` shows for them.
const SOURCE: &str = "built-in";

/// Returns the built-in workflows as ordinary entries.
pub(super) fn entries() -> impl Iterator<Item = WorkflowEntry> {
    builtin().into_iter().filter_map(|(name, text)| {
        let (read, _) = document::read(text, &file(name));
        Some(WorkflowEntry { is_builtin: true, ..of_document(read?, SOURCE.to_owned()) })
    })
}

/// Returns the file name that a diagnostic shows.
fn file(name: &str) -> String {
    format!("builtin/{name}.yaml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_is_there_with_its_text() {
        let named = |entry: WorkflowEntry| (entry.name.clone(), entry.text().map(str::to_owned));
        let own = |(name, text): (&str, &str)| (name.to_owned(), Some(text.to_owned()));
        let expected: Vec<_> = builtin().into_iter().map(own).collect();
        assert_eq!(entries().map(named).collect::<Vec<_>>(), expected);
        assert!(entries().all(|entry| entry.is_builtin && entry.path.is_none()));
    }
}
