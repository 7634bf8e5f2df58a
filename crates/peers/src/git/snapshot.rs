//! Keeps the state of a folder as a commit, compares two such states, and restores one.
//!
//! A snapshot contains the files of the folder that git does not ignore, byte for byte. It never touches the
//! index or HEAD of the checkout, runs no hook and no filter, and leaves out large files. To be as fast as
//! `git add`, Windlass keeps a repository of its own over the same files and objects ([`own`]): it asks git
//! only for the files that changed ([`scan`]) and imports those. The engine decides when to take a snapshot.

mod checkout;
mod compare;
mod kept;
mod own;
mod restore;
mod scan;
mod spared;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::snapshot::FolderSnapshot;

use super::command::{GitError, again, line};
use super::lock::{self, LockError};
use crate::files::{FileError, make_private_dir};
use checkout::Checkout;
pub use compare::{ChangedFile, DiffForm, changed_files, commits_since, diff_trees};
use kept::KeptFiles;
use own::{OwnRepository, Refs};
pub use restore::{LeftAlone, RestorePlan, plan_restore, restore, save_before};
use scan::{Candidates, ImportStream};
pub use spared::unsaved_changes;

/// The largest file that a snapshot contains, in bytes.
const MAX_FILE: u64 = 50 * 1024 * 1024;

/// The time that a first snapshot of many new files may take.
const IMPORT: Duration = Duration::from_secs(300);
/// The time to wait for another snapshot of the same folder.
const WAIT: Duration = Duration::from_secs(120);
const IDENTITY: &str = "windlass <windlass@invalid>";

/// An error from taking, comparing or restoring a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} is not UTF-8", path = path.display())]
    BadPath { path: PathBuf },
    #[error("cannot read the answer of `git {verb}`")]
    Unreadable { verb: &'static str },
}

impl SnapshotError {
    fn git(&self) -> Option<&GitError> {
        match self {
            SnapshotError::Git(error) => Some(error),
            _ => None,
        }
    }
}

fn io_error(path: &Path, source: io::Error) -> SnapshotError {
    SnapshotError::Io { path: path.to_owned(), source }
}

/// A folder whose states are kept.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotFolder<'a> {
    /// The checkout, or a folder in it.
    pub path: &'a Path,
    /// A folder of Windlass's own, used for this folder only. It makes later snapshots fast; deleting it
    /// loses nothing.
    pub own: &'a Path,
    /// Windlass's state folder, which is never part of a snapshot.
    pub state: &'a Path,
}

/// A request for a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRequest<'a> {
    /// The ref to set. Without one, git deletes the snapshot some weeks later.
    pub reference: Option<&'a str>,
    /// The first line of the commit message.
    pub title: &'a str,
    /// Paths to include even if git ignores them, relative to the folder.
    pub also: &'a [Vec<u8>],
}

/// Takes a snapshot of a folder. Returns `None` outside of a repository. If nothing changed since the last
/// snapshot, this is the same commit.
pub fn take_snapshot(
    folder: SnapshotFolder<'_>,
    request: SnapshotRequest<'_>,
) -> Result<Option<FolderSnapshot>, SnapshotError> {
    again(SnapshotError::git, || take(folder, request))
}

fn take(
    folder: SnapshotFolder<'_>,
    request: SnapshotRequest<'_>,
) -> Result<Option<FolderSnapshot>, SnapshotError> {
    if !folder.own.exists() && Checkout::find(folder.path)?.is_none() {
        return Ok(None);
    }
    make_private_dir(folder.own)?;
    let _lock = lock::lock(&folder.own.join("lock"), WAIT)?;
    if let Some((place, kept)) = KeptFiles::load(folder.own) {
        let own = OwnRepository::open(folder, place)?;
        // Asked at the same time: it is very likely the same checkout.
        let (checkout, candidates) = std::thread::scope(|scope| {
            let checkout = scope.spawn(|| Checkout::find(folder.path));
            let candidates = scan::candidates(&own, request.also, &kept, Vec::new());
            (checkout.join(), candidates)
        });
        let checkout = checkout.map_err(|_| SnapshotError::Unreadable { verb: "rev-parse" })??;
        let Some(checkout) = checkout else { return Ok(None) };
        if checkout.place == own.place {
            match candidates.and_then(|candidates| save(&own, checkout.head, kept, candidates, request)) {
                // Somebody may have deleted the last snapshot. Everything can be made again.
                Err(SnapshotError::Git(GitError::Failed { code: Some(_), .. })) => {}
                saved => return saved.map(Some),
            }
        }
    }
    let Some(checkout) = Checkout::find(folder.path)? else { return Ok(None) };
    let (own, kept, converted) = OwnRepository::make(folder, &checkout)?;
    let candidates = scan::candidates(&own, request.also, &kept, converted)?;
    save(&own, checkout.head, kept, candidates, request).map(Some)
}

/// Saves the candidates that changed.
fn save(
    own: &OwnRepository,
    head: Option<String>,
    mut kept: KeptFiles,
    candidates: Candidates,
    request: SnapshotRequest<'_>,
) -> Result<FolderSnapshot, SnapshotError> {
    let mut stream = ImportStream::create(own, head.as_deref(), &kept, request)?;
    let left_out = stream.add(candidates, &mut kept)?;
    let commit = match (stream.changes, &kept.commit) {
        (0, Some(commit)) => {
            let commit = commit.clone();
            point(own, request.reference, &commit)?;
            commit
        }
        _ => import(own, &mut kept, stream, request.reference)?,
    };
    kept.save(&own.dir, &own.place)?;
    let tree = kept.tree.unwrap_or_default();
    Ok(FolderSnapshot { commit, tree, head, left_out })
}

/// Imports the changed files into the repository and returns the commit.
fn import(
    own: &OwnRepository,
    kept: &mut KeptFiles,
    stream: ImportStream,
    reference: Option<&str>,
) -> Result<String, SnapshotError> {
    let path = stream.finish()?;
    let args = ["fast-import", "--quiet", "--force", "--date-format=raw"];
    let env = own.env(if reference.is_some() { Refs::OfCheckout } else { Refs::Own });
    let said = own.call(&env).within(IMPORT).reading(&path).run(&args);
    // Emptied and not deleted: the next snapshot uses it again.
    let _ = fs::File::create(&path);
    let said = line(&said?);
    let unreadable = || SnapshotError::Unreadable { verb: "fast-import" };
    let (commit, tree) = said.split_once('\n').ok_or_else(unreadable)?;
    let tree = tree.strip_prefix("040000 tree ").and_then(|rest| rest.split_once('\t')).map(|(tree, _)| tree);
    let tree = match tree {
        Some(tree) => tree.to_owned(),
        None => own.empty_tree()?,
    };
    let is_same = kept.tree.as_ref() == Some(&tree);
    kept.tree = Some(tree);
    if let Some(commit) = kept.commit.clone().filter(|_| is_same) {
        // A file was only touched: the last snapshot has the same content.
        point(own, reference, &commit)?;
        return Ok(commit);
    }
    kept.commit = Some(commit.to_owned());
    Ok(commit.to_owned())
}

/// Sets the ref of a snapshot to a commit that exists.
fn point(own: &OwnRepository, reference: Option<&str>, commit: &str) -> Result<(), SnapshotError> {
    let Some(reference) = reference else { return Ok(()) };
    let env = own.env(Refs::OfCheckout);
    own.call(&env).run(&["update-ref", "--no-deref", reference, commit])?;
    Ok(())
}

/// Returns the time in nanoseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
