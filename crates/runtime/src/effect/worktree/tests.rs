//! Worktrees and landings in real repositories, each done again as after a crash.

use std::cell::Cell;
use std::fs;
use std::sync::mpsc;

use tempfile::TempDir;
use windlass_core::id::{NodeId, Verb};
use windlass_peers::git::git;

use super::*;

struct Stage {
    _temp: TempDir,
    repo: PathBuf,
    /// The run's folder.
    dir: PathBuf,
}

fn effect(node: &str, verb: Verb) -> EffectId {
    EffectId { node: NodeId::new(node), iteration: 1, attempt: 1, verb }
}

impl Stage {
    /// A folder, and beside it that of a run.
    fn bare() -> Stage {
        let temp = tempfile::tempdir().unwrap();
        let base = temp.path().canonicalize().unwrap();
        let (repo, dir) = (base.join("repo"), base.join("run"));
        fs::create_dir(&repo).unwrap();
        Stage { _temp: temp, repo, dir }
    }

    /// A repository with one commit on `main`, checked out.
    fn new() -> Stage {
        let stage = Stage::bare();
        run(&stage.repo, &["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [("user.name", "t"), ("user.email", "t@example.invalid"), ("gc.auto", "0")] {
            run(&stage.repo, &["config", name, value]);
        }
        commit(&stage.repo, "a", "one\n");
        stage
    }

    fn make(&self, node: &str, task: &str, attempt: u32) -> Result<(String, String), String> {
        self.make_in(&self.repo, node, task, attempt)
    }

    fn make_in(&self, at: &Path, node: &str, task: &str, attempt: u32) -> Result<(String, String), String> {
        let effect = effect(node, Verb::Worktree);
        let task: TaskId = task.parse().unwrap();
        let run = RunId::new("r1");
        let target = &on_a_branch(at)?;
        make_at(
            at,
            &WorktreeRequest {
                run: &run,
                dir: &self.dir,
                effect: &effect,
                task: &task,
                attempt,
                target,
                from: &[],
            },
        )
        .map_err(|unmade| match unmade {
            WorktreeFailure::Why(why) | WorktreeFailure::Conflict(why) => why,
            WorktreeFailure::ForNow(error) => panic!("{error}"),
        })
    }

    fn notes(&self, node: &str) -> PathBuf {
        self.dir.join(effect(node, Verb::Land).to_string())
    }

    fn land_with(
        &self,
        node: &str,
        branch: &str,
        checks: impl FnMut(u32) -> Result<Option<String>, LandingStop>,
    ) -> Result<LandingResult, LandingStop> {
        let notes = self.notes(node);
        let tasks = self.repo.join("tasks.json");
        let course =
            LandingJob { repo: &self.repo, notes: &notes, branch, target: None, tasks: Some(&tasks) };
        bring_back(&course, || false, checks)
    }

    /// A landing whose checks are green.
    fn land(&self, node: &str, branch: &str) -> LandingResult {
        self.land_with(node, branch, |_| Ok(None)).unwrap()
    }

    fn main(&self) -> String {
        run(&self.repo, &["rev-parse", "refs/heads/main"])
    }

    fn has_branch(&self, branch: &str) -> bool {
        git(&self.repo, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).is_ok()
    }
}

fn run(dir: &Path, args: &[&str]) -> String {
    let said = git(dir, args).unwrap_or_else(|e| panic!("{args:?}: {e}"));
    String::from_utf8(said).unwrap().trim_end().to_owned()
}

fn commit(dir: impl AsRef<Path>, name: &str, text: &str) -> String {
    let dir = dir.as_ref();
    fs::write(dir.join(name), text).unwrap();
    run(dir, &["add", "--", name]);
    run(dir, &["commit", "--quiet", "-m", name]);
    run(dir, &["rev-parse", "HEAD"])
}

/// Returns the message that sends the agent back to improve its work.
#[track_caller]
fn refusal(told: LandingResult) -> String {
    let LandingResult::Refused(why) = told else { panic!("{told:?}") };
    why
}

/// Returns the message that asks a person to fix something first.
#[track_caller]
fn hindrance(told: LandingResult) -> String {
    let LandingResult::Hindered(why) = told else { panic!("{told:?}") };
    why
}

const KEPT: &str = "is kept with all its commits";

#[test]
fn where_there_can_be_no_worktree_it_is_said_what_to_do() {
    let stage = Stage::bare();
    let why = || stage.make("t@1", "1", 1).unwrap_err();
    assert!(why().contains("need a git repository") && why().contains("git init"), "{}", why());
    run(&stage.repo, &["init", "--quiet"]);
    assert!(why().contains("has no commit to begin at"), "{}", why());
    let stage = Stage::new();
    run(&stage.repo, &["checkout", "--quiet", "--detach"]);
    let why = stage.make("t@1", "1", 1).unwrap_err();
    assert!(why.contains("HEAD is detached") && why.ends_with("`--jobs 1` needs no worktree"), "{why}");
    run(&stage.repo, &["switch", "--quiet", "main"]);
    fs::create_dir(stage.repo.join("new")).unwrap();
    let why = stage.make_in(&stage.repo.join("new"), "t@1", "1", 1).unwrap_err();
    assert!(why.starts_with("nothing of ") && why.contains("is committed"), "{why}");
}

#[test]
fn a_worktree_is_in_the_run_and_on_a_branch_of_its_own_at_the_commit_of_now() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    assert_eq!(Path::new(&workspace), stage.dir.join("worktrees/task-1-1"));
    assert_eq!(branch, "windlass/r1/task-1-1");
    let at = Path::new(&workspace);
    assert_eq!(run(at, &["symbolic-ref", "--short", "HEAD"]), branch);
    assert_eq!(run(at, &["rev-parse", "HEAD"]), stage.main());
}

