//! Landing, and everything that stands in its way.

use std::cell::Cell;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_peers::git::{LandError, Landing, LandingTimeouts, is_clean, land, land_within};

use crate::ground::{Ground, at, commit, files, green, head, history, landed, read, run, script, write};

#[test]
fn a_branch_lands_on_top_of_what_came_meanwhile_with_authors_and_messages() {
    for checked_out in [true, false] {
        let ground = Ground::new();
        let worktree = ground.worktree("w");
        commit(&worktree.path, "b.txt", "b");
        run(
            &worktree.path,
            &["commit", "--quiet", "--allow-empty", "-m", "# odd\n\n  body  \n#x", "--cleanup=verbatim"],
        );
        commit(&worktree.path, "c.txt", "c");
        commit(&ground.repo, "m.txt", "m");
        if !checked_out {
            ground.leave_main();
        }
        let mut seen = None;
        let landing = land(&worktree, "main", |path| {
            seen = Some((path.to_owned(), head(path), read(path, "m.txt")));
            Ok::<_, Infallible>(true)
        });
        let commit = landed(&landing.unwrap()).to_owned();
        assert_eq!(seen.unwrap(), (worktree.path.clone(), commit.clone(), "m".into()));
        assert_eq!((at(&ground.repo, "main"), head(&worktree.path)), (commit.clone(), commit));
        assert_eq!(
            history(&ground.repo, "main"),
            [
                "Author of c.txt: Write c.txt",
                "Committer: # odd",
                "Author of b.txt: Write b.txt",
                "Author of m.txt: Write m.txt",
                "Author of a.txt: Write a.txt"
            ]
        );
        assert_eq!(run(&ground.repo, &["log", "-1", "--format=%B", "main"]), "Write c.txt\n\nand say why");
        assert_eq!(run(&ground.repo, &["log", "-1", "--format=%B", "main~1"]), "# odd\n\n  body  \n#x");
        assert_eq!(ground.repo.join("c.txt").exists(), checked_out);
        assert!(is_clean(&worktree).unwrap());
        assert_eq!(run(&ground.repo, &["status", "--porcelain"]), "");
    }
}

#[test]
fn what_the_target_has_already_is_not_landed() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let never = |_: &Path| -> Result<bool, Infallible> { panic!("nothing to check") };
    assert_eq!(land(&worktree, "main", never).unwrap(), Landing::NothingToLand);
    // The same change by another way.
    commit(&worktree.path, "b.txt", "b");
    commit(&ground.repo, "c.txt", "c");
    commit(&ground.repo, "b.txt", "b");
    assert_eq!(land(&worktree, "main", never).unwrap(), Landing::NothingToLand);
}

#[test]
fn a_conflict_leaves_branch_and_files_as_they_were() {
    let ground = Ground::new();
    commit(&ground.repo, ".gitignore", "out\n");
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&worktree.path, "é è.txt", "ours\n");
    write(&worktree.path, "out", "built");
    commit(&ground.repo, "a.txt", "theirs\n");
    commit(&ground.repo, "new.txt", "theirs\n");
    let before = (head(&worktree.path), files(&worktree.path), at(&ground.repo, "main"));
    for _ in 0..2 {
        assert_eq!(
            land(&worktree, "main", green).unwrap(),
            Landing::Conflict { files: vec!["a.txt".into()] }
        );
        assert_eq!((head(&worktree.path), files(&worktree.path), at(&ground.repo, "main")), before);
        assert_eq!(run(&worktree.path, &["symbolic-ref", "HEAD"]), "refs/heads/w");
        assert!(is_clean(&worktree).unwrap());
    }
    // Resolved by whoever made it, it lands.
    assert!(windlass_peers::git::git(&worktree.path, &["rebase", "main"]).is_err());
    write(&worktree.path, "a.txt", "both\n");
    run(&worktree.path, &["add", "a.txt"]);
    assert!(matches!(land(&worktree, "main", green), Err(LandError::InTheMiddle { of: "a rebase", .. })));
    run(&worktree.path, &["rebase", "--continue"]);
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(read(&ground.repo, "a.txt"), "both\n");
}

#[test]
fn red_checks_leave_the_target_and_keep_the_branch_on_top_of_it() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    let main = commit(&ground.repo, "c.txt", "c");
    let landing = land(&worktree, "main", |_| Ok::<_, Infallible>(false)).unwrap();
    assert_eq!(landing, Landing::ChecksFailed { commit: head(&worktree.path) });
    assert_eq!((at(&ground.repo, "main"), at(&ground.repo, "w~1")), (main.clone(), main.clone()));
    let broken = land(&worktree, "main", |_| Err("no shell")).unwrap_err();
    assert!(matches!(broken, LandError::Checks("no shell")));
    assert_eq!(at(&ground.repo, "main"), main);
    landed(&land(&worktree, "main", green).unwrap());
}

