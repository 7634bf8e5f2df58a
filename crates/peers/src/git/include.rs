//! Copies the ignored files that `.worktreeinclude` lists into a new worktree.
//!
//! git matches the patterns. A copy shares its blocks with the original if the file system can do that;
//! a link stays a link; existing files stay unchanged. Whatever links the two trees contain, nothing
//! outside of them is read or written.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::command::{git, line, names};
use super::worktree::WorktreeError;
use crate::files::{DraftFile, FileError, clear_dead, inside, make_dirs_inside, open_plain, read_bounded};
use crate::os;

const NAME: &str = ".worktreeinclude";
const MAX_PATTERNS: u64 = 256 * 1024;

/// Copies from the working tree that contains `repo`; a bare repository has none.
pub(super) fn copy(repo: &Path, worktree: &Path) -> Result<(), WorktreeError> {
    let Some(top) = top_with_patterns(repo)? else { return Ok(()) };
    worktree.parent().into_iter().for_each(clear_dead);
    for name in listed(&top)? {
        copy_one(&top, worktree, Path::new(&name))?;
    }
    Ok(())
}

fn top_with_patterns(repo: &Path) -> Result<Option<PathBuf>, WorktreeError> {
    // Most repositories have no such file, and checking the usual place avoids a call of git.
    if repo.join(".git").exists() && repo.join(NAME).symlink_metadata().is_err() {
        return Ok(None);
    }
    let Ok(said) = git(repo, &["rev-parse", "--show-toplevel"]) else { return Ok(None) };
    let top = PathBuf::from(line(&said));
    match read_bounded(&top.join(NAME), MAX_PATTERNS) {
        Ok(_) => Ok(Some(top)),
        Err(e) if e.is_missing() => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Returns the files that match and are ignored. Leaves out nested repositories, such as another
/// worktree, which git lists as folders.
fn listed(top: &Path) -> Result<Vec<String>, WorktreeError> {
    let from = format!("--exclude-from={NAME}");
    let matching = git(top, &["ls-files", "--others", "--ignored", "-z", &from])?;
    let not_ignored = git(top, &["ls-files", "--others", "--exclude-standard", "-z"])?;
    let not_ignored: HashSet<String> = names(&not_ignored).into_iter().collect();
    let mut listed = names(&matching);
    listed.retain(|name| !name.ends_with('/') && !not_ignored.contains(name));
    Ok(listed)
}

fn copy_one(top: &Path, worktree: &Path, name: &Path) -> Result<(), WorktreeError> {
    let from = inside(top, name)?;
    let to = match inside(worktree, name) {
        Ok(to) => to,
        // If the branch has a link that leads out, the file cannot be copied.
        Err(FileError::Outside { .. }) => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    let Ok(meta) = from.symlink_metadata() else { return Ok(()) };
    if to.symlink_metadata().is_ok() || !(meta.is_symlink() || meta.is_file()) {
        return Ok(());
    }
    let real = worktree.canonicalize().map_err(|e| failed(worktree, e))?;
    if let Some(folder) = to.parent() {
        match make_dirs_inside(&real, folder) {
            // The branch has a file where a folder would be needed.
            Err(FileError::Io { source, .. })
                if matches!(source.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory) =>
            {
                return Ok(());
            }
            made => made?,
        }
    }
    if meta.is_symlink() {
        let target = fs::read_link(&from).map_err(|e| failed(&from, e))?;
        return symlink(target, &to).map_err(|e| failed(&to, e));
    }
    copy_file(worktree, &from, &to)
}

fn failed(path: &Path, source: io::Error) -> WorktreeError {
    WorktreeError::Io { path: path.to_owned(), source }
}

/// Copies a file whole or not at all: a crash must not leave half a file that looks complete. The draft
/// is beside the worktree, because somebody may commit the files in it.
fn copy_file(worktree: &Path, from: &Path, to: &Path) -> Result<(), WorktreeError> {
    let mut source = match open_plain(from) {
        Err(e) if e.is_missing() => return Ok(()),
        source => source?,
    };
    let folder = worktree.parent().unwrap_or(worktree);
    fill(&mut source, folder, to).map_err(|e| failed(to, e))
}

fn fill(source: &mut File, folder: &Path, to: &Path) -> io::Result<()> {
    let mode = source.metadata()?.permissions().mode() & 0o777;
    let draft = DraftFile::within(folder, to, mode)?;
    if !os::clone_contents(source, draft.file()) {
        io::copy(source, &mut draft.file())?;
    }
    draft.place()
}
