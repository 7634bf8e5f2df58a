//! Killed at any point and done again, it comes to the same.
//!
//! The work is done by this very program, started as a process of its own. A `git` before the
//! real one on its `PATH`, and hooks and filters that git calls in the middle of its work, count;
//! at the given count they kill the process, and for some also git itself.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windlass_peers::git::{Landing, Removal, Renewal, create, is_clean, land, list, remove, renew};

use crate::ground::{Ground, at, commit, files, green, history, run, script, write};

/// The counted moment of a kill, and the processes that it kills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Windlass, before a call of git.
    BeforeCall,
    /// Windlass, after a call of git.
    AfterCall,
    /// Windlass, while git goes on.
    DuringCall,
    /// Windlass and git, while git moves a branch or writes a file.
    WithinGit,
    /// git alone, before it does anything.
    GitAtOnce,
    /// git alone, while it moves a branch or writes a file.
    GitWithin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Create,
    Land,
    Remove,
    Renew,
}

/// The target branch of a landing: its files, if checked out, move with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Main {
    CheckedOut,
    NowhereCheckedOut,
}

const COUNT: &str = r#"n=$(($(cat "$WL_DIR/count" 2>/dev/null || echo 0) + 1)); echo $n >"$WL_DIR/count""#;

fn scripts(dir: &Path, place: Where) {
    let real = run(Path::new("/"), &["--exec-path"]);
    let real = format!("{real}/git");
    let kill = r#"[ "$n" = "$WL_AT" ] && kill -9 $(cat "$WL_DIR/pid")"#;
    let body = match place {
        Where::BeforeCall => format!("{COUNT}\n{kill} && exit 1\nexec {real} \"$@\""),
        Where::AfterCall => format!("{COUNT}\n{real} \"$@\"\ncode=$?\n{kill}\nexit $code"),
        Where::DuringCall => format!("{COUNT}\n{kill}\nexec {real} \"$@\""),
        Where::GitAtOnce => format!("{COUNT}\n[ \"$n\" = \"$WL_AT\" ] && kill -9 $$\nexec {real} \"$@\""),
        Where::WithinGit | Where::GitWithin => format!("exec {real} \"$@\""),
    };
    script(&dir.join("bin/git"), &format!("#!/bin/sh\n{body}\n"));
    // The fifth word of this file is the group, which is git's.
    let inner = match place {
        Where::WithinGit => {
            format!(
                "[ -z \"$WL_AT\" ] || {{ {COUNT}\n{kill} && set -- $(cat /proc/$$/stat) && kill -9 -- -$5; }}"
            )
        }
        Where::GitWithin => format!(
            "[ -z \"$WL_AT\" ] || {{ {COUNT}\n[ \"$n\" = \"$WL_AT\" ] && set -- $(cat /proc/$$/stat) && kill -9 -- -$5; }}"
        ),
        _ => String::new(),
    };
    for hook in ["reference-transaction", "post-checkout", "post-rewrite", "post-merge"] {
        script(&dir.join("hooks").join(hook), &format!("#!/bin/sh\n{inner}\nexit 0\n"));
    }
    script(&dir.join("bin/smudge"), &format!("#!/bin/sh\n{inner}\nexec cat\n"));
}

/// A repository with a worktree that is behind, for landing; and the scripts in place.
fn prepare(work: Work, place: Where, main: Main) -> (Ground, PathBuf) {
    let ground = Ground::new();
    let dir = ground.path("scripts");
    scripts(&dir, place);
    commit(&ground.repo, ".gitattributes", "*.txt filter=count\n");
    commit(&ground.repo, ".gitignore", ".env\n");
    commit(&ground.repo, ".worktreeinclude", ".env\n");
    write(&ground.repo, ".env", "KEY=1");
    commit(&ground.repo, "b.txt", "b\n");
    if work != Work::Create {
        let worktree = ground.worktree("w");
        commit(&worktree.path, "w1.txt", "w\n");
        commit(&worktree.path, "w2.txt", "w\n");
        commit(&ground.repo, "m.txt", "m\n");
        commit(&ground.repo, "b.txt", "m\n");
        if work == Work::Renew {
            commit(&worktree.path, "b.txt", "w\n");
        }
        if main == Main::NowhereCheckedOut {
            ground.leave_main();
        }
        if work == Work::Remove {
            land(&worktree, "main", green).unwrap();
        }
    }
    run(&ground.repo, &["config", "filter.count.smudge", dir.join("bin/smudge").to_str().unwrap()]);
    run(&ground.repo, &["config", "filter.count.clean", "cat"]);
    run(&ground.repo, &["config", "core.hooksPath", dir.join("hooks").to_str().unwrap()]);
    (ground, dir)
}

