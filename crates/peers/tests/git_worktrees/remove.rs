//! Taking worktrees away, and keeping them.

use std::fs;

use windlass_peers::git::{KeepReason, Removal, Worktree, land, list, remove};

use crate::ground::{Ground, commit, green, read, run, write};

fn kept(worktree: &Worktree) -> KeepReason {
    match remove(worktree, "main").unwrap() {
        Removal::Kept(why) => why,
        Removal::Removed => panic!("removed"),
    }
}

fn branches(ground: &Ground) -> String {
    run(&ground.repo, &["branch", "--format=%(refname:short)"])
}

#[test]
fn a_landed_worktree_goes_with_its_branch_and_its_ignored_files() {
    let ground = Ground::new();
    commit(&ground.repo, ".gitignore", "out/\n");
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    write(&worktree.path, "out/x", "x");
    land(&worktree, "main", green).unwrap();
    for _ in 0..2 {
        assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
        assert!(!worktree.path.exists());
    }
    assert_eq!(branches(&ground), "main");
    assert_eq!(list(&ground.repo).unwrap(), []);
    assert_eq!(fs::read_dir(ground.path("trees")).unwrap().count(), 0);
    assert_eq!(read(&ground.repo, "b.txt"), "b");
}

#[test]
fn work_of_any_kind_keeps_it() {
    let ground = Ground::new();
    // What a person's settings hide from a status is work all the same.
    run(&ground.repo, &["config", "status.showUntrackedFiles", "no"]);
    let worktree = ground.worktree("w");
    write(&worktree.path, "new file", "x");
    assert_eq!(kept(&worktree), KeepReason::Uncommitted { files: vec!["new file".into()] });
    fs::remove_file(worktree.path.join("new file")).unwrap();
    write(&worktree.path, "a.txt", "changed");
    assert_eq!(kept(&worktree), KeepReason::Uncommitted { files: vec!["a.txt".into()] });
    run(&worktree.path, &["add", "a.txt"]);
    assert_eq!(kept(&worktree), KeepReason::Uncommitted { files: vec!["a.txt".into()] });
    run(&worktree.path, &["commit", "--quiet", "-m", "mine"]);
    let commit = crate::ground::head(&worktree.path);
    assert_eq!(kept(&worktree), KeepReason::Unmerged { commit: commit.clone() });
    run(&worktree.path, &["checkout", "--quiet", "--detach", "main"]);
    assert_eq!(kept(&worktree), KeepReason::Unmerged { commit });
    assert_eq!(branches(&ground), "main\nw");
}

#[test]
fn commits_beside_the_branch_keep_it() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    run(&worktree.path, &["checkout", "--quiet", "--detach"]);
    let loose = commit(&worktree.path, "b.txt", "b");
    assert_eq!(kept(&worktree), KeepReason::Unmerged { commit: loose });
}

#[test]
fn a_merge_in_the_middle_a_lock_and_a_missing_target_keep_it() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    run(&ground.repo, &["worktree", "lock", worktree.path.to_str().unwrap()]);
    assert_eq!(kept(&worktree), KeepReason::Locked);
    run(&ground.repo, &["worktree", "unlock", worktree.path.to_str().unwrap()]);
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    assert!(windlass_peers::git::git(&worktree.path, &["merge", "main"]).is_err());
    assert_eq!(kept(&worktree), KeepReason::InTheMiddle { of: "a merge" });
    run(&worktree.path, &["merge", "--abort"]);
    assert!(matches!(remove(&worktree, "no-such").unwrap(), Removal::Kept(KeepReason::Unmerged { .. })));
}

#[test]
fn what_windlass_did_not_make_is_not_touched() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    run(&ground.repo, &["worktree", "remove", worktree.path.to_str().unwrap()]);
    run(&ground.repo, &["worktree", "add", "--quiet", worktree.path.to_str().unwrap(), "w"]);
    assert_eq!(kept(&worktree), KeepReason::NotOurs);
    assert!(worktree.path.join("a.txt").exists());
}

#[test]
fn a_branch_that_was_there_before_outlives_the_worktree() {
    let ground = Ground::new();
    run(&ground.repo, &["branch", "theirs"]);
    let worktree = ground.worktree("theirs");
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
    assert_eq!(branches(&ground), "main\ntheirs");
}

#[test]
fn a_worktree_without_work_goes_and_a_branch_the_target_has_not_stays() {
    let ground = Ground::new();
    run(&ground.repo, &["checkout", "--quiet", "-b", "side"]);
    commit(&ground.repo, "s.txt", "s");
    let worktree = windlass_peers::git::create(&ground.repo, &ground.path("w"), "w", "side").unwrap();
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
    assert_eq!(branches(&ground), "main\nside\nw");
}

#[test]
fn a_worktree_whose_folder_was_deleted_is_forgotten_but_not_its_commits() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let done = commit(&worktree.path, "b.txt", "b");
    fs::remove_dir_all(&worktree.path).unwrap();
    assert_eq!(kept(&worktree), KeepReason::Unmerged { commit: done });
    run(&ground.repo, &["merge", "--quiet", "w"]);
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
    assert_eq!(branches(&ground), "main");
}

#[test]
fn a_link_where_the_files_are_put_aside_leads_nowhere() {
    let ground = Ground::new();
    let (worktree, other) = (ground.worktree("w"), ground.worktree("other"));
    std::os::unix::fs::symlink(&other.path, ground.path("trees/.w.windlass-removed")).unwrap();
    assert!(remove(&worktree, "main").is_err());
    assert!(other.path.join("a.txt").exists());
}
