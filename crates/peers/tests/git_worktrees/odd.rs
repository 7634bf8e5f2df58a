//! Repositories that are not as most are.

use std::fs;

use windlass_peers::git::{KeepReason, Removal, WorktreeError, create, is_clean, land, list, remove};

use crate::ground::{Ground, at, commit, green, head, landed, read, run};

#[test]
fn a_detached_checkout_is_a_base_as_good_as_any() {
    let ground = Ground::new();
    run(&ground.repo, &["checkout", "--quiet", "--detach"]);
    let loose = commit(&ground.repo, "b.txt", "b");
    let worktree = create(&ground.repo, &ground.path("w"), "w", "HEAD").unwrap();
    assert_eq!(head(&worktree.path), loose);
    commit(&worktree.path, "c.txt", "c");
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(head(&ground.repo), loose);
}

#[test]
fn a_repository_without_commits_has_no_base() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path(), &["init", "--quiet"]);
    let error = create(temp.path(), &temp.path().join("w"), "w", "HEAD").unwrap_err();
    assert!(matches!(error, WorktreeError::NoSuchBase { .. }), "{error}");
    assert_eq!(list(temp.path()).unwrap(), []);
}

#[test]
fn a_bare_repository_has_worktrees_and_landings_too() {
    let ground = Ground::new();
    let bare = ground.path("bare.git");
    run(&ground.repo, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    run(&bare, &["config", "user.name", "c"]);
    run(&bare, &["config", "user.email", "c@example.invalid"]);
    let (first, second) = (ground.path("w1"), ground.path("w2"));
    let first = create(&bare, &first, "w1", "main").unwrap();
    let second = create(&bare, &second, "w2", "main").unwrap();
    commit(&first.path, "b.txt", "b");
    commit(&second.path, "c.txt", "c");
    landed(&land(&first, "main", green).unwrap());
    let commit = land(&second, "main", green).unwrap();
    assert_eq!(at(&bare, "main"), landed(&commit));
    assert_eq!(remove(&first, "main").unwrap(), Removal::Removed);
    assert_eq!(list(&bare).unwrap(), [second]);
}

#[test]
fn a_submodule_stays_empty_and_one_that_was_filled_keeps_the_worktree() {
    let ground = Ground::new();
    let library = Ground::new();
    let url = library.repo.to_str().unwrap();
    let allow = ["-c", "protocol.file.allow=always"];
    run(&ground.repo, &[&allow[..], &["submodule", "--quiet", "add", url, "lib"]].concat());
    run(&ground.repo, &["commit", "--quiet", "-m", "library"]);
    let (empty, filled) = (ground.worktree("empty"), ground.worktree("filled"));
    assert!(is_clean(&empty).unwrap());
    commit(&empty.path, "b.txt", "b");
    commit(&ground.repo, "c.txt", "c");
    landed(&land(&empty, "main", green).unwrap());
    assert_eq!(remove(&empty, "main").unwrap(), Removal::Removed);
    run(&filled.path, &[&allow[..], &["submodule", "--quiet", "update", "--init"]].concat());
    assert_eq!(remove(&filled, "main").unwrap(), Removal::Kept(KeepReason::Submodules));
    assert!(filled.path.join("lib/a.txt").exists());
}

#[test]
fn blanks_and_letters_of_any_language_are_names_as_good_as_any() {
    let ground = Ground::within(&std::env::temp_dir(), "répo mit 'Leer\"zeichen");
    let worktree = create(&ground.repo, &ground.path("bäume/ein baum $x"), "arbeit/größe", "main").unwrap();
    commit(&worktree.path, "datei é.txt", "b");
    commit(&ground.repo, "andere.txt", "c");
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(read(&ground.repo, "datei é.txt"), "b");
    assert_eq!(list(&ground.repo).unwrap(), std::slice::from_ref(&worktree));
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
}

#[test]
fn a_worktree_is_made_and_lands_from_within_another() {
    let ground = Ground::new();
    let outer = ground.worktree("outer");
    commit(&outer.path, "o.txt", "o");
    let sub = outer.path.join("sub");
    fs::create_dir(&sub).unwrap();
    let inner = create(&sub, &ground.path("inner"), "inner", "HEAD").unwrap();
    assert_eq!(inner.base, head(&outer.path));
    commit(&inner.path, "i.txt", "i");
    let commit = land(&inner, "outer", green).unwrap();
    assert_eq!(head(&outer.path), landed(&commit));
    assert_eq!(read(&outer.path, "i.txt"), "i");
    assert_eq!(list(&inner.path).unwrap().len(), 2);
    assert_eq!(remove(&inner, "outer").unwrap(), Removal::Removed);
}

#[test]
fn a_link_on_the_way_to_the_path_is_resolved_once() {
    let ground = Ground::new();
    fs::create_dir(ground.path("real")).unwrap();
    std::os::unix::fs::symlink(ground.path("real"), ground.path("link")).unwrap();
    let worktree = create(&ground.repo, &ground.path("link/w"), "w", "main").unwrap();
    assert_eq!(worktree.path, ground.path("real/w"));
    assert_eq!(create(&ground.repo, &ground.path("link/w"), "w", "main").unwrap(), worktree);
}
