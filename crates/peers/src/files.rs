//! Writes files whole or not at all, and reads them within bounds.
//!
//! An agent may have created anything in a workspace: a link as the last part of a path is never
//! followed, and [`inside`] keeps the rest of the path in the folder. `forms` and the engine interpret
//! the contents.
//!
//! A file is a [`DraftFile`] until it is complete. In a checkout, [`checkout`] writes files, so that no
//! agent commits a draft left behind by a kill.
//!
//! Folders of prompts have other rules, because people link them together: [`walk`] finds their files,
//! [`read`] reads them, [`watch`] reports changes.

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

pub use draft::{DraftFile, clear_dead, dead_drafts};
use rustix::fs::OFlags;

use crate::os;

/// The buffer size for large files.
const SPARE_BUFFER: usize = 256 * 1024;

/// The permissions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMode {
    /// Readable by the owner only: settings, tokens, prompts.
    Private,
    /// Readable by everybody.
    Shared,
    /// Readable and executable by everybody.
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

/// An error from reading or writing a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file is larger than the reader allows.
    #[error("{path} is larger than {max} bytes", path = path.display())]
    TooLarge {
        path: PathBuf,
        /// The limit in bytes.
        max: u64,
    },
    /// A link, a folder or a device instead of a plain file.
    #[error("{path} is not a plain file", path = path.display())]
    NotPlain { path: PathBuf },
    /// The path leads out of its folder.
    #[error("{path} leads out of {root}", path = path.display(), root = root.display())]
    Outside {
        path: PathBuf,
        /// The folder that the path must stay in.
        root: PathBuf,
    },
}

/// Decides whether an error says that a place may not be written.
pub fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl FileError {
    /// Decides whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Decides whether the place may not be written.
    pub fn is_refused(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if is_refused(source))
    }

    /// Describes the error without the path, for a message that already names the file.
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

/// Creates a folder and its parents, accessible only to the owner.
pub fn make_private_dir(path: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| io_error(path, e))
}

/// Makes a symbolic link. A link that another process made meanwhile is as good.
pub fn make_link(link: &Path, target: &Path) -> Result<(), FileError> {
    match std::os::unix::fs::symlink(target, link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io_error(link, error)),
        _ => Ok(()),
    }
}

/// Creates a folder below `root` and its missing parents. Returns an error if a link leads out.
pub fn make_dirs_inside(root: &Path, dir: &Path) -> Result<(), FileError> {
    let outside = || FileError::Outside { path: dir.to_owned(), root: root.to_owned() };
    let relative = dir.strip_prefix(root).map_err(|_| outside())?;
    // A dummy name in the folder, so that `inside` checks the folder itself.
    let within = relative.join("name");
    let path = inside(root, &within).map_err(|_| outside())?;
    let path = path.parent().ok_or_else(outside)?;
    fs::create_dir_all(path).map_err(|e| io_error(path, e))?;
    inside(root, &within).map(|_| ()).map_err(|_| outside())
}

/// Replaces a file's whole content; a crash leaves the old or the new content. A link at the path is
/// replaced, never followed. For Windlass's own folders: the draft is beside the file.
pub fn write_atomic(path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), FileError> {
    let draft = DraftFile::beside(path, mode.bits());
    write_whole(draft, path, bytes)
}

/// Replaces a file like [`write_atomic`], with the draft in another folder of the same file system.
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

/// Replaces a file that can be generated again. Other processes see the old or the new content, but a
/// power cut may leave neither intact, so the reader must check. The draft is in another folder of the
/// same file system.
pub fn write_spare(
    drafts: &Path,
    path: &Path,
    mode: FileMode,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> Result<(), FileError> {
    make_private_dir(drafts)?;
    filled(drafts, path, mode, fill).and_then(DraftFile::place).map_err(|e| io_error(path, e))
}

/// Creates a file like [`write_spare`], unless it exists, such as a program that others run. Returns
/// false if it exists.
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

/// Creates a file. Returns false and changes nothing if it exists. For Windlass's own folders: the draft
/// is beside the file.
pub fn create_new(path: &Path, bytes: &[u8], mode: FileMode) -> Result<bool, FileError> {
    create_whole(DraftFile::beside(path, mode.bits()), path, bytes)
}

/// Renames the file at a path within its folder to the first free name of `names`, and returns the new
/// path. Returns `None` if there is no file. A link is renamed, never followed.
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

/// Creates a file like [`create_new`], with the draft in another existing folder of the same file
/// system.
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

/// Opens a plain file without following a link in the last part of its path.
pub fn open_plain(path: &Path) -> Result<File, FileError> {
    // NONBLOCK: a pipe at the path must not block the open.
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
    // One more byte, so that the buffer need not grow to find the end.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| io_error(path, e))?;
    if bytes.len() as u64 > max {
        return Err(FileError::TooLarge { path: path.to_owned(), max });
    }
    Ok(bytes)
}

/// Returns the last `max` bytes of a plain file as text; empty if the file is unreadable.
pub fn read_tail(path: &Path, max: u64) -> String {
    use std::io::{Seek, SeekFrom};
    let Ok(mut file) = open_plain(path) else { return String::new() };
    let length = file.metadata().map(|m| m.len()).unwrap_or_default();
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(max))).is_err() {
        return String::new();
    }
    // The bytes before an error are still worth showing.
    let _ = file.take(max).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Joins `relative` to `root`. Returns an error if `..` or a link of a folder leads out of `root`.
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
