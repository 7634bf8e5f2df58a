//! Brings a folder back to an earlier snapshot.
//!
//! The caller saves the current state first ([`save_before`]), so nothing is lost. Every step can be repeated: after a
//! crash, saving and restoring again finishes the work.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use windlass_core::snapshot::{FolderSnapshot, LeftOutFile};

use super::kept::KeptFiles;
use super::own::{OwnRepository, at};
use super::spared::{IGNORE_FILE, ignored_then};
use super::{SnapshotError, SnapshotFolder, SnapshotRequest, take_snapshot};
use crate::files::{FileMode, checkout, write_spare};
use crate::git::command::GitCall;

/// The bytes to read from git at once.
const BATCH: u64 = 16 * 1024 * 1024;
/// The beginning of a file whose content Git LFS keeps.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const POINTER_MAX: usize = 1024;

/// The changes that bring a folder from one snapshot to another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestorePlan {
    write: Vec<TreeEntry>,
    remove: Vec<Vec<u8>>,
    /// Files that stay as they are.
    pub left: Vec<LeftAlone>,
}

/// A file that a restore leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    pub path: String,
    pub why: String,
}

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) path: Vec<u8>,
    mode: u32,
    object: String,
}

const SUBMODULE: u32 = 0o160_000;
const LINK: u32 = 0o120_000;

impl RestorePlan {
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.remove.is_empty()
    }

    /// Returns the paths of the files to write.
    pub fn written(&self) -> Vec<String> {
        self.write.iter().map(|entry| text(&entry.path)).collect()
    }

    /// Leaves all files alone but these.
    pub fn keep_only(&mut self, paths: &HashSet<String>, why: &str) {
        let RestorePlan { write, remove, left } = self;
        let mut is_kept = |path: &[u8]| {
            let path = text(path);
            let is_kept = paths.contains(&path);
            if !is_kept {
                left.push(LeftAlone { path, why: why.to_owned() });
            }
            is_kept
        };
        write.retain(|entry| is_kept(&entry.path));
        remove.retain(|path| is_kept(path));
    }

    /// Returns the paths of the files to remove.
    pub fn removed(&self) -> Vec<String> {
        self.remove.iter().map(|path| text(path)).collect()
    }
}

fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Takes a snapshot that contains everything that restoring `to` would overwrite, also where git ignores it by
/// now. Returns `None` outside of a repository.
pub fn save_before(
    folder: SnapshotFolder<'_>,
    request: SnapshotRequest<'_>,
    to: &FolderSnapshot,
) -> Result<Option<FolderSnapshot>, SnapshotError> {
    let Some(now) = take_snapshot(folder, SnapshotRequest { reference: None, ..request })? else {
        return Ok(None);
    };
    let unsaved = |change: Change| {
        let meta = at(folder.path, &change.path).symlink_metadata();
        // A folder in its place is saved file by file.
        let is_new = change.from.is_none() && meta.is_ok_and(|meta| !meta.is_dir());
        is_new.then_some(change.path)
    };
    let also: Vec<Vec<u8>> =
        changes(folder.path, &now.tree, &to.tree)?.into_iter().filter_map(unsaved).collect();
    take_snapshot(folder, SnapshotRequest { also: &also, ..request })
}