fn perform(work: Work, repo: &Path, path: &Path) {
    match work {
        Work::Create => drop(create(repo, path, "w", "main").unwrap()),
        Work::Land => {
            let worktree = list(repo).unwrap().remove(0);
            let landing = land(&worktree, "main", |at| {
                Ok::<_, Infallible>(at.join("w2.txt").exists() && at.join("m.txt").exists())
            });
            assert!(matches!(landing, Ok(Landing::Landed { .. } | Landing::NothingToLand)), "{landing:?}");
        }
        Work::Remove => {
            for worktree in list(repo).unwrap() {
                assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
            }
            assert!(!path.exists());
        }
        Work::Renew => {
            let worktree = list(repo).unwrap().remove(0);
            let renewal = renew(&worktree, "main", "r1").unwrap();
            assert!(matches!(&renewal, Renewal::Renewed { files, .. } if files == &["b.txt"]), "{renewal:?}");
        }
    }
}

/// Does the work in a process that is killed at a count; says whether it was.
fn killed_at(work: Work, ground: &Ground, dir: &Path, count: usize) -> bool {
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["crash::the_process_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .env("PATH", path)
        .env("WL_WORK", format!("{work:?}"))
        .env("WL_REPO", &ground.repo)
        .env("WL_PATH", ground.path("trees/w"))
        .env("WL_DIR", dir)
        .env("WL_AT", count.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let was_killed = output.status.code().is_none();
    assert!(was_killed || output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    was_killed
}

#[test]
#[ignore = "started by the other tests here, as a process to be killed"]
fn the_process_that_is_killed() {
    let var = |name: &str| std::env::var(name).ok();
    let Some(dir) = var("WL_DIR") else { return };
    fs::write(Path::new(&dir).join("pid"), std::process::id().to_string()).unwrap();
    let work = match var("WL_WORK").unwrap().as_str() {
        "Create" => Work::Create,
        "Land" => Work::Land,
        "Renew" => Work::Renew,
        _ => Work::Remove,
    };
    perform(work, Path::new(&var("WL_REPO").unwrap()), Path::new(&var("WL_PATH").unwrap()));
}

/// Returns the state that must be the same at the end, whatever happened.
fn end_state(work: Work, ground: &Ground) -> Vec<String> {
    let repo = &ground.repo;
    let mut state = vec![
        format!("{:?}", history(repo, "main")),
        run(repo, &["branch", "--format=%(refname:short)"]),
        run(repo, &["status", "--porcelain"]),
        run(repo, &["rev-parse", "main^{tree}"]),
        run(repo, &["worktree", "list", "--porcelain"])
            .lines()
            .filter(|l| !l.starts_with("HEAD"))
            .count()
            .to_string(),
    ];
    for worktree in list(repo).unwrap() {
        assert!(is_clean(&worktree).unwrap());
        let content = files(&worktree.path);
        state.push(format!(
            "{:?}",
            content.iter().map(|(path, bytes)| (path.file_name(), bytes)).collect::<Vec<_>>()
        ));
        state.push(run(&worktree.path, &["symbolic-ref", "HEAD"]));
        state.push(run(&worktree.path, &["rev-parse", "HEAD^{tree}"]));
    }
    if work == Work::Renew {
        let tree = list(repo).unwrap().remove(0).path;
        let parents = run(&tree, &["log", "-1", "--format=%s, %P", "HEAD"]);
        let expected = format!("Merge main, {} {}", at(&tree, "HEAD^1"), at(repo, "main"));
        assert_eq!(parents, expected);
        assert_eq!(run(&tree, &["log", "-1", "--format=%s", "HEAD^1"]), "Write b.txt");
    } else if work != Work::Create {
        assert_eq!(run(repo, &["cat-file", "-p", "main:w2.txt"]), "w");
    }
    let mut left: Vec<String> = Vec::new();
    let git = repo.join(".git");
    let folders =
        ["", "windlass", "windlass/tmp", "windlass/adding", "worktrees/w"].map(|name| git.join(name));
    for folder in folders.into_iter().chain([ground.path("trees"), repo.clone()]) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if [".lock", ".tmp", "windlass-removed"].iter().any(|end| name.ends_with(end))
                || name.starts_with("moving")
                || name.contains("land.json")
                || name.contains("renew.index")
            {
                left.push(name);
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(fs::read_dir(repo.join(".git/windlass/adding")).into_iter().flatten().count(), 0);
    state
}

/// Kills at every count there is; each time what follows must end the same.
fn sweep(work: Work, place: Where, main: Main) {
    sweep_by(1, work, place, main);
}

fn sweep_by(step: usize, work: Work, place: Where, main: Main) {
    let (ground, _) = prepare(work, place, main);
    perform(work, &ground.repo, &ground.path("trees/w"));
    let expected = end_state(work, &ground);
    let mut count = 0;
    loop {
        count += step;
        assert!(count < 200);
        let (ground, dir) = prepare(work, place, main);
        if !killed_at(work, &ground, &dir, count) {
            break;
        }
        let before = at(&ground.repo, "main");
        perform(work, &ground.repo, &ground.path("trees/w"));
        run(&ground.repo, &["merge-base", "--is-ancestor", &before, "main"]);
        assert_eq!(end_state(work, &ground), expected, "{work:?} {place:?} {count}");
    }
    assert!(count > 3, "{count} points only");
}

/// git dies once at every count there is, and Windlass lives: the work is done all the same.
fn git_dies(step: usize, work: Work, place: Where, main: Main) {
    let (ground, _) = prepare(work, place, main);
    perform(work, &ground.repo, &ground.path("trees/w"));
    let expected = end_state(work, &ground);
    for count in (1..200).step_by(step) {
        let (ground, dir) = prepare(work, place, main);
        assert!(!killed_at(work, &ground, &dir, count));
        assert_eq!(end_state(work, &ground), expected, "{work:?} {place:?} {count}");
        let passed: usize = fs::read_to_string(dir.join("count")).unwrap().trim().parse().unwrap();
        if passed < count {
            assert!(count > 3, "{count} points only");
            return;
        }
    }
    panic!("there is no end of the points");
}

#[test]
fn a_creation_whose_git_dies() {
    git_dies(1, Work::Create, Where::GitAtOnce, Main::CheckedOut);
}

#[test]
fn a_creation_whose_git_dies_in_the_middle() {
    git_dies(2, Work::Create, Where::GitWithin, Main::CheckedOut);
}

#[test]
fn a_landing_whose_git_dies() {
    git_dies(2, Work::Land, Where::GitAtOnce, Main::CheckedOut);
}

#[test]
fn a_landing_whose_git_dies_in_the_middle() {
    git_dies(5, Work::Land, Where::GitWithin, Main::CheckedOut);
}

#[test]
fn a_removal_whose_git_dies() {
    git_dies(2, Work::Remove, Where::GitAtOnce, Main::CheckedOut);
}

#[test]
fn a_removal_whose_git_dies_in_the_middle() {
    git_dies(2, Work::Remove, Where::GitWithin, Main::CheckedOut);
}

#[test]
fn a_git_that_always_dies_is_an_error_that_says_so() {
    let ground = Ground::new();
    let dir = ground.path("scripts");
    script(&dir.join("bin/git"), "#!/bin/sh\nkill -9 $$\n");
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["crash::the_process_that_is_killed", "--exact", "--ignored", "--nocapture"])
        .envs([("PATH", path), ("WL_WORK", "Create".to_owned())])
        .env("WL_REPO", &ground.repo)
        .env("WL_PATH", ground.path("trees/w"))
        .env("WL_DIR", &dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("code: None"), "{said}");
}

#[test]
fn half_an_intent_of_a_dead_process_is_in_nobodys_way() {
    let ground = Ground::new();
    let intent = format!(
        r#"{{"v":1,"path":"{}","branch":"x","base":"{}","made_branch":true,"stage":"checking_out"}}"#,
        ground.path("trees/x").display(),
        at(&ground.repo, "main")
    );
    let going = format!(r#"{{"marker":{intent},"git_dir":"/nowhere"}}"#);
    for name in [".x.json.1.1.tmp", ".windlass-999999999-1-1.tmp", "x.json.tmp"] {
        write(&ground.repo.join(".git/windlass/adding"), name, &intent);
        write(&ground.repo.join(".git/windlass/removing"), name, &going);
    }
    write(&ground.repo.join(".git/windlass/tmp"), ".windlass-999999999-1-1.tmp", &intent);
    let worktree = ground.worktree("w");
    assert_eq!(list(&ground.repo).unwrap(), std::slice::from_ref(&worktree));
    commit(&worktree.path, "w", "w");
    land(&worktree, "main", green).unwrap();
    assert_eq!(remove(&worktree, "main").unwrap(), Removal::Removed);
    for (folder, kept) in [("tmp", 0), ("adding", 2), ("removing", 2)] {
        let left = fs::read_dir(ground.repo.join(".git/windlass").join(folder)).unwrap();
        assert_eq!(left.count(), kept, "{folder}: those that are known to be drafts are gone");
    }
}

/// A rebase that is killed at its very end, with packed refs locked and a note of what it was doing.
#[test]
fn a_landing_whose_rebase_was_killed_with_a_lock_on_what_all_share_is_finished() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "w2.txt", "w");
    commit(&ground.repo, "m.txt", "m");
    let dir = ground.path("scripts");
    let real = format!("{}/git", run(Path::new("/"), &["--exec-path"]));
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in \"rebase --quiet\"*) mkdir {once} && {real} rev-parse HEAD > {kept}/CHERRY_PICK_HEAD && \
         touch {common}/packed-refs.lock && kill -9 $$;; esac\nexec {real} \"$@\"\n",
        once = ground.path("once").display(),
        kept = worktree_dir(&ground).display(),
        common = ground.repo.join(".git").display(),
    );
    script(&dir.join("bin/git"), &text);
    assert!(!killed_at(Work::Land, &ground, &dir, 0));
    assert!(ground.path("once").exists());
    assert_eq!(at(&ground.repo, "main"), at(&worktree.path, "HEAD"));
    assert!(!ground.repo.join(".git/packed-refs.lock").exists());
    assert!(!worktree_dir(&ground).join("CHERRY_PICK_HEAD").exists());
}

/// git then reports success, and leaves a note about a cherry-pick.
#[test]
fn a_landing_whose_rebase_met_the_lock_of_a_git_that_was_killed_is_done_again() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "w2.txt", "w");
    commit(&ground.repo, "m.txt", "m");
    let dir = ground.path("scripts");
    let real = format!("{}/git", run(Path::new("/"), &["--exec-path"]));
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in \"rebase --quiet\"*) mkdir {once} && touch {common}/packed-refs.lock && \
         {real} -c core.packedRefsTimeout=0 \"$@\" && touch {note} && exit 0;; esac\nexec {real} \"$@\"\n",
        once = ground.path("once").display(),
        note = ground.path("succeeded").display(),
        common = ground.repo.join(".git").display(),
    );
    script(&dir.join("bin/git"), &text);
    assert!(!killed_at(Work::Land, &ground, &dir, 0));
    assert!(ground.path("succeeded").exists());
    assert_eq!(at(&ground.repo, "main"), at(&worktree.path, "HEAD"));
    assert!(!ground.repo.join(".git/packed-refs.lock").exists());
    assert!(!worktree_dir(&ground).join("CHERRY_PICK_HEAD").exists());
}

