//! Finds the checkout that a folder belongs to: its top, its index and its objects.

use std::io;
use std::path::{Path, PathBuf};

use super::SnapshotError;
use crate::git::command::{GitError, git, line};
use crate::process::SpawnError;

/// The place of a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckoutPlace {
    pub(super) top: PathBuf,
    /// The path of the folder below the top: empty, or with a slash at its end.
    pub(super) prefix: String,
    /// The git folder that all worktrees share.
    pub(super) common: PathBuf,
    pub(super) objects: PathBuf,
}

/// The checkout that a folder belongs to.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) place: CheckoutPlace,
    pub(super) index: PathBuf,
    pub(super) exclude: PathBuf,
    /// `sha1` or `sha256`.
    pub(super) format: String,
    /// The commit that is checked out.
    pub(super) head: Option<String>,
}

const QUESTIONS: [&str; 13] = [
    "rev-parse",
    "--path-format=absolute",
    "--show-toplevel",
    "--show-prefix",
    "--git-common-dir",
    "--git-path",
    "objects",
    "--git-path",
    "index",
    "--git-path",
    "info/exclude",
    "--show-object-format",
    "HEAD^{commit}",
];

impl Checkout {
    /// Finds the checkout of a folder. Returns `None` outside of a repository, or without git.
    pub(super) fn find(dir: &Path) -> Result<Option<Checkout>, SnapshotError> {
        let said = match git(dir, &QUESTIONS) {
            // A repository without commits has no HEAD.
            Err(GitError::Failed { code: Some(128), .. }) => {
                git(dir, QUESTIONS.get(..QUESTIONS.len() - 1).unwrap_or_default())
            }
            said => said,
        };
        match said {
            Ok(said) => Checkout::read(dir, &said).map(Some),
            Err(error) if is_outside(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn read(dir: &Path, said: &[u8]) -> Result<Checkout, SnapshotError> {
        let said = std::str::from_utf8(said).map_err(|_| SnapshotError::BadPath { path: dir.to_owned() })?;
        let said = line(said.as_bytes());
        let mut lines = said.split('\n');
        let mut next = || lines.next().ok_or(SnapshotError::Unreadable { verb: "rev-parse" });
        let place = CheckoutPlace {
            top: next()?.into(),
            prefix: next()?.to_owned(),
            common: next()?.into(),
            objects: next()?.into(),
        };
        let checkout = Checkout {
            place,
            index: next()?.into(),
            exclude: next()?.into(),
            format: next()?.to_owned(),
            head: next().ok().map(str::to_owned),
        };
        // A path that contains a line break shifts all that follows.
        let is_format = ["sha1", "sha256"].contains(&checkout.format.as_str());
        match is_format && lines.next().is_none() {
            true => Ok(checkout),
            false => Err(SnapshotError::Unreadable { verb: "rev-parse" }),
        }
    }

    /// Returns a path of this checkout as text for git.
    pub(super) fn text(path: &Path) -> Result<&str, SnapshotError> {
        path.to_str().ok_or_else(|| SnapshotError::BadPath { path: path.to_owned() })
    }
}

fn is_outside(error: &GitError) -> bool {
    match error {
        GitError::Failed { said, .. } => {
            said.contains("not a git repository") || said.contains("must be run in a work tree")
        }
        GitError::Start(SpawnError::Start { source, .. }) => source.kind() == io::ErrorKind::NotFound,
        GitError::Start(_)
        | GitError::TimedOut { .. }
        | GitError::TooLong { .. }
        | GitError::Unfinished { .. } => false,
    }
}