#[test]
fn made_twice_it_is_the_same_with_the_work_in_it() {
    let stage = Stage::new();
    let made = stage.make("t@1", "1", 1).unwrap();
    let work = commit(&made.0, "b", "work\n");
    commit(&stage.repo, "c", "elsewhere\n");
    assert_eq!(stage.make("t@1", "1", 1).unwrap(), made);
    assert_eq!(run(Path::new(&made.0), &["rev-parse", "HEAD"]), work);
}

#[test]
fn another_round_of_the_same_task_never_gets_what_an_earlier_one_left() {
    let stage = Stage::new();
    let first = stage.make("t@1", "1", 1).unwrap();
    let second = stage.make("t~2@1", "1", 1).unwrap();
    assert_eq!((first.1.as_str(), second.1.as_str()), ("windlass/r1/task-1-1", "windlass/r1/task-1-2"));
    assert_eq!(stage.make("t~2@2", "1", 2).unwrap().1, "windlass/r1/task-1-3");
    assert_eq!(stage.make("t@1", "1", 1).unwrap(), first);
}

#[test]
fn whatever_an_id_is_it_leads_nowhere_else() {
    let stage = Stage::new();
    let long = "é".repeat(60);
    let ids = ["../../x", "-rf", "a b", "a/b", "a.lock", "..", "@{-1}", "$(touch x)", "HEAD~1", &long];
    for (round, id) in ids.iter().enumerate() {
        let (workspace, branch) = stage.make(&format!("t@{round}"), id, 1).unwrap();
        let name = Path::new(&workspace).strip_prefix(stage.dir.join("worktrees")).unwrap().to_str().unwrap();
        assert!(name.starts_with("task-") && !name.contains('/'), "{name}");
        assert_eq!(branch, format!("windlass/r1/{name}"), "{id}");
    }
}

