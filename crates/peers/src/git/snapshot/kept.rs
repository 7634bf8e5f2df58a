//! The files of a snapshot that differ from the index it started from, with their stamps, so that the next
//! snapshot reads only what changed since.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::SnapshotError;
use super::checkout::CheckoutPlace;
use crate::files::stamp::Stamp;
use crate::files::{FileMode, read_bounded, write_spare};

/// The file in the folder of the own repository.
const FILE: &str = "kept";
const VERSION: &str = "1";
const MAX: u64 = 1024 * 1024 * 1024;

/// The last snapshot of a folder.
#[derive(Debug, Default)]
pub(super) struct KeptFiles {
    /// The tree of the last snapshot. Before the first one, the tree of the index.
    pub(super) tree: Option<String>,
    /// The commit of the last snapshot.
    pub(super) commit: Option<String>,
    /// The files that are not as in the index at the start, by their path from the top of the checkout.
    pub(super) files: BTreeMap<Vec<u8>, KeptFile>,
}

/// A file as it was in the last snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeptFile {
    Gone,
    There(ReadFile),
}

/// A file or a link that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadFile {
    /// The mode as git writes it: 100644, 100755 or 120000.
    pub(super) mode: u32,
    pub(super) stamp: Stamp,
    /// The time of reading, in nanoseconds since 1970.
    pub(super) read: i64,
    pub(super) digest: String,
}

impl ReadFile {
    /// Decides whether a file with this stamp and mode is certainly still the same.
    pub(super) fn is_still(&self, stamp: &Stamp, mode: u32) -> bool {
        self.stamp == *stamp && self.mode == mode && !stamp.is_fresh(self.read)
    }
}

impl KeptFiles {
    /// Loads the last snapshot and the checkout that it is of, if there is one.
    pub(super) fn load(own: &Path) -> Option<(CheckoutPlace, KeptFiles)> {
        let bytes = read_bounded(&own.join(FILE), MAX).ok()?;
        let mut parts = bytes.split(|byte| *byte == 0);
        let mut text = || std::str::from_utf8(parts.next()?).ok();
        if text()? != VERSION {
            return None;
        }
        let place = CheckoutPlace {
            top: PathBuf::from(text()?),
            prefix: text()?.to_owned(),
            common: PathBuf::from(text()?),
            objects: PathBuf::from(text()?),
        };
        let (tree, commit) = (text()?.to_owned(), text()?.to_owned());
        let mut kept = KeptFiles { tree: Some(tree), commit: Some(commit), files: BTreeMap::new() };
        while let Some(path) = parts.next().filter(|path| !path.is_empty()) {
            let fact = std::str::from_utf8(parts.next()?).ok()?;
            kept.files.insert(path.to_owned(), read(fact)?);
        }
        // The last part is empty in a file that was written to its end.
        parts.next().is_none().then_some((place, kept))
    }

    /// Saves the snapshot.
    pub(super) fn save(&self, own: &Path, place: &CheckoutPlace) -> Result<(), SnapshotError> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let CheckoutPlace { top, prefix, common, objects } = place;
        let header = [
            VERSION.to_owned(),
            text(top),
            prefix.clone(),
            text(common),
            text(objects),
            self.tree.clone().unwrap_or_default(),
            self.commit.clone().unwrap_or_default(),
        ];
        write_spare(own, &own.join(FILE), FileMode::Private, |out| {
            use std::io::Write as _;
            for text in header {
                out.write_all(text.as_bytes())?;
                out.write_all(b"\0")?;
            }
            for (path, file) in &self.files {
                out.write_all(path)?;
                write!(out, "\0{}\0", write(file))?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn write(file: &KeptFile) -> String {
    match file {
        KeptFile::Gone => "gone".to_owned(),
        KeptFile::There(ReadFile { mode, stamp, read, digest }) => {
            let Stamp { size, mtime, ctime, inode } = stamp;
            format!("{mode:o} {size} {mtime} {ctime} {inode} {read} {digest}")
        }
    }
}

fn read(fact: &str) -> Option<KeptFile> {
    if fact == "gone" {
        return Some(KeptFile::Gone);
    }
    let mut words = fact.split(' ');
    let file = ReadFile {
        mode: u32::from_str_radix(words.next()?, 8).ok()?,
        stamp: Stamp {
            size: words.next()?.parse().ok()?,
            mtime: words.next()?.parse().ok()?,
            ctime: words.next()?.parse().ok()?,
            inode: words.next()?.parse().ok()?,
        },
        read: words.next()?.parse().ok()?,
        digest: words.next()?.to_owned(),
    };
    words.next().is_none().then_some(KeptFile::There(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let stamp = Stamp { size: 3, mtime: -5, ctime: 7, inode: u64::MAX };
        let there = ReadFile { mode: 0o100_755, stamp, read: 9, digest: "ab".to_owned() };
        for file in [KeptFile::Gone, KeptFile::There(there)] {
            assert_eq!(read(&write(&file)), Some(file));
        }
        assert_eq!(read("100644 3 1 1 1 1"), None);
    }
}