/// Decides what to do to bring a folder from its current snapshot to another one.
pub fn plan_restore(
    folder: SnapshotFolder<'_>,
    now: &FolderSnapshot,
    to: &FolderSnapshot,
) -> Result<RestorePlan, SnapshotError> {
    let mut plan = RestorePlan::default();
    for change in changes(folder.path, &now.tree, &to.tree)? {
        let name = text(&change.path);
        let is_in = |file: &&LeftOutFile| {
            name.strip_prefix(&file.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let unsaved = now.left_out.iter().chain(&to.left_out).find(is_in);
        if let Some(file) = unsaved {
            let why = format!("no snapshot contains it: {}", file.why.describe());
            plan.left.push(LeftAlone { path: name, why });
            continue;
        }
        match (change.from, change.to) {
            (Some(SUBMODULE), _) | (_, Some((SUBMODULE, _))) => {}
            (_, Some((mode, object))) => plan.write.push(TreeEntry { path: change.path, mode, object }),
            (_, None) => plan.remove.push(change.path),
        }
    }
    spare_ignored(folder, to, &mut plan)?;
    Ok(plan)
}

/// Leaves the files alone that git ignored in the state to restore: they may be older than that state.
fn spare_ignored(
    folder: SnapshotFolder<'_>,
    to: &FolderSnapshot,
    plan: &mut RestorePlan,
) -> Result<(), SnapshotError> {
    let paths = plan.write.iter().map(|entry| entry.path.as_slice());
    let mut paths = paths.chain(plan.remove.iter().map(Vec::as_slice));
    // With the same rules as now, git would ignore them now, and the current snapshot would not have them.
    let is_same = !paths.any(|path| path.ends_with(IGNORE_FILE));
    if is_same || plan.remove.is_empty() {
        return Ok(());
    }
    let ignored = ignored_then(folder, to, &plan.remove)?;
    let (spared, remove) =
        std::mem::take(&mut plan.remove).into_iter().partition(|path| ignored.contains(path));
    plan.remove = remove;
    let why = "git ignored it then, so it may be older";
    let leave = |path: Vec<u8>| LeftAlone { path: text(&path), why: why.to_owned() };
    plan.left.extend(Vec::into_iter(spared).map(leave));
    Ok(())
}

/// Lists the files of a tree.
pub(super) fn entries(dir: &Path, tree: &str) -> Result<Vec<TreeEntry>, SnapshotError> {
    let said = GitCall::at(dir).whole().run(&["ls-tree", "-r", "-z", "--full-tree", tree])?;
    let read = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (facts, path) = (std::str::from_utf8(entry.get(..tab)?).ok()?, entry.get(tab + 1..)?);
        let mut words = facts.split(' ');
        let mode = u32::from_str_radix(words.next()?, 8).ok()?;
        let is_file = words.next()? == "blob";
        let object = words.next()?.to_owned();
        is_file.then(|| TreeEntry { path: path.to_owned(), mode, object })
    };
    Ok(said.split(|byte| *byte == 0).filter_map(read).collect())
}

/// Reads the contents of files.
pub(super) fn read_all(
    folder: SnapshotFolder<'_>,
    entries: &[TreeEntry],
) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let mut contents = Vec::new();
    while let Some(rest) = entries.get(contents.len()..).filter(|rest| !rest.is_empty()) {
        contents.extend(read_some(folder, rest)?);
    }
    Ok(contents)
}

/// A path that differs between two trees.
struct Change {
    path: Vec<u8>,
    /// The mode in the first tree.
    from: Option<u32>,
    /// The mode and the object in the second tree.
    to: Option<(u32, String)>,
}

fn changes(dir: &Path, from: &str, to: &str) -> Result<Vec<Change>, SnapshotError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to];
    let said = GitCall::at(dir).whole().run(&args)?;
    let mut parts = said.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
        // `:MODE MODE OBJECT OBJECT LETTER`
        let facts = String::from_utf8_lossy(facts);
        let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
        let [from, to, _, object, _] = words.as_slice() else {
            return Err(SnapshotError::Unreadable { verb: "diff-tree" });
        };
        let mode = |text: &str| u32::from_str_radix(text, 8).ok().filter(|mode| *mode != 0);
        let to = mode(to).map(|mode| (mode, (*object).to_owned()));
        changes.push(Change { path: path.to_owned(), from: mode(from), to });
    }
    Ok(changes)
}

/// Performs a plan. Returns the files that had to stay as they are. Calls `after_each` after every file.
pub fn restore(
    folder: SnapshotFolder<'_>,
    plan: &RestorePlan,
    after_each: &mut dyn FnMut(),
) -> Result<Vec<LeftAlone>, SnapshotError> {
    let own = KeptFiles::load(folder.own).map(|(place, _)| OwnRepository::open(folder, place)).transpose()?;
    let modes = match own.is_none_or(|own| own.trusts_mode) {
        true => FileModes::OfTheSnapshot,
        false => FileModes::OfTheDisk,
    };
    let mut left = plan.left.clone();
    let mut leave = |path: &[u8], why: String| left.push(LeftAlone { path: text(path), why });
    for path in &plan.remove {
        match remove(folder.path, path) {
            Ok(None) => {}
            Ok(Some(why)) => leave(path, why.to_owned()),
            Err(error) => leave(path, error.to_string()),
        }
        after_each();
    }
    let mut rest = plan.write.as_slice();
    while !rest.is_empty() {
        let contents = read_some(folder, rest)?;
        let (batch, later) = rest.split_at(contents.len().clamp(1, rest.len()));
        for (entry, bytes) in batch.iter().zip(contents) {
            match write(folder.path, entry, &bytes, modes) {
                Ok(None) => {}
                Ok(Some(why)) => leave(&entry.path, why.to_owned()),
                Err(error) => leave(&entry.path, error.to_string()),
            }
            after_each();
        }
        rest = later;
    }
    left.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(left)
}