#[test]
fn a_workspace_below_the_top_is_the_same_folder_in_the_worktree() {
    let stage = Stage::new();
    let below = stage.repo.join("sub dir");
    fs::create_dir(&below).unwrap();
    commit(&below, "b", "x\n");
    let (workspace, branch) = stage.make_in(&below, "t@1", "1", 1).unwrap();
    assert_eq!(Path::new(&workspace), stage.dir.join("worktrees/task-1-1/sub dir"));
    let work = commit(&workspace, "b", "y\n");
    let course =
        LandingJob { repo: &below, notes: &stage.notes("t@1"), branch: &branch, target: None, tasks: None };
    assert!(matches!(bring_back(&course, || false, |_| Ok(None)).unwrap(), LandingResult::Landed(_)));
    assert_eq!(stage.main(), work);
}

#[test]
fn what_was_landed_is_on_the_branch_and_nothing_is_left_of_the_worktree() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&workspace, "b", "work\n");
    commit(&stage.repo, "c", "meanwhile\n");
    let told = stage.land("t@1", &branch);
    assert_eq!(
        told,
        LandingResult::Landed(format!("branch `{branch}` is on `main` now, at {}", &stage.main()[..12]))
    );
    assert_eq!(fs::read_to_string(stage.repo.join("b")).unwrap(), "work\n");
    assert!(!Path::new(&workspace).exists() && !stage.has_branch(&branch));
    assert_eq!(stage.land("t@1", &branch), told, "asked again, it is the same");
}

#[test]
fn cut_off_between_the_move_and_the_note_it_is_landed_all_the_same() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&workspace, "b", "work\n");
    // So that nothing is put away, as if it had died before.
    run(&stage.repo, &["worktree", "lock", &workspace]);
    // A check leaves a file behind, which is nobody's work.
    let litter = |_| {
        fs::write(Path::new(&workspace).join("litter"), "").unwrap();
        Ok(None)
    };
    let told = stage.land_with("t@1", &branch, litter).unwrap();
    assert!(matches!(told, LandingResult::Landed(_)) && Path::new(&workspace).exists());
    let mut record = record::LandingRecord::read(&stage.notes("t@1")).unwrap();
    record.landed = None;
    record.write(&stage.notes("t@1")).unwrap();
    let main = stage.main();
    assert_eq!(stage.land_with("t@1", &branch, |_| panic!("it was green")).unwrap(), told);
    assert_eq!(stage.main(), main);
}

#[test]
fn cut_off_in_its_checks_it_begins_them_anew_for_the_same_commit_and_others_for_another() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&workspace, "b", "work\n");
    let rounds = Cell::new(Vec::new());
    let note = |round| {
        let mut all = rounds.take();
        all.push(round);
        rounds.set(all);
    };
    for _ in 0..2 {
        let stopped = stage.land_with("t@1", &branch, |round| {
            note(round);
            Err(LandingStop::GivenUp)
        });
        assert!(matches!(stopped, Err(LandingStop::GivenUp)));
    }
    commit(&stage.repo, "c", "meanwhile\n");
    // A person went elsewhere meanwhile: it lands where it was to.
    run(&stage.repo, &["switch", "--quiet", "-c", "elsewhere"]);
    let told = stage.land_with("t@1", &branch, |round| {
        note(round);
        Ok(None)
    });
    assert!(matches!(told.unwrap(), LandingResult::Landed(what) if what.contains("is on `main` now")));
    assert_eq!(rounds.take(), [0, 0, 1]);
}

#[test]
fn a_branch_without_commits_brings_nothing_back_and_is_put_away() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    let told = LandingResult::NothingToLand;
    for _ in 0..2 {
        assert_eq!(stage.land_with("t@1", &branch, |_| panic!("nothing to check")).unwrap(), told);
    }
    assert!(!Path::new(&workspace).exists() && !stage.has_branch(&branch));
}

#[test]
fn uncommitted_changes_are_the_agents_to_commit_with_and_without_commits() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    for text in ["one\n", "two\n"] {
        fs::write(Path::new(&workspace).join("new\u{1b}file"), "x").unwrap();
        let why = refusal(stage.land("t@1", &branch));
        let said = format!("the agent left uncommitted changes in {workspace}: new\u{fffd}file; ");
        assert!(why.starts_with(&said) && why.ends_with(KEPT), "{why}");
        commit(&workspace, "b", text);
    }
    assert!(Path::new(&workspace).join("new\u{1b}file").exists());
}

