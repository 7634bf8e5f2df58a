//! Compares two snapshots of a folder.

use std::path::Path;

use super::SnapshotError;
use crate::git::command::{GitCall, GitError, git, line};

/// The form of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffForm {
    /// A patch to read.
    Patch,
    /// A patch for `git apply`, with the content of binary files.
    Exact,
    /// One line per file, at most so many columns wide.
    Stat { columns: usize },
}

/// Compares two trees. No program that the repository names takes part.
pub fn diff_trees(dir: &Path, from: &str, to: &str, form: DiffForm) -> Result<Vec<u8>, SnapshotError> {
    let stat = match form {
        DiffForm::Stat { columns } => format!("--stat={columns}"),
        DiffForm::Patch | DiffForm::Exact => String::new(),
    };
    let form: &[&str] = match form {
        DiffForm::Patch => &["-p"],
        DiffForm::Exact => &["-p", "--binary", "--full-index"],
        DiffForm::Stat { .. } => &[&stat],
    };
    let args = [&PLAIN[..], &["--find-renames"], form, &[from, to]].concat();
    Ok(GitCall::at(dir).whole().run(&args)?)
}

const PLAIN: [&str; 5] = ["diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"];

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// Lines added and removed. `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// Lists the files that differ between two trees, each once.
pub fn changed_files(dir: &Path, from: &str, to: &str) -> Result<Vec<ChangedFile>, SnapshotError> {
    let args = [&PLAIN[..], &["--no-renames", "--numstat", "-z", from, to]].concat();
    let said = GitCall::at(dir).whole().run(&args)?;
    let read = |entry: &[u8]| {
        let entry = String::from_utf8_lossy(entry);
        let mut parts = entry.splitn(3, '\t');
        let (added, removed) = (parts.next()?.parse().ok(), parts.next()?.parse().ok());
        Some(ChangedFile { path: parts.next()?.to_owned(), lines: added.zip(removed) })
    };
    Ok(said.split(|byte| *byte == 0).filter_map(read).collect())
}

/// Returns the number of commits since an earlier one, and the branch that is checked out.
pub fn commits_since(dir: &Path, earlier: Option<&str>) -> Result<(u64, Option<String>), SnapshotError> {
    let range = earlier.map_or_else(|| "HEAD".to_owned(), |earlier| format!("{earlier}..HEAD"));
    let count = match git(dir, &["rev-list", "--count", "--end-of-options", &range]) {
        Ok(said) => line(&said).parse().unwrap_or_default(),
        // A repository without commits, or without that commit.
        Err(GitError::Failed { .. }) => 0,
        Err(error) => return Err(error.into()),
    };
    let branch = git(dir, &["symbolic-ref", "--quiet", "--short", "HEAD"]).ok().map(|said| line(&said));
    Ok((count, branch))
}