#[test]
fn what_is_not_committed_is_said_and_stays() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    write(&worktree.path, "a.txt", "more");
    write(&worktree.path, "new", "x");
    let files = vec!["a.txt".to_owned(), "new".to_owned()];
    assert_eq!(land(&worktree, "main", green).unwrap(), Landing::Uncommitted { files });
    assert_eq!(read(&worktree.path, "a.txt"), "more");
}

#[test]
fn a_checkout_with_changes_in_the_same_files_is_not_touched() {
    let ground = Ground::new();
    commit(&ground.repo, ".gitignore", "ignored\n");
    commit(&ground.repo, "other.txt", "o\n");
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "two\n");
    commit(&worktree.path, "new.txt", "n");
    write(&worktree.path, "ignored", "committed by force");
    run(&worktree.path, &["add", "--force", "ignored"]);
    run(&worktree.path, &["commit", "--quiet", "-m", "force"]);
    write(&ground.repo, "a.txt", "mine\n");
    write(&ground.repo, "new.txt", "mine");
    write(&ground.repo, "ignored", "mine");
    write(&ground.repo, "other.txt", "mine, and not in the way\n");
    let before = (files(&ground.repo), at(&ground.repo, "main"));
    let dirty = Landing::TargetDirty {
        path: ground.repo.clone(),
        files: vec!["a.txt".into(), "ignored".into(), "new.txt".into()],
    };
    assert_eq!(land(&worktree, "main", green).unwrap(), dirty);
    assert_eq!((files(&ground.repo), at(&ground.repo, "main")), before);
    run(&ground.repo, &["checkout", "--quiet", "--", "a.txt"]);
    fs::remove_file(ground.repo.join("new.txt")).unwrap();
    fs::remove_file(ground.repo.join("ignored")).unwrap();
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(read(&ground.repo, "other.txt"), "mine, and not in the way\n");
    assert_eq!(run(&ground.repo, &["status", "--porcelain"]), "M other.txt".replacen('M', " M", 1));
}

#[test]
fn an_ignored_file_is_not_overwritten_by_the_target() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    write(&ground.repo, ".git/info/exclude", ".env\n");
    commit(&worktree.path, "b.txt", "b");
    write(&worktree.path, ".env", "mine");
    write(&ground.repo, ".env", "theirs");
    run(&ground.repo, &["add", "--force", ".env"]);
    run(&ground.repo, &["commit", "--quiet", "-m", "force"]);
    let files = vec![".env".to_owned()];
    assert_eq!(land(&worktree, "main", green).unwrap(), Landing::InTheWay { files });
    assert_eq!(read(&worktree.path, ".env"), "mine");
}

#[test]
fn a_target_that_moves_during_the_checks_is_landed_on_once_more() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    let count = Cell::new(0);
    let landing = land(&worktree, "main", |_| {
        count.set(count.get() + 1);
        if count.get() < 3 {
            commit(&ground.repo, &format!("m{}.txt", count.get()), "m");
        }
        Ok::<_, Infallible>(true)
    });
    landed(&landing.unwrap());
    assert_eq!(count.get(), 3, "checked on each result");
    assert_eq!(history(&ground.repo, "main").len(), 4);
    let worktree = ground.worktree("v");
    commit(&worktree.path, "v.txt", "v");
    let landing = land(&worktree, "main", |_| {
        count.set(count.get() + 1);
        commit(&ground.repo, &format!("m{}.txt", count.get()), "m");
        Ok::<_, Infallible>(true)
    });
    assert_eq!(landing.unwrap(), Landing::TargetMoved);
}

#[test]
fn commits_made_by_the_checks_are_not_landed_unchecked() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "b.txt", "b");
    let main = at(&ground.repo, "main");
    let landing = land(&worktree, "main", |path| {
        commit(path, "sneaked.txt", "in");
        Ok::<_, Infallible>(true)
    });
    assert!(matches!(landing, Err(LandError::ChangedMeanwhile { .. })));
    assert_eq!(at(&ground.repo, "main"), main);
}

#[test]
fn a_branch_with_merges_keeps_what_was_decided_in_them() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "ours\n");
    commit(&ground.repo, "a.txt", "theirs\n");
    assert!(windlass_peers::git::git(&worktree.path, &["merge", "main"]).is_err());
    write(&worktree.path, "a.txt", "decided\n");
    write(&worktree.path, "also.txt", "only in the merge");
    run(&worktree.path, &["add", "--all"]);
    run(&worktree.path, &["commit", "--quiet", "-m", "merge main"]);
    commit(&ground.repo, "m.txt", "m");
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(
        (read(&ground.repo, "a.txt"), read(&ground.repo, "also.txt")),
        ("decided\n".into(), "only in the merge".into())
    );
    assert_eq!(read(&ground.repo, "m.txt"), "m");
    // And in conflict, all is as it was.
    commit(&worktree.path, "a.txt", "again\n");
    run(&worktree.path, &["merge", "--quiet", "--no-ff", "-m", "x", "main~1"]);
    commit(&ground.repo, "a.txt", "otherwise\n");
    let before = (head(&worktree.path), files(&worktree.path));
    assert_eq!(land(&worktree, "main", green).unwrap(), Landing::Conflict { files: vec!["a.txt".into()] });
    assert_eq!((head(&worktree.path), files(&worktree.path)), before);
    assert!(is_clean(&worktree).unwrap());
}

