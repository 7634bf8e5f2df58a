//! Repairs a checkout whose move to a newer commit was interrupted while git wrote its files.
//!
//! A record is written before a checkout moves. If a later process finds the record and the branch is
//! still at the old commit, it restores the files that are empty, missing or exactly what git was
//! writing. If any other file is among them, all stay as they are for a person to check.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::busy::{clear_locks_of_move, is_locked};
use super::command::{GitError, git, line};
use super::lock::{drafts, file_name, ours};
use super::repository::branch_commit;
use super::target::in_the_way;
use super::worktree::WorktreeError;
use crate::files::{FileMode, inside, read_bounded, write_atomic_by};

/// A move of a branch from one commit to another. `path` is its checkout, or the git folder if it has
/// none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BranchMove {
    v: u32,
    pub(super) path: PathBuf,
    pub(super) old: String,
    pub(super) new: String,
    /// Set if something there was already locked before: Windlass must not clear those locks.
    #[serde(default)]
    was_locked: bool,
}

fn file(common: &Path, target: &str) -> PathBuf {
    ours(common).join(format!("moving-{}.json", file_name(target)))
}

impl BranchMove {
    pub(super) fn new(path: &Path, old: &str, new: &str) -> BranchMove {
        BranchMove {
            v: 1,
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
            was_locked: false,
        }
    }

    pub(super) fn begin(mut self, common: &Path, target: &str) -> Result<(), WorktreeError> {
        self.was_locked = is_locked(common, target, &self.path)?;
        let text = serde_json::to_vec(&self).unwrap_or_default();
        Ok(write_atomic_by(&drafts(common), &file(common, target), &text, FileMode::Private)?)
    }
}

/// Deletes the record of the move.
pub(super) fn end(common: &Path, target: &str) {
    // A leftover record is checked once more and found to be obsolete.
    let _ = fs::remove_file(file(common, target));
}

/// Restores the files of an interrupted move. The caller holds the landing lock.
pub(super) fn put_back(common: &Path, target: &str) -> Result<(), WorktreeError> {
    let Ok(bytes) = read_bounded(&file(common, target), 64 * 1024) else { return Ok(()) };
    let cut_off = serde_json::from_slice(&bytes).ok().filter(|cut_off: &BranchMove| cut_off.v == 1);
    if let Some(cut_off) = cut_off.filter(|cut_off| cut_off.path.is_dir()) {
        if !cut_off.was_locked {
            clear_locks_of_move(common, target, &cut_off.path)?;
        }
        let is_bare = cut_off.path == common;
        if !is_bare && branch_commit(common, target)?.as_ref() == Some(&cut_off.old) {
            put_files_back(&cut_off)?;
        }
    }
    end(common, target);
    Ok(())
}

fn put_files_back(cut_off: &BranchMove) -> Result<(), WorktreeError> {
    let names = in_the_way(&cut_off.path, &cut_off.old, &cut_off.new)?;
    for name in &names {
        if !is_gits(cut_off, name)? {
            return Ok(());
        }
    }
    names.iter().try_for_each(|name| put_one_back(cut_off, name))
}

/// Decides whether a file contains nobody's work: it is missing, empty or exactly the new content, and
/// the index agrees.
fn is_gits(cut_off: &BranchMove, name: &str) -> Result<bool, WorktreeError> {
    let to_come = blob(&cut_off.path, &cut_off.new, name)?;
    let staged = blob(&cut_off.path, ":0", name)?;
    if staged.is_some() && staged != to_come && staged != blob(&cut_off.path, &cut_off.old, name)? {
        return Ok(false);
    }
    match inside(&cut_off.path, Path::new(name))?.symlink_metadata() {
        Err(_) => return Ok(true),
        Ok(meta) if meta.is_file() && meta.len() == 0 => return Ok(true),
        Ok(meta) if meta.is_file() => {}
        Ok(_) => return Ok(false),
    }
    let on_disk = git(&cut_off.path, &["hash-object", "--", name])?;
    Ok(to_come == Some(line(&on_disk)))
}

fn put_one_back(cut_off: &BranchMove, name: &str) -> Result<(), WorktreeError> {
    let path = inside(&cut_off.path, Path::new(name))?;
    let literal = format!(":(literal){name}");
    if blob(&cut_off.path, &cut_off.old, name)?.is_some() {
        let source = format!("--source={}", cut_off.old);
        git(&cut_off.path, &["restore", "--quiet", &source, "--staged", "--worktree", "--", &literal])?;
        return Ok(());
    }
    git(&cut_off.path, &["rm", "--quiet", "--cached", "--force", "--ignore-unmatch", "--", &literal])?;
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).map_err(|source| WorktreeError::Io { path, source })?;
    }
    Ok(())
}

fn blob(dir: &Path, commit: &str, name: &str) -> Result<Option<String>, GitError> {
    match git(dir, &["rev-parse", "--verify", "--quiet", &format!("{commit}:{name}")]) {
        Ok(said) => Ok(Some(line(&said))),
        Err(GitError::Failed { code: Some(1 | 128), .. }) => Ok(None),
        Err(e) => Err(e),
    }
}
