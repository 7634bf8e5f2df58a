//! The small file that marks a worktree as made by Windlass and records its progress.
//!
//! The marker is in the git folder of the worktree. git creates that folder, so before it exists the
//! same text is among Windlass's own files as an intent. A process that holds the metadata lock and
//! finds an intent knows that its writer died.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lock::{drafts, file_name, ours};
use super::worktree::{Worktree, WorktreeError};
use crate::files::{FileMode, read_bounded, write_spare};

const VERSION: u32 = 1;
const MAX: u64 = 64 * 1024;
const NAME: &str = "windlass.json";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    v: u32,
    pub(super) path: PathBuf,
    pub(super) branch: String,
    pub(super) base: String,
    /// Set if Windlass made the branch, and so may delete it once it is merged.
    pub(super) made_branch: bool,
    pub(super) stage: MarkerStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MarkerStage {
    /// Not handed out yet: only git has written files.
    CheckingOut,
    /// Handed out: the files are somebody's work.
    Ready,
    /// Found to contain no work and being removed.
    Removing,
}

impl Marker {
    pub(super) fn new(path: &Path, branch: &str, base: &str, made_branch: bool) -> Marker {
        let (path, branch, base) = (path.to_owned(), branch.to_owned(), base.to_owned());
        Marker { v: VERSION, path, branch, base, made_branch, stage: MarkerStage::CheckingOut }
    }

    pub(super) fn at(&self, stage: MarkerStage) -> Marker {
        Marker { stage, ..self.clone() }
    }

    /// Reads the marker from the git folder of a worktree. An unreadable marker counts as none: it is
    /// safer to disown a worktree than to claim a foreign one.
    pub(super) fn of(git_dir: &Path) -> Option<Marker> {
        read(&git_dir.join(NAME))
    }

    pub(super) fn write(&self, common: &Path, git_dir: &Path) -> Result<(), WorktreeError> {
        write_file(common, &git_dir.join(NAME), self)
    }

    pub(super) fn write_intent(&self, common: &Path) -> Result<(), WorktreeError> {
        crate::files::make_private_dir(&intents_dir(common))?;
        write_file(common, &self.intent(common), self)
    }

    pub(super) fn drop_intent(&self, common: &Path) -> Result<(), WorktreeError> {
        let path = self.intent(common);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(WorktreeError::Io { path, source })
            }
            _ => Ok(()),
        }
    }

    fn intent(&self, common: &Path) -> PathBuf {
        intents_dir(common).join(format!("{}.json", file_name(&self.branch)))
    }

    pub(super) fn worktree(&self, common: &Path, git_dir: PathBuf) -> Worktree {
        Worktree {
            path: self.path.clone(),
            branch: self.branch.clone(),
            base: self.base.clone(),
            common: common.to_owned(),
            git_dir,
            made_branch: self.made_branch,
        }
    }
}

/// A worktree that git may already have forgotten, while its files or its branch still exist.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorktreeBeingRemoved {
    marker: Marker,
    git_dir: PathBuf,
}

impl WorktreeBeingRemoved {
    pub(super) fn write(worktree: &Worktree, marker: &Marker) -> Result<(), WorktreeError> {
        let going = WorktreeBeingRemoved { marker: marker.clone(), git_dir: worktree.git_dir.clone() };
        crate::files::make_private_dir(&going_dir(&worktree.common))?;
        write_file(&worktree.common, &going_path(worktree), &going)
    }

    /// Decides whether a removal was started.
    pub(super) fn is(worktree: &Worktree) -> bool {
        going_path(worktree).exists()
    }

    pub(super) fn gone(worktree: &Worktree) {
        // A leftover file is listed once more, and its removal then finds nothing to do.
        let _ = fs::remove_file(going_path(worktree));
    }

    /// Returns all interrupted removals of a repository.
    pub(super) fn all(common: &Path) -> Vec<Worktree> {
        let read = |path: PathBuf| {
            serde_json::from_slice::<WorktreeBeingRemoved>(&read_bounded(&path, MAX).ok()?).ok()
        };
        let all = whole_files(&going_dir(common)).into_iter();
        let all = all.filter_map(read).filter(|going| going.marker.v == VERSION);
        all.map(|going| going.marker.worktree(common, going.git_dir)).collect()
    }
}

fn going_dir(common: &Path) -> PathBuf {
    ours(common).join("removing")
}

fn going_path(worktree: &Worktree) -> PathBuf {
    going_dir(&worktree.common).join(format!("{}.json", file_name(&worktree.branch)))
}

/// Returns the unfinished creations. The caller holds the metadata lock.
pub(super) fn intents(common: &Path) -> Vec<Marker> {
    whole_files(&intents_dir(common)).iter().filter_map(|path| read(path)).collect()
}

/// Returns the complete files of a folder. Older versions kept drafts in the same folder.
fn whole_files(folder: &Path) -> Vec<PathBuf> {
    let is_whole = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_whole));
    whole.map(|entry| entry.path()).collect()
}

// Not synced to disk: git does not sync the data that these files describe either.
fn write_file(common: &Path, path: &Path, value: &impl Serialize) -> Result<(), WorktreeError> {
    let text = serde_json::to_vec(value).map_err(io::Error::other);
    Ok(write_spare(&drafts(common), path, FileMode::Private, |file| file.write_all(&text?))?)
}

fn intents_dir(common: &Path) -> PathBuf {
    ours(common).join("adding")
}

fn read(path: &Path) -> Option<Marker> {
    let bytes = read_bounded(path, MAX).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|marker: &Marker| marker.v == VERSION)
}
