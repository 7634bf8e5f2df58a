//! The workflows that come with Windlass, among all there are.

use windlass_forms::workflow::{builtin, document};

use super::{WorkflowEntry, of_document};

/// What `workflow list` says of where they are from.
const SOURCE: &str = "built-in";

/// Each of them, as any other document.
pub(super) fn entries() -> impl Iterator<Item = WorkflowEntry> {
    builtin().into_iter().filter_map(|(name, text)| {
        let (read, _) = document::read(text, &file(name));
        Some(WorkflowEntry { is_builtin: true, ..of_document(read?, SOURCE.to_owned()) })
    })
}

/// What stands for the file where a mistake is shown.
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