#[test]
fn targets_that_are_not_there_or_taken_are_named() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    commit(&worktree.path, "a.txt", "w\n");
    for target in ["no-such", "-x", "a..b"] {
        assert!(matches!(land(&worktree, target, green), Err(LandError::NoSuchTarget { .. })), "{target}");
    }
    // Somebody is rebasing the target.
    run(&ground.repo, &["branch", "side"]);
    commit(&ground.repo, "a.txt", "main\n");
    run(&ground.repo, &["checkout", "--quiet", "side"]);
    commit(&ground.repo, "a.txt", "side\n");
    run(&ground.repo, &["branch", "--force", "w-base", "side"]);
    assert!(windlass_peers::git::git(&ground.repo, &["rebase", "main"]).is_err());
    let on_side = windlass_peers::git::create(&ground.repo, &ground.path("v"), "v", "w-base").unwrap();
    commit(&on_side.path, "v.txt", "v");
    assert_eq!(land(&on_side, "side", green).unwrap(), Landing::TargetBusy { path: ground.repo.clone() });
    run(&worktree.path, &["checkout", "--quiet", "--detach"]);
    assert!(matches!(land(&worktree, "main", green), Err(LandError::NotOnBranch { .. })));
}

#[test]
fn hooks_run_but_never_hold_it_up() {
    let ground = Ground::new();
    let hooks = ground.path("hooks of ours");
    let seen = ground.path("seen");
    script(&hooks.join("pre-rebase"), &format!("#!/bin/sh\necho rebase >>{}\n", seen.display()));
    script(
        &hooks.join("post-merge"),
        &format!("#!/bin/sh\necho merge >>{}\nexec sleep 600\n", seen.display()),
    );
    let worktree = ground.worktree("w");
    run(&ground.repo, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
    commit(&worktree.path, "b.txt", "b");
    commit(&ground.repo, "c.txt", "c");
    let patience = LandingTimeouts { git: Duration::from_secs(3), ..LandingTimeouts::default() };
    let began = Instant::now();
    let commit = land_within(patience, &worktree, "main", green).unwrap();
    assert_eq!(at(&ground.repo, "main"), landed(&commit));
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(fs::read_to_string(&seen).unwrap(), "rebase\nmerge\n");
}

#[test]
fn a_hook_that_hangs_or_refuses_in_a_rebase_leaves_all_as_it_was() {
    for body in ["exec sleep 600", "exit 1"] {
        let ground = Ground::new();
        let worktree = ground.worktree("w");
        commit(&worktree.path, "b.txt", "b");
        commit(&ground.repo, "c.txt", "c");
        script(&ground.repo.join(".git/hooks/pre-rebase"), &format!("#!/bin/sh\n{body}\n"));
        script(&ground.repo.join(".git/hooks/reference-transaction"), "#!/bin/sh\nexit 0\n");
        let before = (head(&worktree.path), files(&worktree.path));
        let patience = LandingTimeouts { git: Duration::from_secs(1), ..LandingTimeouts::default() };
        let error = land_within(patience, &worktree, "main", green).unwrap_err();
        assert!(matches!(error, LandError::Worktree(_)), "{error}");
        assert_eq!((head(&worktree.path), files(&worktree.path)), before);
        assert!(is_clean(&worktree).unwrap());
    }
}

#[test]
fn the_settings_of_a_person_change_nothing() {
    let ground = Ground::new();
    let worktree = ground.worktree("w");
    let settings = [
        ("rebase.backend", "apply"),
        ("rebase.autoStash", "true"),
        ("rebase.autoSquash", "true"),
        ("rebase.updateRefs", "true"),
        ("rebase.rebaseMerges", "true"),
        ("merge.ff", "false"),
        ("pull.rebase", "true"),
        ("diff.renames", "copies"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("status.short", "true"),
        ("core.quotePath", "true"),
        ("core.pager", "false"),
        ("color.ui", "always"),
        ("advice.statusHints", "false"),
    ];
    for (name, value) in settings {
        run(&ground.repo, &["config", name, value]);
    }
    commit(&worktree.path, "é.txt", "b");
    run(&worktree.path, &["commit", "--quiet", "--allow-empty", "-m", "fixup! Write é.txt"]);
    run(&worktree.path, &["branch", "stacked", "HEAD~1"]);
    let stacked = at(&ground.repo, "stacked");
    commit(&ground.repo, "c.txt", "c");
    landed(&land(&worktree, "main", green).unwrap());
    assert_eq!(history(&ground.repo, "main").len(), 4);
    assert_eq!(at(&ground.repo, "stacked"), stacked);
}
