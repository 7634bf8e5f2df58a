//! Finds out whether a worktree or a branch that Windlass made is still needed, and removes branches and
//! snapshots that are not.
//!
//! [`super::remove`] removes worktrees. Nothing is ever forced: a branch goes only if another branch of the
//! repository contains all of it, and only if it has not moved since.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::command::{GitCall, GitError, git, line};
use super::lock;
use super::remove::{KeepReason, Removal, find_work};
use super::repository::{branch_commit, common_dir, entries, is_ancestor};
use super::worktree::{Worktree, WorktreeError};
use crate::files::{FileMode, write_spare};
use crate::os;

/// The branches that Windlass makes for its worktrees are below this name.
const OWN_BRANCHES: &str = "refs/heads/windlass/";
/// The snapshots of all runs.
const SNAPSHOTS: &str = "refs/windlass/";

/// Returns the git folder that all worktrees of a folder's repository share.
pub fn shared_folder(dir: &Path) -> Result<PathBuf, WorktreeError> {
    common_dir(dir)
}

/// Returns the first reason to keep a worktree whose commits should be in `target`. Changes nothing.
pub fn reason_to_keep(worktree: &Worktree, target: &str) -> Result<Option<KeepReason>, WorktreeError> {
    find_work(worktree, target)
}

/// Returns a process that works in a folder.
pub fn process_in(folder: &Path) -> Option<u32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let works =
        |pid: &i32| *pid != own && os::working_folder(*pid).is_some_and(|cwd| cwd.starts_with(folder));
    os::processes().into_iter().find(works).and_then(|pid| u32::try_from(pid).ok())
}

/// Returns the branches that Windlass may have made, without `refs/heads/`.
pub fn own_branches(repo: &Path) -> Result<Vec<String>, GitError> {
    let said = git(repo, &["for-each-ref", "--format=%(refname)", OWN_BRANCHES])?;
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(said.lines().filter_map(|name| name.strip_prefix("refs/heads/")).map(str::to_owned).collect())
}

/// Returns a branch of a person that contains all of another branch: the preferred one if it does.
pub fn containing_branch(
    repo: &Path,
    branch: &str,
    preferred: Option<&str>,
) -> Result<Option<String>, GitError> {
    let Some(commit) = branch_commit(repo, branch)? else { return Ok(None) };
    let args = ["for-each-ref", "--format=%(refname)", "--contains", &commit, "refs/heads/"];
    let said = git(repo, &args)?;
    let said = String::from_utf8_lossy(&said);
    let found = said.lines().filter(|name| !name.starts_with(OWN_BRANCHES));
    let mut found: Vec<&str> = found.filter_map(|name| name.strip_prefix("refs/heads/")).collect();
    found.sort_by_key(|name| Some(*name) != preferred);
    Ok(found.first().map(|name| (*name).to_owned()))
}

/// Returns the number of commits in a branch that another branch lacks.
pub fn commits_ahead(repo: &Path, branch: &str, target: &str) -> Result<u64, GitError> {
    let range = format!("refs/heads/{target}..refs/heads/{branch}");
    let said = git(repo, &["rev-list", "--count", "--end-of-options", &range, "--"])?;
    Ok(line(&said).parse().unwrap_or_default())
}

/// Removes a branch without a worktree, unless the branch `target` lacks some of its commits. Can be repeated.
pub fn remove_branch(repo: &Path, branch: &str, target: &str) -> Result<Removal, WorktreeError> {
    let common = common_dir(repo)?;
    let _lock = lock::metadata(&common)?;
    let Some(commit) = branch_commit(&common, branch)? else { return Ok(Removal::Removed) };
    let is_merged = match branch_commit(&common, target)? {
        Some(target) => is_ancestor(&common, &commit, &target)?,
        None => false,
    };
    if !is_merged {
        return Ok(Removal::Kept(KeepReason::Unmerged { commit }));
    }
    if entries(&common)?.iter().any(|entry| entry.branch.as_deref() == Some(branch)) {
        return Ok(Removal::Kept(KeepReason::NotOurs));
    }
    git(&common, &["update-ref", "-d", &format!("refs/heads/{branch}"), &commit])?;
    Ok(Removal::Removed)
}

/// Returns the refs of all snapshots in a repository.
pub fn snapshot_refs(repo: &Path) -> Result<Vec<String>, GitError> {
    refs_below(repo, SNAPSHOTS)
}