/// git deletes what it keeps about a worktree file by file; it may be killed after any of them.
#[test]
fn a_removal_whose_git_was_killed_between_two_files_is_finished() {
    const KEPT: [&str; 6] = ["HEAD", "commondir", "gitdir", "index", "logs", "windlass.json"];
    for first in KEPT {
        for second in KEPT {
            let ground = Ground::new();
            let worktree = ground.worktree("w");
            commit(&worktree.path, "w", "w");
            land(&worktree, "main", green).unwrap();
            let dir = ground.path("scripts");
            let real = format!("{}/git", run(Path::new("/"), &["--exec-path"]));
            let kept = worktree_dir(&ground);
            let text = format!(
                "#!/bin/sh\ncase \"$*\" in \"worktree remove\"*) mkdir {once} && cd {kept} && rm -r {first} && \
                 rm -rf {second} && kill -9 $$;; esac\nexec {real} \"$@\"\n",
                once = ground.path("once").display(),
                kept = kept.display(),
            );
            script(&dir.join("bin/git"), &text);
            assert!(!killed_at(Work::Remove, &ground, &dir, 0));
            assert!(ground.path("once").exists() && !kept.exists(), "{first} {second}");
            assert_eq!(
                run(&ground.repo, &["branch", "--format=%(refname:short)"]),
                "main",
                "{first} {second}"
            );
            assert!(list(&ground.repo).unwrap().is_empty(), "{first} {second}");
        }
    }
}

