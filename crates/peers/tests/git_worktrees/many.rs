//! Many at once.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_peers::git::{create, is_clean, land, list, remove};

use crate::ground::{Ground, commit, green, history, landed, run};

fn create_many(folder: &Path, count: usize) {
    let ground = Ground::within(folder, "repo");
    for name in ["b.txt", "c.txt", "sub/d.txt"] {
        commit(&ground.repo, name, name);
    }
    std::thread::scope(|scope| {
        let one = |n: usize| {
            let ground = &ground;
            move || create(&ground.repo, &ground.path(&format!("w{n}")), &format!("w/{n}"), "main")
        };
        // Each is asked for twice: both get the same.
        let all: Vec<_> = (0..count).chain(0..4).map(|n| scope.spawn(one(n))).collect();
        for made in all {
            assert!(is_clean(&made.join().unwrap().unwrap()).unwrap());
        }
    });
    assert_eq!(list(&ground.repo).unwrap().len(), count);
    assert_eq!(run(&ground.repo, &["fsck", "--connectivity-only"]), "");
    let left = ground.repo.join(".git/windlass/adding");
    assert_eq!(std::fs::read_dir(left).unwrap().count(), 0);
}

#[test]
fn fifty_creations_at_once_all_succeed() {
    create_many(&std::env::temp_dir(), 50);
}

#[test]
fn fifty_creations_at_once_all_succeed_in_memory() {
    create_many(Path::new("/dev/shm"), 50);
}

#[test]
fn eight_landings_at_once_all_land_one_after_the_other() {
    let ground = Ground::new();
    let all: Vec<_> = (0..8).map(|n| ground.worktree(&format!("w{n}"))).collect();
    for (n, worktree) in all.iter().enumerate() {
        for part in 0..3 {
            commit(&worktree.path, &format!("file{n}-{part}.txt"), "x");
        }
    }
    let running = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let landings: Vec<_> = all
            .iter()
            .map(|worktree| {
                scope.spawn(|| {
                    land(worktree, "main", |path| {
                        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                        assert!(path.join("a.txt").exists());
                        running.fetch_sub(1, Ordering::SeqCst);
                        green(path)
                    })
                })
            })
            .collect();
        for landing in landings {
            landed(&landing.join().unwrap().unwrap());
        }
    });
    assert_eq!(run(&ground.repo, &["rev-list", "--merges", "main"]), "");
    let commits: BTreeSet<String> = history(&ground.repo, "main").into_iter().collect();
    let mut expected: BTreeSet<String> = (0..8)
        .flat_map(|n| (0..3).map(move |p| format!("Author of file{n}-{p}.txt: Write file{n}-{p}.txt")))
        .collect();
    expected.insert("Author of a.txt: Write a.txt".into());
    assert_eq!(commits, expected);
    assert_eq!(history(&ground.repo, "main").len(), expected.len());
    assert_eq!(run(&ground.repo, &["status", "--porcelain"]), "");
    std::thread::scope(|scope| {
        for worktree in &all {
            scope.spawn(|| remove(worktree, "main").unwrap());
        }
    });
    assert_eq!(list(&ground.repo).unwrap(), []);
    assert_eq!(run(&ground.repo, &["branch", "--format=%(refname:short)"]), "main");
}
