//! Finds the commit from which a worktree starts that needs the work of several branches.
//!
//! It writes merge commits, but moves no branch and touches no working tree. The same branches give the same
//! commit, so that a repeated call after a crash changes nothing.

use std::path::Path;
use std::time::Duration;

use super::command::{GitCall, GitError, line};
use super::renew::merge_tree;
use super::repository::{branch_commit, is_ancestor};

/// The time limit for git to merge two branches.
const LIMIT: Duration = Duration::from_secs(600);

/// The result of merging branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedBranches {
    /// None of the branches exists, or the target contains them all.
    None,
    /// This commit contains all of them.
    At { commit: String },
    /// This branch conflicts with those before it.
    Conflict { branch: String, files: Vec<String> },
}

/// Merges branches, as far as they exist and neither the target nor another branch contains them.
pub fn merged(repo: &Path, branches: &[String], target: &str) -> Result<MergedBranches, GitError> {
    let mut tips: Vec<(&str, String)> = Vec::new();
    let target = branch_commit(repo, target)?;
    for branch in branches {
        let Some(commit) = branch_commit(repo, branch)? else { continue };
        let around = target.iter().chain(tips.iter().map(|(_, tip)| tip));
        if is_in_one(repo, &commit, around)? {
            continue;
        }
        let mut others = Vec::new();
        for (name, tip) in tips {
            if !is_ancestor(repo, &tip, &commit)? {
                others.push((name, tip));
            }
        }
        tips = others;
        tips.push((branch, commit));
    }
    let mut tips = tips.into_iter();
    let Some((_, mut commit)) = tips.next() else { return Ok(MergedBranches::None) };
    for (branch, tip) in tips {
        commit = match merge_two(repo, &commit, &tip, branch)? {
            Ok(merge) => merge,
            Err(files) => return Ok(MergedBranches::Conflict { branch: branch.to_owned(), files }),
        };
    }
    Ok(MergedBranches::At { commit })
}

fn is_in_one<'a>(
    repo: &Path,
    commit: &str,
    tips: impl Iterator<Item = &'a String>,
) -> Result<bool, GitError> {
    for tip in tips {
        if is_ancestor(repo, commit, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Merges a branch into a commit. Returns the new commit, or the files in conflict.
fn merge_two(
    repo: &Path,
    commit: &str,
    tip: &str,
    branch: &str,
) -> Result<Result<String, Vec<String>>, GitError> {
    let call = GitCall::at(repo).without_hooks();
    let (tree, files) = merge_tree(call.within(LIMIT), commit, tip)?;
    if !files.is_empty() {
        return Ok(Err(files));
    }
    // With the time of the call, each call would make another commit.
    let date = line(&call.run(&["log", "-1", "--format=%cI", tip])?);
    let env = [("GIT_AUTHOR_DATE", date.as_str()), ("GIT_COMMITTER_DATE", date.as_str())];
    let message = format!("Merge {branch}");
    let call = GitCall::at(repo).with(&env).without_hooks();
    Ok(Ok(line(&call.run(&["commit-tree", &tree, "-p", commit, "-p", tip, "-m", &message])?)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::command::git;
    use super::super::tests::repository;
    use super::*;

    /// Makes a branch at another one, with one more file.
    fn branch(repo: &Path, name: &str, from: &str, file: &str, text: &str) {
        git(repo, &["checkout", "--quiet", "-b", name, from]).unwrap();
        fs::write(repo.join(file), text).unwrap();
        git(repo, &["add", file]).unwrap();
        git(repo, &["commit", "--quiet", "-m", name]).unwrap();
        git(repo, &["checkout", "--quiet", "home"]).unwrap();
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn one_commit_has_the_work_of_all_branches_and_is_the_same_again() {
        let dir = repository();
        let repo = dir.path();
        git(repo, &["checkout", "--quiet", "-b", "home"]).unwrap();
        branch(repo, "one", "home", "f1", "1");
        branch(repo, "two", "one", "f2", "2");
        branch(repo, "three", "home", "f3", "3");
        let tip = |name: &str| branch_commit(repo, name).unwrap().unwrap();
        let at = |all: &[&str]| merged(repo, &names(all), "home").unwrap();
        assert_eq!(at(&[]), MergedBranches::None);
        assert_eq!(at(&["gone", "home"]), MergedBranches::None);
        assert_eq!(at(&["one", "gone"]), MergedBranches::At { commit: tip("one") });
        assert_eq!(at(&["one", "two"]), MergedBranches::At { commit: tip("two") }, "it contains the other");
        let all = at(&["one", "two", "three"]);
        let MergedBranches::At { commit } = &all else { panic!("{all:?}") };
        let files = git(repo, &["ls-tree", "--name-only", commit]).unwrap();
        assert_eq!(String::from_utf8(files).unwrap(), "a\nf1\nf2\nf3\n");
        assert_eq!(at(&["one", "two", "three"]), all);
    }

    #[test]
    fn branches_that_conflict_are_named_with_their_files() {
        let dir = repository();
        let repo = dir.path();
        git(repo, &["checkout", "--quiet", "-b", "home"]).unwrap();
        branch(repo, "one", "home", "f", "1");
        branch(repo, "two", "home", "f", "2");
        let conflict = MergedBranches::Conflict { branch: "two".into(), files: names(&["f"]) };
        assert_eq!(merged(repo, &names(&["one", "two"]), "home").unwrap(), conflict);
    }
}
