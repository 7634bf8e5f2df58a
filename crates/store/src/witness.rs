//! Checks that the files of the database are still the ones that were opened.
//!
//! SQLite does not check: after somebody deletes, moves or empties a file, SQLite keeps writing where
//! nobody reads. So the owner of a run checks before it starts new work, and every reader checks before
//! it reads.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Stat, fstat, stat};

use crate::os;

/// The fate of a lost database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostFile {
    Deleted,
    /// The path no longer leads to the opened file.
    Moved,
    /// The file is smaller than before.
    Emptied,
}

impl fmt::Display for LostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LostFile::Deleted => "deleted",
            LostFile::Moved => "moved or replaced",
            LostFile::Emptied => "emptied",
        })
    }
}

/// The database files as they were opened.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    files: Vec<SeenFile>,
}

#[derive(Debug)]
struct SeenFile {
    path: PathBuf,
    /// Opened with `O_PATH`: closing any other kind of handle drops the locks that SQLite holds on the
    /// file.
    file: OwnedFd,
    /// The largest size seen so far. None of these files shrinks while it is in use.
    least: AtomicU64,
}

impl Witness {
    /// Remembers the files of an open database.
    pub(crate) fn of(database: &Path) -> Witness {
        let beside = |ending: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(ending);
            SeenFile::of(PathBuf::from(path))
        };
        Witness { files: ["", "-wal", "-shm"].into_iter().filter_map(beside).collect() }
    }

    /// Returns the first lost file and its fate.
    pub(crate) fn loss(&self) -> Option<(&Path, LostFile)> {
        self.files.iter().find_map(|seen| Some((seen.path.as_path(), seen.loss()?)))
    }
}

impl SeenFile {
    fn of(path: PathBuf) -> Option<SeenFile> {
        let file = os::pin(&path).ok()?;
        let least = AtomicU64::new(size(&fstat(&file).ok()?));
        Some(SeenFile { path, file, least })
    }

    fn loss(&self) -> Option<LostFile> {
        let own = fstat(&self.file).ok()?;
        let found = stat(&self.path).ok();
        if found.is_none_or(|found| (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino)) {
            return Some(if own.st_nlink == 0 { LostFile::Deleted } else { LostFile::Moved });
        }
        let size = size(&own);
        (size < self.least.fetch_max(size, Ordering::Relaxed)).then_some(LostFile::Emptied)
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}
