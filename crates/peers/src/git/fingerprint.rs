//! A short text for the state of a folder's content: equal as long as nothing changed.
//!
//! In a repository it covers HEAD, the differences from it, and the content of untracked files.
//! Elsewhere it covers names, sizes, times and small contents of a bounded number of files. `.windlass/`
//! is left out.

use std::fs;
use std::hash::Hasher;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use windlass_core::snapshot::FolderSnapshot;

use super::{OURS, git, head, is_repository};
use crate::files::read_bounded;

/// For larger files only size and time count.
const MAX_CONTENT: u64 = 1024 * 1024;
const MAX_FILES: usize = 5_000;

/// Returns the fingerprint of a folder, or `none` if it cannot be determined.
pub fn fingerprint(dir: &Path) -> String {
    let mut digest = Digest::default();
    match is_repository(dir) {
        true if add_repository(dir, &mut digest).is_some() => format!("git:{}", digest.text()),
        true => "none".to_owned(),
        false if dir.is_dir() => {
            add_folder(dir, &mut digest);
            format!("dir:{}", digest.text())
        }
        false => "none".to_owned(),
    }
}

/// Returns the fingerprint of a folder whose snapshot was just taken, without reading the files again.
pub fn fingerprint_of(dir: &Path, snapshot: &FolderSnapshot) -> String {
    let mut digest = Digest::default();
    digest.add(snapshot.head.as_deref().unwrap_or("unborn").as_bytes());
    let Ok(entries) = git(dir, &["ls-tree", "-z", "--full-tree", &snapshot.tree]) else {
        return fingerprint(dir);
    };
    for entry in entries.split(|byte| *byte == 0).filter(|entry| !entry.ends_with(b"\t.windlass")) {
        digest.add(entry);
    }
    for file in &snapshot.left_out {
        digest.add(file.path.as_bytes());
        add_file(&dir.join(&file.path), &mut digest);
    }
    format!("git:{}", digest.text())
}

/// Returns the digest of some bytes, for comparing them later.
pub fn digest(bytes: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.add(bytes);
    digest.text()
}

/// Returns the digest of a file's content. A missing file has a digest too.
pub(super) fn file_digest(path: &Path) -> String {
    let mut digest = Digest::default();
    add_file(path, &mut digest);
    digest.text()
}

fn add_repository(dir: &Path, digest: &mut Digest) -> Option<()> {
    let head = head(dir).ok()?;
    digest.add(head.as_deref().unwrap_or("unborn").as_bytes());
    let status = git(
        dir,
        &["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", ".", OURS],
    )
    .ok()?;
    digest.add(&status);
    let changed = match head {
        Some(_) => git(
            dir,
            &["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--binary", "HEAD", "--", ".", OURS],
        )
        .ok()?,
        None => Vec::new(),
    };
    digest.add(&changed);
    let top = git(dir, &["rev-parse", "--show-cdup"]).ok()?;
    let top = dir.join(String::from_utf8_lossy(&top).trim());
    let untracked = status.split(|b| *b == 0).filter_map(|entry| entry.strip_prefix(b"?? "));
    for name in untracked.take(MAX_FILES) {
        add_file(&top.join(String::from_utf8_lossy(name).as_ref()), digest);
    }
    Some(())
}

fn add_file(path: &Path, digest: &mut Digest) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    digest.add(&meta.len().to_le_bytes());
    match read_bounded(path, MAX_CONTENT) {
        Ok(content) => digest.add(&content),
        Err(_) => digest.add(&[meta.mtime().to_le_bytes(), meta.mtime_nsec().to_le_bytes()].concat()),
    }
}

/// Adds folder by folder in the order of names, so that the same content gives the same text.
fn add_folder(dir: &Path, digest: &mut Digest) {
    let mut waiting = vec![dir.to_owned()];
    let mut seen = 0;
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            seen += 1;
            if seen > MAX_FILES {
                return;
            }
            if folder == dir && entry.file_name() == ".windlass" {
                continue;
            }
            digest.add(entry.path().as_os_str().as_encoded_bytes());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                _ => add_file(&entry.path(), digest),
            }
        }
    }
}

/// Two differently seeded 64-bit hashes: against accidents, not against malice, which could gain nothing
/// but one more turn.
#[derive(Default)]
struct Digest(std::hash::DefaultHasher, std::hash::DefaultHasher);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        self.0.write_usize(bytes.len());
        self.0.write(bytes);
        self.1.write_u8(0xa5);
        self.1.write(bytes);
    }

    fn text(&self) -> String {
        format!("{:016x}{:016x}", self.0.finish(), self.1.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::repository;
    use super::super::{SnapshotFolder, SnapshotRequest, take_snapshot};
    use super::*;

    #[test]
    fn every_kind_of_change_in_a_repository_is_seen() {
        let dir = repository();
        let path = |name: &str| dir.path().join(name);
        let mut seen = vec![fingerprint(dir.path())];
        assert_eq!(fingerprint(dir.path()), seen[0]);
        let mut changed = |what: &str| {
            let now = fingerprint(dir.path());
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::write(path("a"), "two\n").unwrap();
        changed("edited");
        fs::write(path("a"), "six\n").unwrap();
        changed("edited to the same size");
        fs::write(path("new file"), "x").unwrap();
        changed("untracked");
        fs::write(path("new file"), "y").unwrap();
        changed("untracked edited to the same size");
        git(dir.path(), &["add", "--all"]).unwrap();
        git(dir.path(), &["commit", "--quiet", "-m", "second"]).unwrap();
        changed("committed");
    }

    #[test]
    fn a_snapshot_shows_the_same_kinds_of_change() {
        let dir = repository();
        let own = tempfile::tempdir().unwrap();
        let look = || {
            let folder = SnapshotFolder { path: dir.path(), own: own.path(), state: own.path() };
            let request = SnapshotRequest { reference: None, title: "t", also: &[] };
            fingerprint_of(dir.path(), &take_snapshot(folder, request).unwrap().unwrap())
        };
        let mut seen = vec![look()];
        assert_eq!(look(), seen[0]);
        fs::create_dir(dir.path().join(".windlass")).unwrap();
        fs::write(dir.path().join(".windlass/x"), "x").unwrap();
        assert_eq!(look(), seen[0], "our own folder does not count");
        let mut changed = |what: &str| {
            let now = look();
            assert!(!seen.contains(&now), "{what}");
            seen.push(now);
        };
        fs::write(dir.path().join("a"), "six\n").unwrap();
        changed("edited");
        git(dir.path(), &["commit", "--quiet", "-am", "second"]).unwrap();
        changed("committed");
        let large = fs::File::create(dir.path().join("large")).unwrap();
        large.set_len(60 * 1024 * 1024).unwrap();
        changed("a file that no snapshot contains");
        large.set_len(61 * 1024 * 1024).unwrap();
        changed("the same file, grown");
    }

    #[test]
    fn our_own_folder_is_not_seen() {
        let dir = repository();
        let before = fingerprint(dir.path());
        fs::create_dir_all(dir.path().join(".windlass/runs")).unwrap();
        fs::write(dir.path().join(".windlass/runs/loop-tracker.md"), "x").unwrap();
        assert_eq!(fingerprint(dir.path()), before);
    }

    #[test]
    fn a_plain_folder_has_a_fingerprint_too() {
        let dir = tempfile::tempdir().unwrap();
        let before = fingerprint(dir.path());
        assert!(before.starts_with("dir:"), "{before}");
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/a"), "x").unwrap();
        assert_ne!(fingerprint(dir.path()), before);
        assert_eq!(fingerprint(&dir.path().join("no")), "none");
    }
}
