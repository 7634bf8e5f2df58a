//! Adds the workflows that are in the folder of a file that a person names by its path, so that a folder of
//! documents which run each other works wherever it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_forms::workflow::document::{read_for_check, said_name};

use super::file::SOURCE;
use super::{Catalog, Of, add, is_beside, is_document, namesakes};
use crate::config::try_text;
use crate::plan::called_workflows;

impl Catalog {
    /// Adds the documents that a file runs and that are in its folder, and those that they run. They come
    /// before all other workflows with their names.
    pub(super) fn add_called_beside(&mut self, path: &Path) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.files.iter().any(|known| real(known) == real(path)) {
            // The folder of the file is one that Windlass reads anyway.
            return;
        }
        let main = try_text(path).ok().flatten().filter(|text| is_document(text, path));
        let main = main.and_then(|text| read_for_check(&text, "").0);
        let Some(main) = main.map(|document| document.workflow) else { return };
        let mut left = called_workflows(&main);
        if left.is_empty() {
            return;
        }
        let others = documents_beside(path);
        let mut added = BTreeSet::from([main.name]);
        while let Some(name) = left.pop() {
            if !added.insert(name.clone()) {
                continue;
            }
            let mut found = Catalog::default();
            for (_, file) in others.iter().filter(|(own, _)| *own == name) {
                found.files.push(file.clone());
                add(&mut found, file, SOURCE, Of::Person);
            }
            namesakes(&mut found);
            left.extend(found.workflows.iter().flat_map(|entry| called_workflows(&entry.graph())));
            self.put_first(found);
        }
    }

    fn put_first(&mut self, other: Catalog) {
        self.workflows.splice(0..0, other.workflows);
        self.files.splice(0..0, other.files);
        self.problems.extend(other.problems);
        self.documents.extend(other.documents);
        self.broken.extend(other.broken);
        self.nameless.extend(other.nameless);
    }
}

/// Returns the other documents in the folder of a file, each with its name. Most files of a folder are no
/// workflows, so a file without `nodes` and `name` is not a mistake.
fn documents_beside(path: &Path) -> Vec<(String, PathBuf)> {
    let Some(folder) = path.parent() else { return Vec::new() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_other = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("json" | "yaml" | "yml")) && file != path && !is_beside(file)
    };
    files.retain(is_other);
    files.sort();
    let named = |file: PathBuf| {
        let text = try_text(&file).ok().flatten()?;
        let is_workflow = text.contains("nodes") && is_document(&text, &file);
        Some((said_name(&text).filter(|_| is_workflow)?, file))
    };
    files.into_iter().filter_map(named).collect()
}
