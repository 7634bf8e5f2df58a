//! Files, written whole or not at all and read within bounds.
//!
//! What lies in a workspace may have been put there by an agent: a link as the last part of a
//! path is never followed, and [`inside`] keeps the rest of the path in the folder. What is in
//! the files is left to `forms` and the engine.
//!
//! A file is a [`Draft`] until it is whole. In a checkout it is written by [`checkout`], so that no
//! agent commits a draft that a kill has left.
//!
//! Folders of prompts are another matter, as people link them together: [`walk`] finds what is
//! in them, [`read`] reads it, [`watch`] tells of changes.

pub mod checkout;
mod draft;
pub mod read;
pub mod real;
pub mod stamp;
pub mod walk;
pub mod walk_error;
pub mod watch;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

pub use draft::{DraftFile, clear_dead};
use rustix::fs::OFlags;

use crate::os;

/// Written at once, where what is written is large.
const SPARE_BUFFER: usize = 256 * 1024;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// The owner alone: settings, tokens, prompts.
    Private,
    /// Everybody.
    Shared,
    /// Everybody, and it may be run.
    Program,
}

impl FileMode {
    fn bits(self) -> u32 {
        match self {
            FileMode::Private => 0o600,
            FileMode::Shared => 0o644,
            FileMode::Program => 0o755,
        }
    }
}

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system said no.
    #[error("{path}", path = path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// More than the reader wants.
    #[error("{path} is larger than {max} bytes", path = path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// The bound.
        max: u64,
    },
    /// A link, a folder or a device where a plain file should be.
    #[error("{path} is not a plain file", path = path.display())]
    NotPlain {
        /// Which file.
        path: PathBuf,
    },
    /// The path leads out of its folder.
    #[error("{path} leads out of {root}", path = path.display(), root = root.display())]
    Outside {
        /// Which path.
        path: PathBuf,
        /// The folder.
        root: PathBuf,
    },
}

impl FileError {
    /// Whether the file simply is not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// What is wrong, for who has named the file already.
    pub fn why(&self) -> String {
        match self {
            FileError::Io { source, .. } => source.to_string(),
            FileError::TooLarge { max, .. } => format!("it is larger than {max} bytes"),
            FileError::NotPlain { .. } => "it is not a plain file".to_owned(),
            FileError::Outside { root, .. } => format!("it leads out of {}", root.display()),
        }
    }
}

fn io_error(path: &Path, source: io::Error) -> FileError {
    if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return FileError::NotPlain { path: path.to_owned() };
    }
    FileError::Io { path: path.to_owned(), source }
}

/// Makes a folder and its parents; what is made is the owner's alone.
pub fn make_private_dir(path: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| io_error(path, e))
}

/// Makes a folder below `root` and what is missing above it, refused when a link leads out.
pub fn make_dirs_inside(root: &Path, dir: &Path) -> Result<(), FileError> {
    let outside = || FileError::Outside { path: dir.to_owned(), root: root.to_owned() };
    let relative = dir.strip_prefix(root).map_err(|_| outside())?;
    // A name in the folder, so that the folder itself is among what is looked at.
    let within = relative.join("name");
    let path = inside(root, &within).map_err(|_| outside())?;
    let path = path.parent().ok_or_else(outside)?;
    fs::create_dir_all(path).map_err(|e| io_error(path, e))?;
    inside(root, &within).map(|_| ()).map_err(|_| outside())
}

/// Replaces a file's whole content; a crash leaves the old or the new. A link at that place is
/// replaced, never followed. For Windlass's own folders: the draft lies beside the file.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), FileError> {
    let draft = DraftFile::beside(path, mode.bits());
    write_whole(draft, path, bytes)
}

/// The same with the draft in another folder of the same file system.
pub fn write_atomic_by(drafts: &Path, path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), FileError> {
    make_private_dir(drafts)?;
    write_whole(DraftFile::within(drafts, path, mode.bits()), path, bytes)
}