fn refs_below(repo: &Path, folder: &str) -> Result<Vec<String>, GitError> {
    let said = GitCall::at(repo).whole().run(&["for-each-ref", "--format=%(refname)", folder])?;
    Ok(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
}

/// Removes the snapshots below `folder`, such as `refs/windlass/k3f9/`, all or none. Can be repeated. Uses a
/// file in the folder `scratch` while it works.
pub fn remove_snapshots(repo: &Path, folder: &str, scratch: &Path) -> Result<(), WorktreeError> {
    let refs = refs_below(repo, folder)?;
    if refs.is_empty() {
        return Ok(());
    }
    let list = scratch.join("refs");
    write_spare(scratch, &list, FileMode::Private, |file| {
        refs.iter().try_for_each(|name| write!(file, "delete {name}\0\0"))
    })?;
    GitCall::at(repo).without_hooks().reading(&list).run(&["update-ref", "--stdin", "-z"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::repository;
    use super::*;
    use crate::git::create;

    fn run(dir: &Path, args: &[&str]) -> String {
        line(&git(dir, args).unwrap())
    }

    /// A worktree with a commit of its own, and the branch of the repository.
    fn with_commit(dir: &Path, name: &str) -> (Worktree, String) {
        let main = run(dir, &["symbolic-ref", "--short", "HEAD"]);
        let at = dir.canonicalize().unwrap().join(".git/../..").join(format!("{name}.tree"));
        let at = at.parent().unwrap().canonicalize().unwrap().join(at.file_name().unwrap());
        let worktree = create(dir, &at, &format!("windlass/{name}"), "HEAD").unwrap();
        fs::write(at.join("new"), name).unwrap();
        run(&at, &["add", "new"]);
        run(&at, &["commit", "--quiet", "-m", name]);
        (worktree, main)
    }

    #[test]
    fn a_branch_goes_only_if_a_branch_of_a_person_has_all_of_it() {
        let outer = tempfile::tempdir().unwrap();
        let inner = repository();
        let dir = outer.path().join("repo");
        fs::rename(inner.path(), &dir).unwrap();
        let (worktree, main) = with_commit(&dir, "one");
        let branch = "windlass/one";
        run(&dir, &["branch", "windlass/copy", branch]);
        assert_eq!(own_branches(&dir).unwrap(), ["windlass/copy", branch]);
        assert_eq!(containing_branch(&dir, branch, Some(&main)).unwrap(), None, "only Windlass's own");
        assert_eq!(commits_ahead(&dir, branch, &main).unwrap(), 1);
        let kept = remove_branch(&dir, "windlass/copy", &main).unwrap();
        assert!(matches!(kept, Removal::Kept(KeepReason::Unmerged { .. })), "{kept:?}");
        run(&dir, &["branch", "aside", branch]);
        assert_eq!(containing_branch(&dir, branch, Some(&main)).unwrap().as_deref(), Some("aside"));
        run(&dir, &["merge", "--quiet", branch]);
        assert_eq!(containing_branch(&dir, branch, Some(&main)).unwrap(), Some(main.clone()));
        assert_eq!(reason_to_keep(&worktree, &main).unwrap(), None);
        let busy = remove_branch(&dir, branch, &main).unwrap();
        assert_eq!(busy, Removal::Kept(KeepReason::NotOurs), "it is checked out");
        for _ in 0..2 {
            assert_eq!(remove_branch(&dir, "windlass/copy", &main).unwrap(), Removal::Removed);
        }
        assert_eq!(own_branches(&dir).unwrap(), [branch]);
    }

    #[test]
    fn the_snapshots_of_one_run_go_and_those_of_others_stay() {
        let dir = repository();
        let scratch = tempfile::tempdir().unwrap();
        for name in ["a/run/start", "a/loop/1", "ab/run/start"] {
            run(dir.path(), &["update-ref", &format!("refs/windlass/{name}"), "HEAD"]);
        }
        for _ in 0..2 {
            remove_snapshots(dir.path(), "refs/windlass/a/", scratch.path()).unwrap();
        }
        assert_eq!(snapshot_refs(dir.path()).unwrap(), ["refs/windlass/ab/run/start"]);
    }

    #[test]
    fn a_process_in_a_folder_is_found() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(process_in(&dir.path().canonicalize().unwrap()), None);
    }
}
