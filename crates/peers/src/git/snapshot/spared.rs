//! The files that an undo must leave alone, because no snapshot tells whether they are older than the run.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use windlass_core::snapshot::{FolderSnapshot, LeftOutReason};

use super::kept::KeptFiles;
use super::own::{OwnRepository, at};
use super::restore::{LeftAlone, TreeEntry, entries, read_all};
use super::{SnapshotError, SnapshotFolder, io_error};
use crate::files::make_private_dir;
use crate::git::command::GitCall;

pub(super) const IGNORE_FILE: &[u8] = b".gitignore";
const SCRATCH: &str = "ignored-then";

/// Returns those of the paths that git ignored in a former state. That state says nothing about them.
pub(super) fn ignored_then(
    folder: SnapshotFolder<'_>,
    then: &FolderSnapshot,
    paths: &[Vec<u8>],
) -> Result<HashSet<Vec<u8>>, SnapshotError> {
    let Some((place, _)) = KeptFiles::load(folder.own) else { return Ok(HashSet::new()) };
    let own = OwnRepository::open(folder, place)?;
    let scratch = own.dir.join(SCRATCH);
    let _ = fs::remove_dir_all(&scratch);
    make_private_dir(&scratch)?;
    let ignored = write_rules(folder, &own, then, &scratch).and_then(|()| ask(&own, &scratch, paths));
    let _ = fs::remove_dir_all(&scratch);
    ignored
}

/// Writes the ignore files of a former state, and those above the folder, into an otherwise empty folder.
fn write_rules(
    folder: SnapshotFolder<'_>,
    own: &OwnRepository,
    then: &FolderSnapshot,
    scratch: &Path,
) -> Result<(), SnapshotError> {
    let prefix = own.place.prefix.as_str();
    let write = |path: &[u8], bytes: &[u8]| {
        let place = at(scratch, path);
        let made = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&place, bytes));
        made.map_err(|error| io_error(&place, error))
    };
    let mut above = String::new();
    for part in prefix.split_inclusive('/') {
        let path = [above.as_bytes(), IGNORE_FILE].concat();
        if let Ok(bytes) = fs::read(at(&own.place.top, &path)) {
            write(&path, &bytes)?;
        }
        above.push_str(part);
    }
    let is_rule = |entry: &TreeEntry| entry.path.rsplit(|byte| *byte == b'/').next() == Some(IGNORE_FILE);
    let rules: Vec<TreeEntry> = entries(folder.path, &then.tree)?.into_iter().filter(is_rule).collect();
    for (rule, bytes) in rules.iter().zip(read_all(folder, &rules)?) {
        write(&[prefix.as_bytes(), &rule.path].concat(), &bytes)?;
    }
    Ok(())
}

fn ask(own: &OwnRepository, scratch: &Path, paths: &[Vec<u8>]) -> Result<HashSet<Vec<u8>>, SnapshotError> {
    let prefix = own.place.prefix.as_bytes();
    let full: Vec<Vec<u8>> = paths.iter().map(|path| [prefix, path].concat()).collect();
    let list = own.list(full.iter().map(Vec::as_slice))?;
    let top = scratch.to_str().ok_or_else(|| SnapshotError::BadPath { path: scratch.to_owned() })?;
    let env = own.env_over(top);
    let call = GitCall::at(scratch).with(&env).without_hooks().reading(&list).whole();
    let said = call.run_or_no(&["check-ignore", "--no-index", "-z", "--stdin"])?;
    let below = |path: &[u8]| path.strip_prefix(prefix).map(<[u8]>::to_owned);
    Ok(said.split(|byte| *byte == 0).filter(|path| !path.is_empty()).filter_map(below).collect())
}

/// Names the files that may have changed since a moment and that no snapshot contains.
pub fn unsaved_changes(
    folder: &Path,
    now: &FolderSnapshot,
    then: &FolderSnapshot,
    since_ms: i64,
) -> Result<Vec<LeftAlone>, SnapshotError> {
    let mut left: Vec<LeftAlone> = Vec::new();
    for file in now.left_out.iter().chain(&then.left_out) {
        let is_known = left.iter().any(|known| known.path == file.path);
        if is_known || file.why == LeftOutReason::Repository {
            continue;
        }
        let changed = fs::symlink_metadata(folder.join(&file.path)).map(|meta| meta.ctime() * 1000 + 999);
        if changed.is_ok_and(|changed| changed < since_ms) {
            continue;
        }
        let why = format!("no snapshot contains it: {}", file.why.describe());
        left.push(LeftAlone { path: file.path.clone(), why });
    }
    left.extend(changed_submodules(folder)?);
    Ok(left)
}

/// Names the submodules whose files differ from their commit.
fn changed_submodules(folder: &Path) -> Result<Vec<LeftAlone>, SnapshotError> {
    if !folder.ancestors().any(|above| above.join(".gitmodules").exists()) {
        return Ok(Vec::new());
    }
    let args = ["diff-files", "--raw", "-z", "--relative", "--ignore-submodules=none"];
    let said = GitCall::at(folder).whole().run(&args)?;
    let mut parts = said.split(|byte| *byte == 0);
    let mut left = Vec::new();
    while let (Some(facts), Some(path)) = (parts.next(), parts.next()) {
        if facts.starts_with(b":160000") {
            let why = "a submodule: no snapshot contains its files".to_owned();
            left.push(LeftAlone { path: String::from_utf8_lossy(path).into_owned(), why });
        }
    }
    Ok(left)
}
