//! Cleans up after a creation that was interrupted before its worktree was marked as ours.
//!
//! The caller holds the metadata lock, so the writer of an intent is dead. A worktree that git had
//! completed is marked; an incomplete one is removed, because nobody was given it.

use std::fs;
use std::io;
use std::path::Path;

use super::busy::{clear_locks, wait_until_idle};
use super::command::git;
use super::lock::{drafts, ours};
use super::marker::{Marker, intents};
use super::repository::{branch_commit, git_dir_at};
use super::worktree::WorktreeError;
use crate::files::{clear_dead, read_bounded};

/// Settles every interrupted creation.
pub(super) fn settle(common: &Path) -> Result<(), WorktreeError> {
    for folder in [drafts(common), ours(common).join("adding"), ours(common).join("removing")] {
        clear_dead(&folder);
    }
    intents(common).iter().try_for_each(|intent| settle_one(common, intent))
}

fn settle_one(common: &Path, intent: &Marker) -> Result<(), WorktreeError> {
    // git keeps running when its parent is killed.
    wait_until_idle(&intent.path)?;
    let git_dir = git_dir_at(common, &intent.path);
    clear_locks(&intent.worktree(common, git_dir.clone().unwrap_or_else(|| common.join("windlass"))))?;
    match git_dir {
        // Marked, and interrupted before the intent was dropped.
        Some(git_dir) if Marker::of(&git_dir).is_some() => {}
        Some(git_dir) if is_whole(&git_dir, intent) => intent.write(common, &git_dir)?,
        Some(git_dir) => {
            take_folder_away(&intent.path)?;
            fs::remove_dir_all(&git_dir).map_err(|source| WorktreeError::Io { path: git_dir, source })?;
            take_branch_away(common, intent)?;
        }
        None => {
            take_folder_away(&intent.path)?;
            take_branch_away(common, intent)?;
        }
    }
    intent.drop_intent(common)
}

/// Decides whether git had finished: it keeps a worktree locked until then.
fn is_whole(git_dir: &Path, intent: &Marker) -> bool {
    let says = |name: &str, text: &str| {
        read_bounded(&git_dir.join(name), 4096).is_ok_and(|bytes| bytes.trim_ascii_end() == text.as_bytes())
    };
    let on_branch = says("HEAD", &format!("ref: refs/heads/{}", intent.branch));
    on_branch && says("commondir", "../..") && !git_dir.join("locked").exists()
}

/// Removes the folder only if it is empty or contains nothing but `.git`, as before the checkout.
fn take_folder_away(path: &Path) -> Result<(), WorktreeError> {
    let failed = |source| WorktreeError::Io { path: path.to_owned(), source };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect::<Vec<_>>(),
        Err(_) => return Ok(()),
    };
    if entries.iter().any(|name| name != ".git") {
        return Ok(());
    }
    match fs::remove_file(path.join(".git")) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(e)),
        _ => fs::remove_dir(path).map_err(failed),
    }
}

/// Deletes a branch that we made and that never got a commit of its own. git compares the commit once
/// more.
fn take_branch_away(common: &Path, intent: &Marker) -> Result<(), WorktreeError> {
    if intent.made_branch && branch_commit(common, &intent.branch)?.as_ref() == Some(&intent.base) {
        let name = format!("refs/heads/{}", intent.branch);
        git(common, &["update-ref", "-d", &name, &intent.base])?;
    }
    Ok(())
}
