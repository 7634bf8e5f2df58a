//! Queries a repository: its shared git folder, its branches, and where they are checked out.
//!
//! git fails to list the worktrees while one is added or removed, so callers hold the metadata lock.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{GitError, git, line, yes_or_no};
use super::worktree::WorktreeError;
use crate::files::read_bounded;

const MAX_NAME: u64 = 16 * 1024;
const A_MOMENT: Duration = Duration::from_millis(50);

/// Returns the git folder that all worktrees of a repository share.
pub(super) fn common_dir(dir: &Path) -> Result<PathBuf, WorktreeError> {
    match git(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"]) {
        Ok(said) => real_common(&line(&said)),
        Err(GitError::Failed { code: Some(128), .. }) => {
            Err(WorktreeError::NotARepository { dir: dir.to_owned() })
        }
        Err(e) => Err(e.into()),
    }
}

/// Returns the shared git folder and the commit that a base names, in one call.
pub(super) fn common_dir_and_base(dir: &Path, base: &str) -> Result<(PathBuf, String), WorktreeError> {
    let none = || WorktreeError::NoSuchBase { base: base.to_owned() };
    let wanted = format!("{base}^{{commit}}");
    let said = match git(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir", &wanted]) {
        Ok(said) => line(&said),
        Err(GitError::Failed { .. }) => {
            // One of the two is missing, and the error must say which.
            common_dir(dir)?;
            return Err(none());
        }
        Err(e) => return Err(e.into()),
    };
    let (common, commit) = said.rsplit_once('\n').ok_or_else(none)?;
    if base.starts_with('-') || !is_commit(commit) {
        return Err(none());
    }
    Ok((real_common(common)?, commit.to_owned()))
}

fn real_common(said: &str) -> Result<PathBuf, WorktreeError> {
    let path = PathBuf::from(said);
    // A path that does not resolve was not UTF-8. Paths are stored and passed to git as text.
    path.canonicalize()
        .ok()
        .filter(|path| path.to_str().is_some())
        .ok_or(WorktreeError::BadPath { path, why: "it is not UTF-8" })
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Decides whether git accepts a branch name.
pub fn is_branch_name(dir: &Path, name: &str) -> Result<bool, GitError> {
    if name.starts_with('-') || name == "HEAD" || name.contains('\0') {
        return Ok(false);
    }
    yes_or_no(git(dir, &["check-ref-format", &format!("refs/heads/{name}")]))
}

/// Returns the commit of a branch, if it exists.
pub fn branch_commit(dir: &Path, branch: &str) -> Result<Option<String>, GitError> {
    match git(dir, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}^{{commit}}")]) {
        Ok(said) => Ok(Some(line(&said))),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Returns the working tree in which a branch is checked out or being rebased, if any.
pub fn checked_out_at(dir: &Path, branch: &str) -> Result<Option<PathBuf>, WorktreeError> {
    let common = common_dir(dir)?;
    let _lock = super::lock::metadata(&common)?;
    let found = entries(&common)?.into_iter().find(|entry| entry.branch.as_deref() == Some(branch));
    let rebased =
        || linked(&common).into_iter().find(|(git_dir, _)| rebasing(git_dir).as_deref() == Some(branch));
    Ok(found.map(|entry| entry.path).or_else(|| rebased().map(|(_, path)| path)))
}

/// Decides whether `newer` contains every commit of `older`.
pub(super) fn is_ancestor(dir: &Path, older: &str, newer: &str) -> Result<bool, GitError> {
    yes_or_no(git(dir, &["merge-base", "--is-ancestor", older, newer]))
}

/// A working tree of a repository, made by Windlass or by anybody else.
#[derive(Debug, Default)]
pub(super) struct WorktreeEntry {
    pub(super) path: PathBuf,
    pub(super) branch: Option<String>,
    pub(super) is_locked: bool,
    /// Set if its folder is gone.
    pub(super) is_missing: bool,
}

/// Returns all working trees. The caller holds the metadata lock, but a person may be adding one by
/// hand, and git cannot read the list at that moment.
pub(super) fn entries(common: &Path) -> Result<Vec<WorktreeEntry>, GitError> {
    let list = || git(common, &["worktree", "list", "--porcelain", "-z"]);
    let said = list().or_else(|_| {
        std::thread::sleep(A_MOMENT);
        list()
    })?;
    Ok(parse_entries(&said))
}

fn parse_entries(said: &[u8]) -> Vec<WorktreeEntry> {
    let mut entries: Vec<WorktreeEntry> = Vec::new();
    for attribute in said.split(|byte| *byte == 0) {
        let attribute = String::from_utf8_lossy(attribute);
        let (name, value) = attribute.split_once(' ').unwrap_or((&attribute, ""));
        if name == "worktree" {
            entries.push(WorktreeEntry { path: PathBuf::from(value), ..WorktreeEntry::default() });
        }
        let Some(entry) = entries.last_mut() else { continue };
        match name {
            "branch" => entry.branch = value.strip_prefix("refs/heads/").map(str::to_owned),
            "locked" => entry.is_locked = true,
            "prunable" => entry.is_missing = true,
            _ => {}
        }
    }
    entries
}

/// Returns the git folder and the working folder of each linked worktree.
pub(super) fn linked(common: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let with_path = |git_dir: PathBuf| {
        let text = String::from_utf8(read_bounded(&git_dir.join("gitdir"), MAX_NAME).ok()?).ok()?;
        let text = Path::new(text.trim_end_matches('\n'));
        let path = git_dir.join(text).parent()?.to_owned();
        // git can be configured to write relative paths.
        let path = if text.is_absolute() { path } else { path.canonicalize().ok()? };
        Some((git_dir, path))
    };
    entries.filter_map(|entry| with_path(entry.path())).collect()
}

/// Returns the git folder of the linked worktree at a path.
pub(super) fn git_dir_at(common: &Path, path: &Path) -> Option<PathBuf> {
    linked(common).into_iter().find(|(_, at)| at == path).map(|(git_dir, _)| git_dir)
}

/// Returns the branch that is being rebased in the working tree with this git folder. git reports such a
/// working tree as detached, but the branch is in use.
pub(super) fn rebasing(git_dir: &Path) -> Option<String> {
    let name = |folder: &str| read_bounded(&git_dir.join(folder).join("head-name"), MAX_NAME).ok();
    let name = String::from_utf8(name("rebase-merge").or_else(|| name("rebase-apply"))?).ok()?;
    name.trim_end().strip_prefix("refs/heads/").map(str::to_owned)
}

/// Returns the unfinished git operation, detected by its file.
pub(super) fn in_the_middle(git_dir: &Path) -> Option<&'static str> {
    const SIGNS: [(&str, &str); 6] = [
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("BISECT_START", "a bisection"),
    ];
    SIGNS.into_iter().find(|(file, _)| git_dir.join(file).exists()).map(|(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_git_is_read_to_its_last_attribute() {
        let said = b"worktree /a b\0HEAD 12\0branch refs/heads/main\0\0worktree /w\0HEAD 12\0detached\0locked why not\0\0worktree /x\0bare\0prunable gone\0\0";
        let entries = parse_entries(said);
        let seen: Vec<_> = entries
            .iter()
            .map(|e| (e.path.to_str().unwrap(), e.branch.as_deref(), e.is_locked, e.is_missing))
            .collect();
        assert_eq!(
            seen,
            [("/a b", Some("main"), false, false), ("/w", None, true, false), ("/x", None, false, true)]
        );
    }
}
