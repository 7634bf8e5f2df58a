//! The files of a run outside of the log: its folder, and its trackers in the repository.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use windlass_core::id::RunId;
use windlass_peers::files::dead_drafts;
use windlass_peers::git;

/// The folder of trackers in a workspace.
const TRACKERS: &str = ".windlass/runs";
/// The end of a tracker's name.
const TRACKER: &str = "-tracker.md";
/// The most levels of folders that are measured or opened for removal.
const DEPTH: usize = 256;

/// The folder of a run's trackers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TrackerFolder {
    None,
    /// Only Windlass's files are in it.
    Own(PathBuf),
    /// It has a file of somebody else, or one that is committed.
    Shared {
        path: PathBuf,
        why: String,
    },
}

impl TrackerFolder {
    /// Inspects the folder of a run's trackers. `committed` are the names of files that git knows, from the
    /// workspace.
    pub(super) fn of(workspace: &Path, run: &RunId, committed: &BTreeSet<String>) -> TrackerFolder {
        let name = format!("{TRACKERS}/{run}");
        let path = workspace.join(&name);
        let is_plain = |folder: &Path| folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let mut folders = [".windlass", TRACKERS, &name].into_iter().map(|part| workspace.join(part));
        if Path::new(run.as_str()).components().count() != 1 || !folders.all(|folder| is_plain(&folder)) {
            return TrackerFolder::None;
        }
        if committed.iter().any(|file| file.starts_with(&format!("{name}/"))) {
            return TrackerFolder::Shared { path, why: "its files are committed".to_owned() };
        }
        let drafts = dead_drafts(&path);
        let is_own = |entry: &fs::DirEntry| {
            let is_tracker = entry.file_name().to_str().is_some_and(|name| name.ends_with(TRACKER));
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            is_file && (is_tracker || drafts.contains(&entry.path()))
        };
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        match entries.into_iter().find(|entry| !is_own(entry)) {
            None => TrackerFolder::Own(path),
            Some(other) => {
                let why = format!("Windlass did not make {}", other.file_name().to_string_lossy());
                TrackerFolder::Shared { path, why }
            }
        }
    }

    /// Removes the trackers and their folder. A file that somebody adds meanwhile stays.
    pub(super) fn remove(&self) -> io::Result<()> {
        let TrackerFolder::Own(path) = self else { return Ok(()) };
        let drafts = dead_drafts(path);
        for entry in fs::read_dir(path)?.flatten() {
            let is_tracker = entry.file_name().to_str().is_some_and(|name| name.ends_with(TRACKER));
            if is_tracker || drafts.contains(&entry.path()) {
                unless_gone(fs::remove_file(entry.path()))?;
            }
        }
        // Fails if the folder is not empty.
        let _ = fs::remove_dir(path);
        Ok(())
    }
}

/// Returns the files below the folder of trackers that git knows, from the workspace.
pub(super) fn committed(workspace: &Path) -> BTreeSet<String> {
    if !workspace.join(TRACKERS).is_dir() {
        return BTreeSet::new();
    }
    let said = git::git(workspace, &["ls-files", "-z", "--", TRACKERS]).unwrap_or_default();
    let names = said.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// Returns the space that a file, or a folder with everything in it, uses. Links count as themselves.
pub(super) fn size(path: &Path) -> u64 {
    let mut all = 0_u64;
    let mut waiting = vec![(path.to_owned(), 0)];
    while let Some((path, depth)) = waiting.pop() {
        let Ok(meta) = path.symlink_metadata() else { continue };
        // Some file systems report no blocks for small files.
        let content = if meta.is_dir() { 0 } else { meta.len() };
        all = all.saturating_add(content.max(meta.blocks().saturating_mul(512)));
        if meta.is_dir() && depth < DEPTH {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| (entry.path(), depth + 1)));
        }
    }
    all
}

/// Returns the folders in a folder that are not empty.
pub(super) fn filled_folders(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let is_filled = |path: &PathBuf| fs::read_dir(path).map_or(true, |mut entries| entries.next().is_some());
    folders.map(|entry| entry.path()).filter(is_filled).collect()
}

/// Removes a folder of Windlass's own with everything in it. A missing one is no error. Follows no link.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    let remove = || match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match unless_gone(remove()) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path);
            unless_gone(remove())
        }
        removed => removed,
    }
}

/// Makes the folders in a folder writable: programs of an agent may have left them read-only.
fn open_up(path: &Path) {
    let mut waiting = vec![(path.to_owned(), 0)];
    while let Some((path, depth)) = waiting.pop() {
        if depth >= DEPTH || !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        waiting.extend(entries.map(|entry| (entry.path(), depth + 1)));
    }
}

pub(super) fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_with_nothing_but_trackers_goes() {
        let dir = tempfile::tempdir().unwrap();
        let (run, none) = (RunId::new("k3f9"), BTreeSet::new());
        let folder = |committed: &BTreeSet<String>| TrackerFolder::of(dir.path(), &run, committed);
        assert_eq!(folder(&none), TrackerFolder::None);
        let path = dir.path().join(".windlass/runs/k3f9");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("loop-tracker.md"), "x").unwrap();
        fs::write(path.join(".windlass-999999999-1-1.tmp"), "x").unwrap();
        assert_eq!(folder(&none), TrackerFolder::Own(path.clone()));
        let committed = BTreeSet::from([".windlass/runs/k3f9/loop-tracker.md".to_owned()]);
        assert!(matches!(folder(&committed), TrackerFolder::Shared { .. }));
        fs::write(path.join("notes.md"), "mine").unwrap();
        let TrackerFolder::Shared { why, .. } = folder(&none) else { panic!("it has notes") };
        assert_eq!(why, "Windlass did not make notes.md");
        TrackerFolder::Own(path.clone()).remove().unwrap();
        assert_eq!(fs::read_to_string(path.join("notes.md")).unwrap(), "mine", "added after the look");
        fs::remove_file(path.join("notes.md")).unwrap();
        folder(&none).remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_link_is_neither_followed_nor_taken_for_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("loop-tracker.md"), "precious").unwrap();
        fs::create_dir_all(dir.path().join(".windlass/runs")).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(".windlass/runs/k3f9")).unwrap();
        let found = TrackerFolder::of(dir.path(), &RunId::new("k3f9"), &BTreeSet::new());
        assert_eq!(found, TrackerFolder::None);
        remove_all(&dir.path().join(".windlass")).unwrap();
        assert!(outside.path().join("loop-tracker.md").exists());
    }

    #[test]
    fn a_read_only_folder_goes_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("c"), "123").unwrap();
        assert!(size(dir.path()) >= 3 && size(&dir.path().join("none")) == 0);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
        remove_all(&dir.path().join("a")).unwrap();
        remove_all(&dir.path().join("a")).unwrap();
        assert!(!dir.path().join("a").exists());
    }
}
