//! Writes files in a checkout so that no agent ever commits half of one.
//!
//! The draft of a file is in Windlass's own folder within `.git` and is renamed from there. If `.git` is
//! on another file system, the draft must be beside the file, and git is configured to ignore it.
//! Outside of a repository the draft is beside the file as well.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::draft::{self, DraftFile};
use super::{FileError, FileMode, create_whole, io_error, make_private_dir, read_bounded, write_whole};

/// The maximum size of a `.git` or `commondir` file.
const MAX_NAME: u64 = 16 * 1024;
const MAX_EXCLUDE: u64 = 1024 * 1024;

/// Replaces a file's whole content; a crash leaves the old or the new content.
pub fn write(path: &Path, bytes: &[u8], mode: FileMode) -> Result<(), FileError> {
    write_whole(begin(path, mode.bits()), path, bytes)
}

/// Replaces a file's whole content like [`write`], with any permissions and without waiting for the disk: for
/// many files that can be written again.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    let written = begin(path, mode).and_then(|draft| {
        draft.file().write_all(bytes)?;
        draft.place()
    });
    written.map_err(|error| io_error(path, error))
}

/// Creates a file. Returns false and changes nothing if it exists.
pub fn create_new(path: &Path, bytes: &[u8], mode: FileMode) -> Result<bool, FileError> {
    create_whole(begin(path, mode.bits()), path, bytes)
}

/// Creates the draft of a file, complete and synced to disk.
pub fn draft(path: &Path, bytes: &[u8], mode: u32) -> Result<DraftFile, FileError> {
    let written = begin(path, mode).and_then(|draft| {
        draft.file().write_all(bytes)?;
        draft.file().sync_all()?;
        Ok(draft)
    });
    written.map_err(|error| io_error(path, error))
}

fn begin(path: &Path, mode: u32) -> io::Result<DraftFile> {
    let folder = drafts_for(path).filter(|folder| make_private_dir(folder).is_ok());
    if let Some(folder) = folder {
        if is_same_device(&folder, path)
            && let Ok(draft) = DraftFile::within(&folder, path, mode)
        {
            return Ok(draft);
        }
        hide_drafts(path);
    }
    DraftFile::beside(path, mode)
}

/// Decides whether two paths are on one device. The system may still refuse a rename, because one file
/// system may be mounted twice.
fn is_same_device(folder: &Path, path: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev()).ok();
    let target = path.parent().and_then(device);
    target.is_some() && device(folder) == target
}

/// Removes the drafts of dead processes from a folder of a checkout and from its repository.
pub fn clear(folder: &Path) {
    draft::clear_dead(folder);
    if let Some(drafts) = drafts_for(&folder.join("file")) {
        draft::clear_dead(&drafts);
    }
}

/// Returns Windlass's own folder in the git folder that all worktrees of a file's repository share, or
/// `None` outside of a repository.
pub fn own_folder(path: &Path) -> Option<PathBuf> {
    let common = path.ancestors().skip(1).find_map(|folder| common_of(&folder.join(".git")))?;
    Some(common.join("windlass"))
}

/// Returns the folder of drafts in Windlass's own folder.
pub fn drafts_in(own: &Path) -> PathBuf {
    own.join("tmp")
}

fn drafts_for(path: &Path) -> Option<PathBuf> {
    own_folder(path).map(|own| drafts_in(&own))
}

/// Resolves `.git` to the shared git folder, as git does.
fn common_of(dot_git: &Path) -> Option<PathBuf> {
    let git_dir = match dot_git.is_dir() {
        true => dot_git.to_owned(),
        false => dot_git.parent()?.join(text_of(dot_git)?.strip_prefix("gitdir: ")?),
    };
    let common = match text_of(&git_dir.join("commondir")) {
        Some(relative) => git_dir.join(relative),
        None => git_dir,
    };
    let common = common.canonicalize().ok()?;
    (common.join("HEAD").is_file() && common.join("objects").is_dir()).then_some(common)
}

fn text_of(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_bounded(path, MAX_NAME).ok()?).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

