//! Saves the states of a run's folders, so that `diff` and `undo` can use them later.
//!
//! `peers::git` takes the snapshots; the log lists them. A folder outside of a repository has none. A run
//! never depends on a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::event::{Event, SaveEnd};
use windlass_core::id::RunId;
use windlass_core::snapshot::{FolderSnapshot, SnapshotName};
use windlass_peers::git::{self, SnapshotFolder, SnapshotRequest};

use crate::error::chain;

/// The folder in the run's folder that makes its snapshots fast.
const OWN: &str = "snapshots";

/// The place of a run's snapshots.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotStore {
    /// Windlass's state folder.
    pub(crate) state: PathBuf,
    /// The folder of the run in it.
    pub(crate) run_dir: PathBuf,
    pub(crate) run: RunId,
}

impl SnapshotStore {
    /// Saves the state of a folder. Returns the event to record, or `None` outside of a repository.
    pub(crate) fn save(&self, folder: &str, name: SnapshotName) -> Option<Event> {
        let (reference, title) = (name.reference(&self.run), self.title(&name));
        let request = SnapshotRequest { reference: Some(&reference), title: &title, also: &[] };
        let own = self.own(folder);
        let end = match git::take_snapshot(self.folder(folder, &own), request) {
            Ok(snapshot) => SaveEnd::Saved(snapshot?),
            Err(error) => SaveEnd::Failed { why: chain(&error) },
        };
        Some(Event::FolderSaved { name, folder: folder.to_owned(), end })
    }

    /// Returns a folder as git takes its snapshots.
    pub(crate) fn folder<'a>(&'a self, folder: &'a str, own: &'a Path) -> SnapshotFolder<'a> {
        SnapshotFolder { path: Path::new(folder), own, state: &self.state }
    }

    /// Returns the folder that makes the snapshots of a folder fast.
    pub(crate) fn own(&self, folder: &str) -> PathBuf {
        self.run_dir.join(OWN).join(git::digest(folder.as_bytes()))
    }

    /// Returns the first line of the commit message of a snapshot.
    pub(crate) fn title(&self, name: &SnapshotName) -> String {
        format!("windlass: run {}, {name}", self.run)
    }

    /// Removes what only makes later snapshots fast, once there are none.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(self.run_dir.join(OWN));
    }
}

/// Returns the snapshot in an event that recorded one.
pub(crate) fn saved(event: &Event) -> Option<&FolderSnapshot> {
    match event {
        Event::FolderSaved { end: SaveEnd::Saved(snapshot), .. } => Some(snapshot),
        _ => None,
    }
}