fn worktree_dir(ground: &Ground) -> PathBuf {
    ground.repo.join(".git/worktrees/w")
}

#[test]
fn a_renewal_killed_before_any_call() {
    sweep(Work::Renew, Where::BeforeCall, Main::CheckedOut);
}

#[test]
fn a_renewal_killed_after_any_call() {
    sweep(Work::Renew, Where::AfterCall, Main::CheckedOut);
}

#[test]
fn a_renewal_killed_while_git_goes_on() {
    sweep(Work::Renew, Where::DuringCall, Main::CheckedOut);
}

#[test]
fn a_renewal_killed_within_git() {
    sweep_by(2, Work::Renew, Where::WithinGit, Main::CheckedOut);
}

#[test]
fn a_renewal_whose_git_dies() {
    git_dies(2, Work::Renew, Where::GitAtOnce, Main::CheckedOut);
}

#[test]
fn a_creation_killed_before_any_call() {
    sweep(Work::Create, Where::BeforeCall, Main::CheckedOut);
}

#[test]
fn a_creation_killed_after_any_call() {
    sweep(Work::Create, Where::AfterCall, Main::CheckedOut);
}

#[test]
fn a_creation_killed_while_git_goes_on() {
    sweep(Work::Create, Where::DuringCall, Main::CheckedOut);
}

