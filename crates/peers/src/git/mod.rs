//! Runs git as a program in a controlled environment.
//!
//! Arguments are a list, no inherited `GIT_*` variable redirects git, and git never prompts. This module
//! only detects changes; the engine decides what they mean.
//!
//! [`merged`] finds the commit with the work of several branches, [`create`] makes a worktree, [`land`] moves its commits to the target branch, [`renew`] brings it up to
//! date after a conflict and [`remove`] deletes it. Each can be called again after a crash at any point, and
//! none ever deletes anybody's work. `snapshot` keeps the states of a folder as commits and restores them.

mod artifacts;
mod busy;
mod command;
mod create;
mod fingerprint;
mod include;
mod interrupted_create;
mod interrupted_move;
mod land;
mod lock;
mod marker;
mod merge;
mod prune;
mod rebase;
mod remove;
mod renew;
mod repository;
mod snapshot;
mod target;
mod worktree;

use std::path::Path;

pub use artifacts::{checks_begin, checks_end, work};
pub use busy::{clear_dead_locks, locks};
pub use command::{GitError, git};
pub use create::create;
pub use fingerprint::{digest, fingerprint, fingerprint_of};
pub use land::{LandError, Landing, LandingTimeouts, land, land_within};
pub use lock::LockError;
pub use merge::{MergedBranches, merged};
pub use prune::{
    commits_ahead, containing_branch, own_branches, process_in, reason_to_keep, remove_branch,
    remove_snapshots, shared_folder, snapshot_refs,
};
pub use remove::{KeepReason, Removal, remove};
pub use renew::{Renewal, renew};
pub use repository::{branch_commit, checked_out_at, is_branch_name};
pub use snapshot::{
    ChangedFile, DiffForm, LeftAlone, RestorePlan, SnapshotError, SnapshotFolder, SnapshotRequest,
    changed_files, commits_since, diff_trees, plan_restore, restore, save_before, take_snapshot,
    unsaved_changes,
};
pub use worktree::{Worktree, WorktreeError, ahead, changes, is_clean, list, refresh};

/// Decides whether a folder is inside the working tree of a repository.
pub fn is_repository(dir: &Path) -> bool {
    git(dir, &["rev-parse", "--is-inside-work-tree"]).is_ok_and(|said| said.trim_ascii() == b"true")
}

/// Returns the commit that a folder is at, or `None` in a repository without commits.
pub fn head(dir: &Path) -> Result<Option<String>, GitError> {
    match git(dir, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
        Ok(said) => Ok(Some(String::from_utf8_lossy(&said).trim().to_owned())),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Decides whether a repository certainly lacks a commit.
pub fn lacks(dir: &Path, commit: &str) -> bool {
    matches!(git(dir, &["cat-file", "-e", commit]), Err(GitError::Failed { code: Some(1), .. }))
}

/// The empty tree, which git knows everywhere, for comparisons in a repository without commits.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Excludes Windlass's own folder, which is not the agent's work.
const OURS: &str = ":(exclude,top).windlass";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    pub(super) fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let run = |args: &[&str]| git(dir.path(), args).unwrap();
        run(&["init", "--quiet"]);
        run(&["config", "user.name", "t"]);
        run(&["config", "user.email", "t@example.invalid"]);
        fs::write(dir.path().join("a"), "one\n").unwrap();
        run(&["add", "a"]);
        run(&["commit", "--quiet", "-m", "first"]);
        dir
    }

    #[test]
    fn a_repository_is_told_from_a_folder() {
        let plain = tempfile::tempdir().unwrap();
        assert!(!is_repository(plain.path()));
        let repository = repository();
        assert!(is_repository(repository.path()));
        assert_eq!(head(repository.path()).unwrap().unwrap().len(), 40);
    }

    #[test]
    fn a_repository_without_commits_has_no_head() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet"]).unwrap();
        assert_eq!(head(dir.path()).unwrap(), None);
    }

    #[test]
    fn no_housekeeping_goes_on_in_the_background() {
        use std::os::unix::fs::PermissionsExt;
        let dir = repository();
        git(dir.path(), &["config", "gc.auto", "1"]).unwrap();
        let hook = dir.path().join(".git/hooks/pre-auto-gc");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        let began = dir.path().join(".git/began");
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", began.display())).unwrap();
        fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
        // Enough that git would begin at once.
        for number in 0..1500 {
            fs::write(dir.path().join(format!("f{number}")), number.to_string()).unwrap();
        }
        git(dir.path(), &["add", "--all"]).unwrap();
        git(dir.path(), &["commit", "--quiet", "-m", "many"]).unwrap();
        assert!(!began.exists());
    }

    #[test]
    fn a_failure_carries_what_git_said() {
        let dir = tempfile::tempdir().unwrap();
        let error = git(dir.path(), &["log"]).unwrap_err();
        assert!(error.to_string().contains("not a git repository"), "{error}");
    }
}
