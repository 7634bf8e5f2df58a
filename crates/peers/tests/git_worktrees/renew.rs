//! Bringing a branch up to date with its target after a conflict.

use std::fs;

use windlass_peers::git::{Landing, Renewal, is_clean, land, renew};

use crate::ground::{Ground, at, commit, files, green, head, landed, read, run, script, write};

fn renewed(renewal: Renewal) -> (String, Vec<String>) {
    match renewal {
        Renewal::Renewed { commit, files } => (commit, files),
        Renewal::InTheWay { files } => panic!("{files:?}"),
    }
}

#[test]
fn files_in_conflict_are_as_on_the_target_and_all_other_work_stays() {
    let ground = Ground::new();
    commit(&ground.repo, "gone here.txt", "1\n2\n3\n");
    commit(&ground.repo, "gone there.txt", "4\n5\n6\n");
    let worktree = ground.worktree("w");
    commit(&worktree.path, "mine.txt", "mine\n");
    commit(&worktree.path, "a.txt", "one\nours\n");
    commit(&worktree.path, "gone there.txt", "4\n5\nours\n");
    run(&worktree.path, &["rm", "--quiet", "gone here.txt"]);
    let own = commit(&worktree.path, "-odd ~é.txt", "ours\n");
    commit(&ground.repo, "a.txt", "one\ntheirs\n");
    commit(&ground.repo, "gone here.txt", "1\n2\ntheirs\n");
    run(&ground.repo, &["rm", "--quiet", "gone there.txt"]);
    let tip = commit(&ground.repo, "-odd ~é.txt", "theirs\n");
    assert!(matches!(land(&worktree, "main", green).unwrap(), Landing::Conflict { .. }));
    let (renewal, files) = renewed(renew(&worktree, "main", "r1").unwrap());
    assert_eq!(files, ["-odd ~é.txt", "a.txt", "gone here.txt", "gone there.txt"]);
    assert_eq!(head(&worktree.path), renewal);
    assert_eq!(run(&worktree.path, &["rev-parse", "HEAD^1", "HEAD^2"]), format!("{own}\n{tip}"));
    assert!(is_clean(&worktree).unwrap());
    let texts = ["a.txt", "gone here.txt", "-odd ~é.txt", "mine.txt"].map(|name| read(&worktree.path, name));
    assert_eq!(texts, ["one\ntheirs\n", "1\n2\ntheirs\n", "theirs\n", "mine\n"]);
    assert!(!worktree.path.join("gone there.txt").exists());
    assert_eq!(at(&ground.repo, "main"), tip, "the target stays where it is");
    assert_eq!(run(&worktree.path, &["show", &format!("{own}:a.txt")]), "one\nours");
    commit(&worktree.path, "a.txt", "one\ntheirs\nours\n");
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(read(&ground.repo, "a.txt"), "one\ntheirs\nours\n");
}

#[test]
fn asked_again_it_says_the_same_and_moves_nothing() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    let first = renew(&worktree, "main", "r1").unwrap();
    commit(&ground.repo, "a.txt", "theirs again\n");
    commit(&worktree.path, "b.txt", "b\n");
    let before = (head(&worktree.path), files(&worktree.path));
    assert_eq!(renew(&worktree, "main", "r1").unwrap(), first);
    assert_eq!((head(&worktree.path), files(&worktree.path)), before);
    // Another renewal meets the target as it is now, and no conflict with it: it took its version before.
    assert_eq!(renewed(renew(&worktree, "main", "r2").unwrap()).1, Vec::<String>::new());
    assert_eq!(read(&worktree.path, "a.txt"), "theirs again\n");
    let up_to_date = Renewal::Renewed { commit: head(&worktree.path), files: Vec::new() };
    assert_eq!(renew(&worktree, "main", "r3").unwrap(), up_to_date);
}

#[test]
fn a_rebase_may_be_in_conflict_where_a_merge_is_not() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&worktree.path, "a.txt", "one\n");
    commit(&worktree.path, "b.txt", "b\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    assert!(matches!(land(&worktree, "main", green).unwrap(), Landing::Conflict { .. }));
    assert_eq!(renewed(renew(&worktree, "main", "r1").unwrap()).1, Vec::<String>::new());
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!((read(&ground.repo, "a.txt"), read(&ground.repo, "b.txt")), ("theirs\n".into(), "b\n".into()));
}

#[test]
fn a_renamed_file_keeps_its_name_and_gets_the_content_of_the_target() {
    let ground = Ground::new();
    let text: String = (1..30).map(|line| format!("{line}\n")).collect();
    commit(&ground.repo, "long.txt", &text);
    let worktree = ground.worktree("w");
    run(&worktree.path, &["mv", "long.txt", "renamed.txt"]);
    commit(&worktree.path, "renamed.txt", &text.replace("15\n", "ours\n"));
    let theirs = text.replace("15\n", "theirs\n");
    commit(&ground.repo, "long.txt", &theirs);
    assert_eq!(renewed(renew(&worktree, "main", "r1").unwrap()).1, ["renamed.txt"]);
    assert_eq!(read(&worktree.path, "renamed.txt"), theirs);
    assert!(!worktree.path.join("long.txt").exists() && is_clean(&worktree).unwrap());
}

#[test]
fn nothing_that_is_not_committed_is_overwritten() {
    let ground = Ground::new();
    commit(&ground.repo, ".gitignore", "new.txt\n");
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    write(&ground.repo, "new.txt", "theirs\n");
    run(&ground.repo, &["add", "--force", "new.txt"]);
    run(&ground.repo, &["commit", "--quiet", "-m", "new"]);
    for (name, text) in [("draft.txt", "draft\n"), ("new.txt", "ignored\n")] {
        write(&worktree.path, name, text);
        let before = (head(&worktree.path), files(&worktree.path));
        assert_eq!(
            renew(&worktree, "main", "r1").unwrap(),
            Renewal::InTheWay { files: vec![name.to_owned()] }
        );
        assert_eq!((head(&worktree.path), files(&worktree.path)), before);
        fs::remove_file(worktree.path.join(name)).unwrap();
    }
    renewed(renew(&worktree, "main", "r1").unwrap());
}

#[test]
fn where_git_would_invent_a_name_nothing_moves() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "x/y.txt", "ours\n");
    commit(&ground.repo, "x", "theirs\n");
    let before = (head(&worktree.path), files(&worktree.path));
    let why = renew(&worktree, "main", "r1").unwrap_err().to_string();
    assert!(why.contains("a file where the other has a folder"), "{why}");
    assert_eq!((head(&worktree.path), files(&worktree.path)), before);
    let why = renew(&worktree, "nowhere", "r1").unwrap_err().to_string();
    assert_eq!(why, "there is no branch `nowhere`");
    run(&worktree.path, &["checkout", "--quiet", "--detach"]);
    let why = renew(&worktree, "main", "r1").unwrap_err().to_string();
    assert!(why.ends_with("is not on branch `w`"), "{why}");
}

#[test]
fn no_hook_of_the_repository_runs() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    for hook in ["post-merge", "post-checkout", "reference-transaction", "post-index-change"] {
        let ran = ground.path("ran").display().to_string();
        script(&ground.repo.join(".git/hooks").join(hook), &format!("#!/bin/sh\ntouch {ran}\nexit 1\n"));
    }
    renewed(renew(&worktree, "main", "r1").unwrap());
    assert!(!ground.path("ran").exists());
}