/// Reads the contents of the first files, at least one.
fn read_some(folder: SnapshotFolder<'_>, entries: &[TreeEntry]) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let unreadable = || SnapshotError::Unreadable { verb: "cat-file" };
    let ask = |entries: &[TreeEntry], how: &str| {
        let list = folder.own.join("objects-to-read");
        write_spare(folder.own, &list, FileMode::Private, |out| {
            use std::io::Write as _;
            entries.iter().try_for_each(|entry| writeln!(out, "{}", entry.object))
        })?;
        let said = GitCall::at(folder.path).reading(&list).whole().run(&["cat-file", how])?;
        Ok::<_, SnapshotError>(said)
    };
    let sizes = ask(entries, "--batch-check=%(objectsize)")?;
    let mut total = 0_u64;
    let fits = |size: &u64| {
        total = total.saturating_add(*size);
        total <= BATCH
    };
    let sizes: Option<Vec<u64>> =
        String::from_utf8_lossy(&sizes).lines().map(|line| line.parse().ok()).collect();
    let sizes: Vec<u64> = sizes.filter(|sizes| sizes.len() == entries.len()).ok_or_else(unreadable)?;
    let count = sizes.iter().copied().take_while(fits).count().max(1);
    let batch = entries.get(..count).ok_or_else(unreadable)?;
    let said = ask(batch, "--batch=%(objectsize)")?;
    let mut rest = said.as_slice();
    let mut contents = Vec::with_capacity(count);
    for size in sizes.iter().take(count) {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(unreadable)?;
        let size = usize::try_from(*size).map_err(|_| unreadable())?;
        let bytes = rest.get(end + 1..end + 1 + size).ok_or_else(unreadable)?;
        contents.push(bytes.to_owned());
        rest = rest.get(end + 2 + size..).ok_or_else(unreadable)?;
    }
    Ok(contents)
}

/// Returns the place of a file if every folder above it is a real folder of this one. `None` if one is
/// missing.
fn place(root: &Path, path: &[u8]) -> Result<PathBuf, &'static str> {
    let mut folder = root.to_owned();
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    if parts.iter().any(|part| part.is_empty() || [&b"."[..], b"..", b".git"].contains(part)) {
        return Err("its path leads out of the folder");
    }
    let Some((name, above)) = parts.split_last() else { return Err("it has no name") };
    for part in above {
        folder.push(std::ffi::OsStr::from_bytes(part));
        match fs::symlink_metadata(&folder) {
            Ok(meta) if !meta.is_dir() => return Err("a file or a link is in the place of its folder"),
            _ => {}
        }
    }
    Ok(folder.join(std::ffi::OsStr::from_bytes(name)))
}

/// Removes a file and the folders that become empty. Returns the reason why it stays, if it does.
fn remove(root: &Path, path: &[u8]) -> io::Result<Option<&'static str>> {
    let place = match place(root, path) {
        Ok(place) => place,
        Err(why) => return Ok(Some(why)),
    };
    match fs::symlink_metadata(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(meta) if meta.is_dir() => return Ok(None),
        Ok(_) => fs::remove_file(&place)?,
    }
    // Git keeps no empty folders. A folder with other files stays.
    for folder in place.ancestors().skip(1).take_while(|folder| *folder != root) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(None)
}

/// The source of the executable bit of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileModes {
    OfTheSnapshot,
    /// Git does not trust the disk's executable bits here, so snapshots do not have them.
    OfTheDisk,
}

/// Writes a file. Returns the reason why it stays as it is, if it does.
fn write(root: &Path, entry: &TreeEntry, bytes: &[u8], modes: FileModes) -> io::Result<Option<&'static str>> {
    let place = match place(root, &entry.path) {
        Ok(place) => place,
        Err(why) => return Ok(Some(why)),
    };
    if bytes.len() <= POINTER_MAX && bytes.starts_with(POINTER) {
        return Ok(Some("Git LFS keeps its content: `git lfs checkout` restores it"));
    }
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let meta = fs::symlink_metadata(&place).ok();
    if meta.as_ref().is_some_and(fs::Metadata::is_dir) && !clear_folder(&place) {
        return Ok(Some("a folder with other files is in its place"));
    }
    if entry.mode == LINK {
        if meta.is_some_and(|meta| !meta.is_dir()) {
            fs::remove_file(&place)?;
        }
        symlink(std::ffi::OsString::from_vec(bytes.to_owned()), &place)?;
        return Ok(None);
    }
    let before = meta.filter(fs::Metadata::is_file).map(|meta| meta.permissions().mode() & 0o777);
    let mode = match (before, entry.mode & 0o100 != 0) {
        (None, true) => 0o755,
        (None, false) => 0o644,
        (Some(mode), _) if modes == FileModes::OfTheDisk => mode,
        // Whoever may read it may run it.
        (Some(mode), true) => mode | ((mode & 0o444) >> 2),
        (Some(mode), false) => mode & 0o666,
    };
    checkout::replace(&place, bytes, mode).map_err(io::Error::other)?;
    Ok(None)
}

/// Removes a folder that contains nothing but empty folders.
fn clear_folder(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clear_folder(&entry.path());
        }
    }
    fs::remove_dir(folder).is_ok()
}
