//! Making worktrees, and refusing to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use windlass_peers::git::{WorktreeError, ahead, create, is_clean, list, refresh};

use crate::ground::{Ground, at, commit, head, read, run, script, write};

#[test]
fn a_worktree_has_its_own_branch_at_the_base_and_is_clean() {
    let ground = Ground::new();
    let first = head(&ground.repo);
    commit(&ground.repo, "a.txt", "two\n");
    let worktree = create(&ground.repo, &ground.path("w"), "work/a", "HEAD~1").unwrap();
    assert_eq!((worktree.base.as_str(), worktree.branch.as_str()), (first.as_str(), "work/a"));
    assert_eq!(read(&worktree.path, "a.txt"), "one\n");
    assert_eq!(run(&worktree.path, &["symbolic-ref", "HEAD"]), "refs/heads/work/a");
    assert!(is_clean(&worktree).unwrap());
    assert_eq!(ahead(&worktree, "main").unwrap(), 0);
    commit(&worktree.path, "b.txt", "b");
    assert_eq!(ahead(&worktree, &worktree.base).unwrap(), 1);
    write(&worktree.path, "untracked", "x");
    assert!(!is_clean(&worktree).unwrap());
    assert_eq!(list(&ground.repo).unwrap(), [worktree]);
}

#[test]
fn asked_again_it_is_the_same_worktree_with_the_work_in_it() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let done = commit(&worktree.path, "b.txt", "b");
    write(&worktree.path, "a.txt", "changed\n");
    commit(&ground.repo, "c.txt", "main moves on");
    assert_eq!(ground.worktree("w"), worktree);
    assert_eq!((head(&worktree.path), read(&worktree.path, "a.txt")), (done, "changed\n".into()));
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_busy_and_says_where() {
    let ground = Ground::new();
    let first = ground.worktree("w");
    for (branch, at) in [("w", &first.path), ("main", &ground.repo)] {
        match create(&ground.repo, &ground.path("other"), branch, "main").unwrap_err() {
            WorktreeError::BranchBusy { branch: said, path } => {
                assert_eq!((said.as_str(), &path), (branch, at))
            }
            other => panic!("{other}"),
        }
    }
    assert!(!ground.path("other").exists());
}

#[test]
fn a_branch_with_other_commits_is_never_moved() {
    let ground = Ground::new();
    run(&ground.repo, &["branch", "kept"]);
    let old = at(&ground.repo, "kept");
    let new = commit(&ground.repo, "b.txt", "b");
    let error = create(&ground.repo, &ground.path("w"), "kept", "main").unwrap_err();
    assert!(
        matches!(&error, WorktreeError::BranchExists { at, base, .. } if *at == old && *base == new),
        "{error}"
    );
    assert_eq!(at(&ground.repo, "kept"), old);
    assert!(!ground.path("w").exists());
    let worktree = create(&ground.repo, &ground.path("w"), "kept", &old).unwrap();
    assert_eq!(head(&worktree.path), old);
}

#[test]
fn what_is_at_the_path_and_not_ours_is_left_alone() {
    let ground = Ground::new();
    let path = ground.path("w");
    let refused = |branch: &str| {
        let error = create(&ground.repo, &path, branch, "main").unwrap_err();
        assert!(matches!(error, WorktreeError::PathTaken { .. }), "{error}");
    };
    fs::create_dir(&path).unwrap();
    refused("empty");
    write(&path, "mine", "x");
    refused("filled");
    assert_eq!(read(&path, "mine"), "x");
    fs::remove_dir_all(&path).unwrap();
    symlink("/nowhere", &path).unwrap();
    refused("link");
    fs::remove_file(&path).unwrap();
    run(&ground.repo, &["worktree", "add", "--quiet", path.to_str().unwrap(), "-b", "theirs"]);
    refused("theirs");
    assert_eq!(list(&ground.repo).unwrap(), []);
    assert_eq!(run(&ground.repo, &["branch", "--list", "empty", "filled", "link"]), "");
}

#[test]
fn a_worktree_of_ours_for_another_branch_is_taken() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let error = create(&ground.repo, &worktree.path, "other", "main").unwrap_err();
    assert!(matches!(error, WorktreeError::PathTaken { .. }), "{error}");
}

#[test]
fn names_paths_and_bases_are_checked_before_anything_is_made() {
    let ground = Ground::new();
    let make = |path: &Path, branch: &str, base: &str| create(&ground.repo, path, branch, base).unwrap_err();
    for branch in ["", "-b", "a..b", "../x", "a b", "a.lock", "HEAD", "/a", "a\n", "@{-1}", "a\0b"] {
        let error = make(&ground.path("w"), branch, "main");
        assert!(matches!(error, WorktreeError::BadBranch { .. }), "{branch:?}: {error}");
    }
    let inside = ground.repo.join(".git/w");
    let up = ground.path("x/../../w");
    for path in [Path::new("w"), Path::new("/"), &inside, &up, &ground.path("a\nb")] {
        let error = make(path, "b", "main");
        assert!(matches!(error, WorktreeError::BadPath { .. }), "{path:?}: {error}");
    }
    for base in ["nothing", "--all", "main..main", "^main", "", "main:a.txt", "HEAD~9"] {
        let error = make(&ground.path("w"), "b", base);
        assert!(matches!(error, WorktreeError::NoSuchBase { .. }), "{base:?}: {error}");
    }
    let error = create(ground.temp.path(), &ground.path("w"), "b", "main").unwrap_err();
    assert!(matches!(error, WorktreeError::NotARepository { .. }), "{error}");
    assert!(!ground.path("w").exists());
    assert_eq!(run(&ground.repo, &["branch", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn a_worktree_whose_folder_was_deleted_is_made_again_with_its_commits() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let done = commit(&worktree.path, "b.txt", "b");
    fs::remove_dir_all(&worktree.path).unwrap();
    let again = ground.worktree("w");
    assert_eq!((head(&again.path), read(&again.path, "b.txt")), (done, "b".into()));
    assert!(is_clean(&again).unwrap());
}

#[test]
fn a_hook_that_fails_does_not_keep_the_worktree_from_being_made() {
    let ground = Ground::new();
    let hooks = ground.path("hooks");
    let seen = ground.path("seen");
    script(&hooks.join("post-checkout"), &format!("#!/bin/sh\npwd >{}\nexit 1\n", seen.display()));
    run(&ground.repo, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
    let worktree = ground.worktree("w");
    assert!(is_clean(&worktree).unwrap());
    assert_eq!(fs::read_to_string(seen).unwrap().trim(), worktree.path.to_str().unwrap());
}

#[test]
fn the_index_is_refreshed_once_its_second_is_over() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !refresh(&worktree).unwrap() {
        assert!(std::time::Instant::now() < until);
        std::thread::yield_now();
    }
    assert!(is_clean(&worktree).unwrap());
}
