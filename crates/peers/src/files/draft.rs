//! A draft: a file that is being written under a temporary name and renamed when it is complete.
//!
//! A kill leaves drafts behind. So the name of each draft contains the process that writes it, and the
//! next process that works in the folder removes the drafts of dead processes ([`clear_dead`]). A draft
//! for Windlass's own folders is beside its file; a draft for a checkout is where nobody commits it
//! ([`super::checkout`]).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::open_plain;
use crate::os;

/// The pattern that git ignores where drafts must be in a checkout.
pub(super) const PATTERN: &str = ".windlass-*-*-*.tmp";

/// An unfinished file. Dropping it before it is placed removes it.
#[derive(Debug)]
pub struct DraftFile {
    path: PathBuf,
    target: PathBuf,
    file: File,
}

impl DraftFile {
    /// Creates an empty draft in the folder of its file.
    pub(super) fn beside(target: &Path, mode: u32) -> io::Result<DraftFile> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        DraftFile::within(folder.unwrap_or(Path::new(".")), target, mode)
    }

    /// Creates an empty draft in another folder.
    pub(crate) fn within(folder: &Path, target: &Path, mode: u32) -> io::Result<DraftFile> {
        let path = folder.join(new_name());
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        let draft = DraftFile { path, target: target.to_owned(), file };
        // A process in another container cannot see this process, but it sees the lock.
        let _ = flock(&draft.file, FlockOperation::NonBlockingLockExclusive);
        // Independent of the umask: shared files must be shared.
        draft.file.set_permissions(fs::Permissions::from_mode(mode))?;
        Ok(draft)
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the draft to its target and replaces any file there.
    pub fn place(mut self) -> io::Result<()> {
        match fs::rename(&self.path, &self.target) {
            Err(error) if self.is_too_far(&error) => self.nearer()?.place(),
            placed => placed,
        }
    }

    /// Places the draft unless its target exists. Returns false if it does.
    pub fn place_new(mut self) -> io::Result<bool> {
        // Unlike a rename, a hard link fails if the target exists.
        match fs::hard_link(&self.path, &self.target) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) if self.is_too_far(&error) => self.nearer()?.place_new(),
            Err(error) => Err(error),
        }
    }

    fn is_too_far(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::CrossesDevices && self.path.parent() != self.target.parent()
    }

    /// Copies the draft to the folder of its target, which is on another file system.
    fn nearer(&mut self) -> io::Result<DraftFile> {
        super::checkout::hide_drafts(&self.target);
        let mode = self.file.metadata()?.permissions().mode() & 0o777;
        let near = DraftFile::beside(&self.target, mode)?;
        io::copy(&mut File::open(&self.path)?, &mut &near.file)?;
        near.file.sync_all()?;
        Ok(near)
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        // Removes the draft, or its second name after a hard link.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the drafts of dead processes from a folder, and nothing else.
pub fn clear_dead(folder: &Path) {
    for draft in dead_drafts(folder) {
        // Another process may have been faster.
        let _ = fs::remove_file(draft);
    }
}

/// Returns the drafts of dead processes in a folder.
pub fn dead_drafts(folder: &Path) -> Vec<PathBuf> {
    let is_dead = |entry: &fs::DirEntry| {
        let author = entry.file_name().to_str().and_then(Author::of);
        author.is_some_and(|author| !author.is_alive()) && is_free(&entry.path())
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_dead).map(|entry| entry.path()).collect()
}

/// Decides whether no process has locked a plain file.
fn is_free(path: &Path) -> bool {
    open_plain(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok())
}

fn new_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let Author { pid, start } = Author::own();
    format!(".windlass-{pid}-{start}-{count}.tmp")
}

/// The process that writes a draft. Its start time distinguishes it from a later process with the same
/// id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Author {
    pid: u32,
    start: u64,
}

impl Author {
    fn own() -> Author {
        static OWN: OnceLock<Author> = OnceLock::new();
        *OWN.get_or_init(|| {
            let pid = std::process::id();
            Author { pid, start: start_of(pid).unwrap_or_default() }
        })
    }

    fn of(name: &str) -> Option<Author> {
        let parts = name.strip_prefix(".windlass-")?.strip_suffix(".tmp")?;
        let mut numbers = parts.split('-').map(number);
        let (pid, start, _count) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let pid = u32::try_from(pid).ok()?;
        numbers.next().is_none().then_some(Author { pid, start })
    }

    fn is_alive(self) -> bool {
        start_of(self.pid) == Some(self.start)
    }
}

/// Parses digits only, without sign or blanks.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn start_of(pid: u32) -> Option<u64> {
    os::status(i32::try_from(pid).ok()?).map(|status| status.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_drafts_of_dead_processes_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let Author { pid, start } = Author::own();
        let reused = format!(".windlass-{pid}-{}-0.tmp", start + 1);
        let dead = ".windlass-999999999-5-0.tmp";
        let kept = [
            format!(".windlass-{pid}-{start}-77.tmp"),
            ".windlass-999999999-5.tmp".to_owned(),
            ".windlass-999999999-5-0-1.tmp".to_owned(),
            ".windlass-999999999-+5-0.tmp".to_owned(),
            ".windlass-999999999-5-0.tmp.md".to_owned(),
            "windlass-999999999-5-0.tmp".to_owned(),
            ".windlass-me-5-0.tmp".to_owned(),
        ];
        for name in kept.iter().map(String::as_str).chain([reused.as_str(), dead]) {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        fs::create_dir(dir.path().join(".windlass-999999999-5-1.tmp")).unwrap();
        clear_dead(dir.path());
        let mut expected = kept.to_vec();
        expected.push(".windlass-999999999-5-1.tmp".to_owned());
        expected.sort();
        assert_eq!(names(dir.path()), expected);
    }

    #[test]
    fn a_draft_that_somebody_has_locked_is_kept_though_its_process_is_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".windlass-999999999-5-0.tmp");
        let held = File::create(&path).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        clear_dead(dir.path());
        assert!(path.exists());
        drop(held);
        clear_dead(dir.path());
        assert!(!path.exists());
    }

    #[test]
    fn a_draft_of_this_process_outlives_a_clearing_and_goes_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let draft = DraftFile::beside(&dir.path().join("a"), 0o600).unwrap();
        clear_dead(dir.path());
        assert_eq!(names(dir.path()).len(), 1);
        drop(draft);
        assert!(names(dir.path()).is_empty());
    }
}