#[test]
fn a_creation_killed_within_git() {
    sweep(Work::Create, Where::WithinGit, Main::CheckedOut);
}

#[test]
fn a_landing_killed_before_any_call() {
    sweep(Work::Land, Where::BeforeCall, Main::CheckedOut);
}

#[test]
fn a_landing_killed_after_any_call() {
    sweep(Work::Land, Where::AfterCall, Main::NowhereCheckedOut);
}

#[test]
fn a_landing_killed_while_git_goes_on() {
    sweep(Work::Land, Where::DuringCall, Main::CheckedOut);
}

#[test]
fn a_landing_killed_within_git() {
    sweep(Work::Land, Where::WithinGit, Main::CheckedOut);
}

#[test]
fn a_removal_killed_before_any_call() {
    sweep(Work::Remove, Where::BeforeCall, Main::CheckedOut);
}

#[test]
fn a_removal_killed_after_any_call() {
    sweep(Work::Remove, Where::AfterCall, Main::CheckedOut);
}

#[test]
fn a_removal_killed_while_git_goes_on() {
    sweep(Work::Remove, Where::DuringCall, Main::CheckedOut);
}

#[test]
fn a_removal_killed_within_git() {
    sweep(Work::Remove, Where::WithinGit, Main::CheckedOut);
}

#[test]
fn a_landing_on_a_branch_that_is_not_checked_out_killed_within_git() {
    sweep_by(3, Work::Land, Where::WithinGit, Main::NowhereCheckedOut);
}