fn write_whole(draft: io::Result<DraftFile>, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let written = draft.and_then(|draft| {
        draft.file().write_all(bytes)?;
        draft.file().sync_all()?;
        draft.place()?;
        sync_parent(path)
    });
    written.map_err(|e| io_error(path, e))
}

/// Replaces a file's whole content, for what can be made again: other processes see the old or
/// the new, but a power cut may leave neither whole, so that its reader must notice. The draft lies
/// in another folder of the same file system.
pub fn write_spare(
    drafts: &Path,
    path: &Path,
    mode: FileMode,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), FileError> {
    make_private_dir(drafts)?;
    filled(drafts, path, mode, fill).and_then(DraftFile::place).map_err(|e| io_error(path, e))
}

/// The same for a file that stays as it is where it is there already: a program that others run.
pub fn create_spare(
    drafts: &Path,
    path: &Path,
    mode: FileMode,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<bool, FileError> {
    make_private_dir(drafts)?;
    filled(drafts, path, mode, fill).and_then(DraftFile::place_new).map_err(|e| io_error(path, e))
}

fn filled(
    drafts: &Path,
    path: &Path,
    mode: FileMode,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<DraftFile> {
    let draft = DraftFile::within(drafts, path, mode.bits())?;
    let mut file = BufWriter::with_capacity(SPARE_BUFFER, draft.file());
    fill(&mut file)?;
    file.flush()?;
    drop(file);
    Ok(draft)
}

/// Writes a file that must not exist yet. `false` when it does, and nothing is changed. For
/// Windlass's own folders: the draft lies beside the file.
pub fn create_new(path: &Path, bytes: &[u8], mode: FileMode) -> Result<bool, FileError> {
    create_whole(DraftFile::beside(path, mode.bits()), path, bytes)
}

/// Gives what lies at a path another name in the same folder, and says which: the first of `names`
/// that nobody has. Nothing when there is nothing. A link is moved, never followed.
pub fn set_aside(path: &Path, names: impl Fn(u32) -> String) -> Result<Option<PathBuf>, FileError> {
    for nth in 0..=u32::MAX {
        let aside = path.with_file_name(names(nth));
        match os::rename_new(path, &aside) {
            Ok(()) => return sync_parent(path).map(|()| Some(aside)).map_err(|e| io_error(path, e)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(io_error(path, error.into())),
        }
    }
    Ok(None)
}

/// The same with the draft in another folder of the same file system, which is there.
pub fn create_new_by(drafts: &Path, path: &Path, bytes: &[u8], mode: FileMode) -> Result<bool, FileError> {
    create_whole(DraftFile::within(drafts, path, mode.bits()), path, bytes)
}

fn create_whole(draft: io::Result<DraftFile>, path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let written = draft.and_then(|draft| {
        draft.file().write_all(bytes)?;
        draft.file().sync_all()?;
        let is_new = draft.place_new()?;
        if is_new {
            sync_parent(path)?;
        }
        Ok(is_new)
    });
    written.map_err(|e| io_error(path, e))
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Opens a plain file without following a link in its last part.
pub fn open_plain(path: &Path) -> Result<File, FileError> {
    // NONBLOCK: a pipe put there must not hang the open.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| io_error(path, e))?;
    let meta = file.metadata().map_err(|e| io_error(path, e))?;
    if !meta.is_file() {
        return Err(FileError::NotPlain { path: path.to_owned() });
    }
    Ok(file)
}

/// Reads a plain file of at most `max` bytes.
pub fn read_bounded(path: &Path, max: u64) -> Result<Vec<u8>, FileError> {
    let file = open_plain(path)?;
    let size = file.metadata().map(|meta| meta.len().min(max)).unwrap_or_default();
    // One more, so that the end is found without growing.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| io_error(path, e))?;
    if bytes.len() as u64 > max {
        return Err(FileError::TooLarge { path: path.to_owned(), max });
    }
    Ok(bytes)
}

/// The last `max` bytes of a plain file, as text; nothing when it cannot be read.
pub fn read_tail(path: &Path, max: u64) -> String {
    use std::io::{Seek, SeekFrom};
    let Ok(mut file) = open_plain(path) else { return String::new() };
    let length = file.metadata().map(|m| m.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(max))).is_err() {
        return String::new();
    }
    // What was read before an error is still worth showing.
    let _ = file.take(max).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `relative` below `root`, refused when `..` or a link of some folder leads out of it.
pub fn inside(root: &Path, relative: &Path) -> Result<PathBuf, FileError> {
    let outside = || FileError::Outside { path: relative.to_owned(), root: root.to_owned() };
    if relative.components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
        return Err(outside());
    }
    let real_root = root.canonicalize().map_err(|e| io_error(root, e))?;
    let path = real_root.join(relative);
    let existing = path.ancestors().skip(1).find(|p| p.exists()).unwrap_or(&real_root);
    let real = existing.canonicalize().map_err(|e| io_error(existing, e))?;
    if !real.starts_with(&real_root) {
        return Err(outside());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write_atomic(&path, b"one and more", FileMode::Private).unwrap();
        write_atomic(&path, b"two", FileMode::Private).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(mode_of(&path), 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_replaced_and_its_target_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "mine").unwrap();
        symlink(&target, &link).unwrap();
        write_atomic(&link, b"new", FileMode::Shared).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        assert_eq!(fs::read(&link).unwrap(), b"new");
    }

    #[test]
    fn what_is_written_in_parts_is_there_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write_spare(dir.path(), &path, FileMode::Private, |out| out.write_all(b"one")).unwrap();
        let failed = write_spare(dir.path(), &path, FileMode::Private, |out| {
            out.write_all(b"two")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!((fs::read(&path).unwrap(), mode_of(&path)), (b"one".to_vec(), 0o600));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn create_new_never_touches_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        assert!(create_new(&path, b"first", FileMode::Shared).unwrap());
        assert!(!create_new(&path, b"second", FileMode::Shared).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(mode_of(&path), 0o644);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_set_aside_is_kept_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("a"), dir.path().join("target"));
        let aside = || set_aside(&path, |nth| format!("old{nth}")).unwrap();
        assert_eq!(aside(), None);
        for (nth, text) in ["one", "two"].into_iter().enumerate() {
            fs::write(&path, text).unwrap();
            let kept = dir.path().join(format!("old{nth}"));
            assert_eq!(aside().as_ref(), Some(&kept));
            assert_eq!(fs::read_to_string(&kept).unwrap(), text);
        }
        fs::write(&target, "mine").unwrap();
        symlink(&target, &path).unwrap();
        assert!(aside().unwrap().is_symlink() && target.is_file());
    }

    #[test]
    fn reading_is_bounded_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("a"), dir.path().join("l"));
        fs::write(&path, "12345").unwrap();
        symlink(&path, &link).unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        assert!(matches!(read_bounded(&path, 4), Err(FileError::TooLarge { max: 4, .. })));
        assert!(matches!(read_bounded(&link, 9), Err(FileError::NotPlain { .. })));
        assert!(matches!(read_bounded(dir.path(), 9), Err(FileError::NotPlain { .. })));
        assert!(read_bounded(&dir.path().join("no"), 9).unwrap_err().is_missing());
        assert_eq!(read_tail(&path, 2), "45");
    }

    #[test]
    fn a_path_stays_in_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/", dir.path().join("out")).unwrap();
        assert!(inside(dir.path(), Path::new("a/b.md")).is_ok());
        for path in ["../x", "/etc/passwd", "a/../../x", "out/etc/passwd"] {
            assert!(matches!(inside(dir.path(), Path::new(path)), Err(FileError::Outside { .. })), "{path}");
        }
    }
}
