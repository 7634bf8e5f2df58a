//! Locks that a dead git left: cleared where that is certain, and left alone where it is not.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use windlass_peers::git::{LandError, Removal, WorktreeError, clear_dead_locks, land, locks, remove};

use crate::ground::{Ground, commit, green, head, landed, run, script, write};

const LONG_AGO: Duration = Duration::from_secs(3600);

/// Every lock by which git can be stopped, of a checkout and of what its worktrees share.
const NAMES: [&str; 6] = [
    "index.lock",
    "HEAD.lock",
    "packed-refs.lock",
    "config.lock",
    "refs/heads/main.lock",
    "refs/heads/a/b.lock",
];

fn plant(git_dir: &Path, names: &[&str]) {
    names.iter().for_each(|name| write(git_dir, name, ""));
}

fn since(ago: Duration) -> SystemTime {
    SystemTime::now() - ago
}

#[test]
fn locks_made_since_a_moment_that_nobody_holds_are_cleared() {
    let ground = Ground::new();
    plant(&ground.repo.join(".git"), &NAMES);
    write(&ground.repo.join(".git"), "other-tool.lock", "");
    assert_eq!(locks(&ground.repo).unwrap().len(), NAMES.len());
    assert!(clear_dead_locks(&ground.repo, since(LONG_AGO)).unwrap().is_empty());
    assert!(locks(&ground.repo).unwrap().is_empty());
    assert!(ground.repo.join(".git/other-tool.lock").exists(), "it is not git's");
    commit(&ground.repo, "more", "x");
}

#[test]
fn a_lock_from_before_is_somebodys_and_stays() {
    let ground = Ground::new();
    plant(&ground.repo.join(".git"), &NAMES);
    let left = clear_dead_locks(&ground.repo, SystemTime::now() + Duration::from_secs(1)).unwrap();
    assert_eq!(left.len(), NAMES.len());
    assert_eq!(locks(&ground.repo).unwrap().len(), NAMES.len());
}

#[test]
fn a_worktree_has_its_own_locks_and_those_of_the_main_checkout_are_not_its_business() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let own = ground.repo.join(".git/worktrees/w");
    plant(&own, &["index.lock", "HEAD.lock"]);
    plant(&ground.repo.join(".git"), &["index.lock", "packed-refs.lock"]);
    assert!(clear_dead_locks(&worktree.path, since(LONG_AGO)).unwrap().is_empty());
    assert_eq!(locks(&ground.repo).unwrap(), [ground.repo.join(".git/index.lock")]);
    assert!(!own.join("index.lock").exists() && !own.join("HEAD.lock").exists());
}

/// A `git commit` in which a hook waits, with its locks in place; it goes on when its file is there.
struct Committing {
    git: Child,
    go: std::path::PathBuf,
}

impl Committing {
    fn begin(ground: &Ground, dir: &Path) -> Committing {
        let (ready, go) = (ground.path("ready"), ground.path("go"));
        let wait = format!(
            "#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\ntouch {}\nuntil [ -e {} ]; do sleep 0.01; done\n",
            ready.display(),
            go.display()
        );
        script(&ground.path("hooks/reference-transaction"), &wait);
        let hooks = format!("core.hooksPath={}", ground.path("hooks").display());
        let mut command = Command::new("git");
        command.current_dir(dir).args(["-c", &hooks, "commit", "--quiet", "--allow-empty", "-m", "mine"]);
        let git = command.spawn().unwrap();
        windlass_testkit::wait::until(Duration::from_secs(20), || ready.exists());
        Committing { git, go }
    }
}

impl Drop for Committing {
    fn drop(&mut self) {
        fs::write(&self.go, "").unwrap();
        let _ = self.git.wait();
    }
}

#[test]
fn what_a_living_git_has_locked_is_left_to_it() {
    let ground = Ground::new();
    let before = head(&ground.repo);
    let committing = Committing::begin(&ground, &ground.repo);
    assert!(!locks(&ground.repo).unwrap().is_empty());
    assert!(!clear_dead_locks(&ground.repo, since(LONG_AGO)).unwrap().is_empty());
    drop(committing);
    assert_ne!(head(&ground.repo), before, "its commit is there");
    assert!(locks(&ground.repo).unwrap().is_empty());
}

#[test]
fn a_lock_that_some_process_has_open_is_left_to_it() {
    let ground = Ground::new();
    let path = ground.repo.join(".git/index.lock");
    let open = fs::File::create(&path).unwrap();
    assert_eq!(clear_dead_locks(&ground.repo, since(LONG_AGO)).unwrap(), [path]);
    drop(open);
    assert!(clear_dead_locks(&ground.repo, since(LONG_AGO)).unwrap().is_empty());
}

#[test]
fn a_lock_on_packed_refs_that_a_dead_git_left_is_cleared_before_a_landing() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "w1", "w");
    commit(&ground.repo, "m", "m");
    plant(&ground.repo.join(".git"), &["packed-refs.lock"]);
    landed(&land(&worktree, "main", green).unwrap());
    assert!(locks(&ground.repo).unwrap().is_empty());
}

#[test]
fn a_lock_on_packed_refs_from_before_the_worktree_stops_a_landing_and_leaves_all_as_it_was() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "w1", "w");
    commit(&ground.repo, "m", "m");
    let path = ground.repo.join(".git/packed-refs.lock");
    fs::File::create(&path).unwrap().set_modified(since(LONG_AGO)).unwrap();
    let before = (head(&worktree.path), head(&ground.repo));
    match land(&worktree, "main", green).unwrap_err() {
        LandError::Worktree(WorktreeError::Locked { path: found }) => assert_eq!(found, path),
        other => panic!("{other:?}"),
    }
    assert_eq!((head(&worktree.path), head(&ground.repo)), before);
    assert_eq!(run(&worktree.path, &["status", "--porcelain"]), "");
    fs::remove_file(path).unwrap();
    landed(&land(&worktree, "main", green).unwrap());
}

#[test]
fn a_lock_on_packed_refs_that_a_dead_git_left_does_not_keep_a_branch_that_has_landed() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "w1", "w");
    landed(&land(&worktree, "main", green).unwrap());
    plant(&ground.repo.join(".git"), &["packed-refs.lock"]);
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
    assert_eq!(run(&ground.repo, &["branch", "--format=%(refname:short)"]), "main");
}