/// Makes git ignore the drafts in a checkout, through the exclude file of this clone. If that file
/// cannot be written, the names of the drafts still identify them.
pub(super) fn hide_drafts(path: &Path) {
    let Some(info) = own_folder(path).and_then(|own| Some(own.parent()?.join("info"))) else { return };
    let exclude = info.join("exclude");
    let text = match read_bounded(&exclude, MAX_EXCLUDE) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.is_missing() => String::new(),
        Err(_) => return,
    };
    if text.lines().any(|line| line == draft::PATTERN) {
        return;
    }
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let _ = fs::create_dir_all(&info);
    let opened = OpenOptions::new().append(true).create(true).open(&exclude);
    let _ = opened.and_then(|mut file| file.write_all(format!("{newline}{}\n", draft::PATTERN).as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::super::super::git::git;
    use super::*;

    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]).unwrap();
        dir
    }

    fn drafts_among(dir: &Path) -> usize {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")).count()
    }

    #[test]
    fn a_draft_of_a_checkout_lies_in_the_git_folder_that_worktrees_share() {
        let repo = repository();
        let root = repo.path().canonicalize().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let linked = outside.path().canonicalize().unwrap().join("tree");
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        git(&root, &[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "x"]].concat()).unwrap();
        git(&root, &["worktree", "add", "--quiet", linked.to_str().unwrap()]).unwrap();
        for folder in [&root, &linked] {
            let path = folder.join("tasks.json");
            let drafted = draft(&path, b"new", 0o640).unwrap();
            assert_eq!((drafts_among(folder), drafts_among(&root.join(".git/windlass/tmp"))), (0, 1));
            drafted.place().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert_eq!(drafts_among(&root.join(".git/windlass/tmp")), 0);
            assert!(!create_new(&path, b"other", FileMode::Shared).unwrap());
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
    }

    #[test]
    fn outside_of_a_repository_a_draft_lies_beside_its_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        let drafted = draft(&dir.path().join("a"), b"new", 0o600).unwrap();
        assert_eq!(drafts_among(dir.path()), 1);
        drafted.place().unwrap();
        assert_eq!(drafts_among(dir.path()), 0);
    }

    /// Two file systems, where the machine has them.
    fn two_file_systems() -> Option<(tempfile::TempDir, tempfile::TempDir)> {
        let memory = tempfile::tempdir_in("/dev/shm").ok()?;
        let disk = tempfile::tempdir().ok()?;
        let other = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).ok()?;
        let device = |dir: &tempfile::TempDir| fs::metadata(dir.path()).unwrap().dev();
        let far = if device(&memory) == device(&disk) { other } else { disk };
        (device(&memory) != device(&far)).then_some((memory, far))
    }

    #[test]
    fn where_the_git_folder_is_on_another_file_system_git_ignores_the_draft_beside_the_file() {
        let Some((checkout, far)) = two_file_systems() else { return };
        let git_dir = far.path().join("git");
        let separate = format!("--separate-git-dir={}", git_dir.display());
        git(checkout.path(), &["init", "--quiet", &separate]).unwrap();
        let path = checkout.path().join("tasks.json");
        let drafted = draft(&path, b"new", 0o600).unwrap();
        assert_eq!(drafts_among(checkout.path()), 1);
        let status = git(checkout.path(), &["status", "--porcelain", "--untracked-files=all"]).unwrap();
        assert_eq!(String::from_utf8_lossy(&status), "");
        drafted.place().unwrap();
        assert!(create_new(&checkout.path().join("more"), b"x", FileMode::Shared).unwrap());
        assert_eq!((fs::read(&path).unwrap(), drafts_among(checkout.path())), (b"new".to_vec(), 0));
        let exclude = fs::read_to_string(git_dir.join("info/exclude")).unwrap();
        assert_eq!(exclude.matches(draft::PATTERN).count(), 1, "{exclude}");
    }

    #[test]
    fn a_rename_that_turns_out_to_cross_file_systems_is_made_from_beside() {
        let Some((checkout, far)) = two_file_systems() else { return };
        git(checkout.path(), &["init", "--quiet"]).unwrap();
        let path = checkout.path().join("a");
        let drafted = DraftFile::within(far.path(), &path, 0o640).unwrap();
        drafted.file().write_all(b"new").unwrap();
        drafted.place().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!((drafts_among(far.path()), drafts_among(checkout.path())), (0, 0));
        let drafted = DraftFile::within(far.path(), &checkout.path().join("b"), 0o640).unwrap();
        assert!(drafted.place_new().unwrap());
        assert!(!DraftFile::within(far.path(), &path, 0o640).unwrap().place_new().unwrap());
        assert_eq!((drafts_among(far.path()), drafts_among(checkout.path())), (0, 0));
    }
}