#[test]
fn what_stands_in_the_way_is_named_and_nothing_is_lost() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    let work = commit(&workspace, "a", "ours\n");
    let refused = |what: &str| {
        let main = stage.main();
        let told = stage.land_with("t@1", &branch, |_| Ok(Some("test: exit code 1\noops".into()))).unwrap();
        let why = refusal(told);
        assert!(why.contains(what) && why.contains(&branch) && why.contains(KEPT), "{why}");
        assert_eq!(stage.main(), main);
    };
    refused("the checks are red");
    refused("test: exit code 1\noops");
    fs::write(stage.repo.join("a"), "by hand\n").unwrap();
    let why = hindrance(stage.land("t@1", &branch));
    assert!(why.contains("has changes of its own") && why.contains(": a; "), "{why}");
    commit(&stage.repo, "a", "theirs\n");
    let told = stage.land_with("t@1", &branch, |_| panic!("nothing to check")).unwrap();
    let LandingResult::Conflict { files, commit, why } = told else { panic!("{told:?}") };
    assert_eq!((files, commit), (vec!["a".to_owned()], Some(work.clone())));
    assert!(why.contains("is in conflict with `main` in a") && why.ends_with(KEPT), "{why}");
    run(Path::new(&workspace), &["checkout", "--quiet", "--detach"]);
    refused("is no longer on branch");
    run(Path::new(&workspace), &["switch", "--quiet", &branch]);
    assert_eq!(run(Path::new(&workspace), &["rev-parse", "HEAD"]), work);
    run(Path::new(&workspace), &["branch", "--move", "renamed"]);
    let why = refusal(stage.land("t@1", &branch));
    assert!(why.contains("its commits are on branch `renamed`") && !why.contains(KEPT), "{why}");
}

#[test]
fn what_git_says_about_the_checkout_is_a_persons_to_put_right() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&workspace, "b", "work\n");
    let lock = stage.repo.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let why = hindrance(stage.land("t@1", &branch));
    assert!(why.contains("index.lock") && why.ends_with(KEPT) && !why.contains("Some("), "{why}");
    assert!(lock.exists(), "nobody but its owner takes it away");
    fs::remove_file(&lock).unwrap();
    assert!(matches!(stage.land("t@1", &branch), LandingResult::Landed(_)));
}

#[test]
fn what_is_not_there_any_more_is_said() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    let work = commit(&workspace, "b", "work\n");
    run(&stage.repo, &["worktree", "remove", &workspace]);
    let why = refusal(stage.land("t@1", &branch));
    assert!(why.contains("has no worktree any more"), "{why}");
    assert_eq!(run(&stage.repo, &["rev-parse", &branch]), work);
    run(&stage.repo, &["checkout", "--quiet", "--detach"]);
    let why = hindrance(stage.land("t@2", &branch));
    assert!(why.contains("HEAD is detached") && why.ends_with(KEPT), "{why}");
}

#[test]
fn a_worktree_that_its_agent_cut_off_is_the_agents_to_do_better() {
    let stage = Stage::new();
    let (folder, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&folder, "b", "two\n");
    fs::remove_file(Path::new(&folder).join(".git")).unwrap();
    let why = refusal(stage.land("t@1", &branch));
    assert!(why.contains("/.git was removed") && why.contains("is kept with all its commits"), "{why}");
    assert!(stage.has_branch(&branch));
}

#[test]
fn what_was_committed_elsewhere_is_named_where_it_is() {
    for (args, at) in [
        (["switch", "--create", "mine"], "on branch `mine`, at "),
        (["switch", "--quiet", "--detach"], "in /"),
    ] {
        let stage = Stage::new();
        let (folder, branch) = stage.make("t@1", "1", 1).unwrap();
        run(Path::new(&folder), &args);
        let commit = commit(&folder, "b", "two\n");
        let why = refusal(stage.land("t@1", &branch));
        let short = commit.get(..12).unwrap();
        assert!(
            why.contains(&format!("The commits of the worktree are {at}")) && why.contains(short),
            "{why}"
        );
        assert!(!why.contains("all its commits"), "{why}");
        let notes = stage.notes("t@1");
        let course =
            LandingJob { repo: &stage.repo, notes: &notes, branch: &branch, target: None, tasks: None };
        let why = keep_out(&course, "red".to_owned());
        assert!(why.contains(&format!("The commits of the worktree are {at}")), "{why}");
        assert!(Path::new(&folder).is_dir());
    }
}

