//! Files that checks leave in a worktree, which are nobody's work.
//!
//! If everything was committed when the checks started, every difference at their end is theirs. A note
//! lists these files with digests, so that a file that somebody changes afterwards counts as work again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::command::{GitCall, GitError, git, line};
use super::fingerprint::file_digest;
use super::lock::drafts;
use super::marker::Marker;
use super::worktree::{WorktreeError, changes};
use crate::files::{FileMode, read_bounded, write_atomic_by};

const VERSION: u32 = 1;
const MAX: u64 = 64 << 20;

/// The note about the checks of a worktree.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    /// The running checks, if nothing but files of earlier checks was uncommitted when they started.
    begun: Option<String>,
    /// The files that checks left, with their digests.
    left: BTreeMap<String, String>,
}

/// A worktree that Windlass made, and the path of its note.
struct WorktreeArtifacts {
    top: PathBuf,
    file: PathBuf,
    drafts: PathBuf,
}

impl WorktreeArtifacts {
    /// Returns the worktree of a folder, or `None` if it is a person's own checkout.
    fn at(dir: &Path) -> Result<Option<WorktreeArtifacts>, GitError> {
        let folders = ["--show-toplevel", "--git-dir", "--git-common-dir"];
        let said = git(dir, &[&["rev-parse", "--path-format=absolute"], &folders[..]].concat())?;
        let said = line(&said);
        let mut folders = said.split('\n').map(Path::new);
        let (Some(top), Some(git_dir), Some(common)) = (folders.next(), folders.next(), folders.next())
        else {
            return Ok(None);
        };
        let (top, file) = (top.to_owned(), git_dir.join("windlass-checks.json"));
        Ok(Marker::of(git_dir).map(|_| WorktreeArtifacts { top, file, drafts: drafts(common) }))
    }

    fn note(&self) -> Note {
        let bytes = read_bounded(&self.file, MAX).unwrap_or_default();
        let note = serde_json::from_slice(&bytes).ok().filter(|note: &Note| note.v == VERSION);
        note.unwrap_or(Note { v: VERSION, begun: None, left: BTreeMap::new() })
    }

    fn write(&self, note: &Note) -> Result<(), WorktreeError> {
        let text = serde_json::to_vec(note).unwrap_or_default();
        Ok(write_atomic_by(&self.drafts, &self.file, &text, FileMode::Private)?)
    }

    /// Returns the uncommitted files that checks did not leave.
    fn work(&self, note: &Note) -> Result<Vec<String>, GitError> {
        let is_left = |name: &String| {
            note.left.get(name).is_some_and(|digest| *digest == file_digest(&self.top.join(name)))
        };
        Ok(changes(&self.top)?.into_iter().filter(|name| !is_left(name)).collect())
    }
}

/// Records the start of checks in a worktree. `name` identifies them: when the same checks start again
/// after a crash, their earlier files still count as theirs.
pub fn checks_begin(dir: &Path, name: &str) -> Result<(), WorktreeError> {
    let Some(tree) = WorktreeArtifacts::at(dir)? else { return Ok(()) };
    let note = tree.note();
    if note.begun.as_deref() == Some(name) {
        return Ok(());
    }
    let begun = tree.work(&note)?.is_empty().then(|| name.to_owned());
    tree.write(&Note { begun, ..note })
}

/// Records the end of checks in a worktree.
pub fn checks_end(dir: &Path) -> Result<(), WorktreeError> {
    let Some(tree) = WorktreeArtifacts::at(dir)? else { return Ok(()) };
    let note = tree.note();
    if note.begun.is_none() {
        return Ok(());
    }
    let digested = |name: String| (name.clone(), file_digest(&tree.top.join(name)));
    let left = changes(&tree.top)?.into_iter().map(digested).collect();
    tree.write(&Note { begun: None, left, ..note })
}

/// Returns the uncommitted work in a worktree: like [`changes`], without the files that checks left.
pub fn work(dir: &Path) -> Result<Vec<String>, GitError> {
    match WorktreeArtifacts::at(dir)? {
        Some(tree) => tree.work(&tree.note()),
        None => changes(dir),
    }
}

/// Restores the committed files of a worktree to their state before the checks, so that git can move it.
/// Saves the current content under `refs/windlass/saved/`. Untracked files stay.
pub(super) fn put_aside(dir: &Path) -> Result<(), GitError> {
    // A commit of the differences; empty if there are none.
    let call = GitCall::at(dir).without_hooks();
    let kept = line(&call.run(&["stash", "create", "Left by checks"])?);
    if kept.is_empty() {
        return Ok(());
    }
    call.run(&["update-ref", &format!("refs/windlass/saved/{kept}"), &kept])?;
    git(dir, &["checkout", "--quiet", "--force"]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::tests::repository;
    use super::*;
    use std::fs;

    #[test]
    fn what_checks_leave_is_theirs_until_somebody_changes_it() {
        let repo = repository();
        let outside = tempfile::tempdir().unwrap();
        let path = outside.path().canonicalize().unwrap().join("tree");
        let dir = super::super::create(repo.path(), &path, "task", "HEAD").unwrap().path;
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        checks_begin(&dir, "first").unwrap();
        write("a", "formatted\n");
        write("out", "x");
        assert_eq!(work(&dir).unwrap(), ["a", "out"], "who wrote it is not known before they end");
        // After a crash.
        checks_begin(&dir, "first").unwrap();
        checks_end(&dir).unwrap();
        assert!(work(&dir).unwrap().is_empty());
        write("out", "y");
        write("more", "x");
        assert_eq!(work(&dir).unwrap(), ["more", "out"]);
        checks_begin(&dir, "second").unwrap();
        checks_end(&dir).unwrap();
        assert_eq!(work(&dir).unwrap(), ["more", "out"], "it was there before these checks");
    }

    #[test]
    fn what_checks_did_to_committed_files_is_kept_and_put_aside() {
        let dir = repository();
        let before = fs::read_to_string(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a"), "formatted\n").unwrap();
        fs::write(dir.path().join("out"), "x").unwrap();
        put_aside(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("a")).unwrap(), before);
        assert!(dir.path().join("out").exists());
        let refs =
            line(&git(dir.path(), &["for-each-ref", "--format=%(refname)", "refs/windlass/saved/"]).unwrap());
        assert_eq!(line(&git(dir.path(), &["show", &format!("{refs}:a")]).unwrap()), "formatted");
        put_aside(dir.path()).unwrap();
    }

    #[test]
    fn no_hook_has_a_say_in_what_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let dir = repository();
        fs::write(dir.path().join("a"), "formatted\n").unwrap();
        for hook in ["reference-transaction", "post-index-change"] {
            let path = dir.path().join(".git/hooks").join(hook);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            // `checkout` is no business of Windlass alone, and its hooks run.
            let script =
                "#!/bin/sh\nps -o args= -p $PPID | grep -q checkout || { echo $0 >>../ran; exit 1; }\n";
            fs::write(&path, script.replace("../ran", &dir.path().join("ran").display().to_string()))
                .unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        put_aside(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("ran")).unwrap_or_default(), "");
    }
}