#[test]
fn several_land_one_at_a_time_and_one_that_nobody_wants_any_more_stops_waiting() {
    let stage = Stage::new();
    let branches = ["1", "2", "3"].map(|task| {
        let (workspace, branch) = stage.make(&format!("t@{task}"), task, 1).unwrap();
        commit(&workspace, &format!("by-{task}"), "work\n");
        branch
    });
    let [first, second, third] = &branches;
    let (begun, has_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let stage = &stage;
        let one = scope.spawn(move || {
            stage.land_with("t@1", first, |_| {
                begun.send(()).unwrap();
                may_go.recv().unwrap();
                Ok(None)
            })
        });
        has_begun.recv().unwrap();
        let two = scope.spawn(|| stage.land("t@2", second));
        let looks = Cell::new(0);
        let is_given_up = || looks.replace(looks.get() + 1) > 0;
        let course = LandingJob {
            repo: &stage.repo,
            notes: &stage.notes("t@3"),
            branch: third,
            target: None,
            tasks: None,
        };
        let given_up = bring_back(&course, is_given_up, |_| panic!("it is not its turn"));
        assert!(matches!(given_up, Err(LandingStop::GivenUp)));
        go.send(()).unwrap();
        assert!(matches!(one.join().unwrap().unwrap(), LandingResult::Landed(_)));
        assert!(matches!(two.join().unwrap(), LandingResult::Landed(_)));
    });
    assert!(matches!(stage.land("t@3", third), LandingResult::Landed(_)));
    assert_eq!(run(&stage.repo, &["ls-files"]), "a\nby-1\nby-2\nby-3");
}

#[test]
fn a_worktree_in_conflict_is_renewed_and_lands_once_its_agent_has_committed() {
    let stage = Stage::new();
    let (workspace, branch) = stage.make("t@1", "1", 1).unwrap();
    commit(&workspace, "a", "ours\n");
    commit(&stage.repo, "a", "theirs\n");
    assert!(matches!(stage.land("t@1", &branch), LandingResult::Conflict { .. }));
    let renew = |node: &str, branch: &str| {
        renew_at(&stage.repo, &stage.dir, &effect(node, Verb::Worktree), branch, Some("main".to_owned()))
    };
    let Ok(WorktreeEnd::Renewed { commit: since, files }) = renew("t@2", &branch) else {
        panic!("it is renewed")
    };
    assert_eq!(files, ["a"]);
    let open = OpenConflict { files, since };
    assert!(is_unresolved(&workspace, &open), "nothing is committed yet");
    assert!(matches!(renew("t@2", &branch), Ok(WorktreeEnd::Renewed { commit, .. }) if commit == open.since));
    git::git(Path::new(&workspace), &["reset", "--quiet", "--hard", "main"]).unwrap();
    assert!(is_unresolved(&workspace, &open), "an older commit resolves nothing");
    git::git(Path::new(&workspace), &["reset", "--quiet", "--hard", &open.since]).unwrap();
    commit(&workspace, "a", "theirs\nours\n");
    assert!(!is_unresolved(&workspace, &open));
    assert!(matches!(stage.land("t@2", &branch), LandingResult::Landed(_)));
    assert_eq!(fs::read_to_string(stage.repo.join("a")).unwrap(), "theirs\nours\n");
    let Err(WorktreeFailure::Why(why)) = renew("t@3", &branch) else { panic!("it is gone") };
    assert!(why.ends_with("has no worktree any more"), "{why}");
}
