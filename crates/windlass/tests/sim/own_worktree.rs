//! A run in a worktree of its own (`--worktree`), on the `sim` driver.

use std::fs;
use std::path::PathBuf;

use crate::place::{Place, Ran, done, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

fn wrote_and_committed() -> Value {
    json!([{"steps": [
        {"write": {"path": "made.txt", "content": "x\n"}},
        {"commit": "made"},
        done(),
        say("Committed.")
    ]}])
}

fn only_read() -> Value {
    json!([{"steps": [{"tracker": {"append": "- found nothing wrong"}}, done(), say("Looked.")]}])
}

fn worktrees(place: &Place) -> usize {
    place.sealed.git(["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
}

fn branches(place: &Place) -> String {
    place.sealed.git(["branch", "--format=%(refname:short)"])
}

fn clean(place: &Place) {
    assert_eq!(place.sealed.git(["status", "--porcelain"]), "");
}

#[track_caller]
fn worktree(ran: &Ran) -> Value {
    let told = ran.all("run.worktree");
    assert_eq!(told.len(), 1, "{ran}");
    told[0].clone()
}

#[test]
fn the_work_is_on_a_branch_of_its_own_and_the_folder_stays_as_it_is() {
    let place = Place::playing(wrote_and_committed());
    let ran = place.go(&["loop", "make it", "--worktree", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let (run, own) = (ran.run(), worktree(&ran));
    assert_eq!(own["branch"], json!(format!("windlass/{run}")));
    assert_eq!((&own["commits"], &own["uncommitted"], &own["exists"]), (&json!(1), &json!([]), &json!(true)));
    clean(&place);
    assert!(!place.repo().join("made.txt").exists() && !place.repo().join(".windlass/runs").exists());
    let path = PathBuf::from(own["path"].as_str().unwrap());
    assert!(path.join("made.txt").exists() && path.starts_with(place.sealed.state()), "{path:?}");
    let diff = place.sealed.git(["diff", "--name-only", &format!("main...windlass/{run}")]);
    assert_eq!(diff, "made.txt");
    let shown = place.go(&["show", run]);
    for word in [&format!("git diff main...windlass/{run}"), &format!("git merge windlass/{run}"), "1 commit"]
    {
        assert!(shown.stdout.contains(word), "{word}: {shown}");
    }
    assert_eq!(place.go(&["show", run, "--json"]).lines[0]["data"]["worktree"]["commits"], 1);
    assert_eq!(place.go(&["ps", "--json", "--here"]).lines.len(), 1, "it was started here");
}

#[test]
fn a_worktree_without_changes_is_removed_with_its_branch_and_the_notes_are_kept() {
    let place = Place::playing(only_read());
    let ran = place.go(&["loop", "look at it", "--worktree", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    let own = worktree(&ran);
    assert_eq!((&own["exists"], &own["branch_exists"]), (&json!(false), &json!(false)), "{ran}");
    assert_eq!((worktrees(&place), branches(&place).as_str()), (0, "main"));
    let shown = place.go(&["show", ran.run(), "--json"]).lines[0]["data"].clone();
    assert_eq!(shown.get("missing_folder"), None, "{shown}");
    let notes = fs::read_to_string(shown["tracker"].as_str().unwrap()).unwrap();
    assert!(notes.contains("found nothing wrong"), "{notes}");
    let told = place.go(&["loop", "look at it", "--worktree"]);
    assert!(told.stdout.contains("are removed: they had no changes"), "{told}");
    assert!(told.stdout.contains("  no files changed\n"), "{told}");
}

#[test]
fn uncommitted_work_is_kept_and_told() {
    let write = json!({"write": {"path": "made.txt", "content": "x"}});
    let place = Place::playing(json!([{"steps": [write, done(), say("Done.")]}]));
    let ran = place.go(&["loop", "make it", "--worktree"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("1 uncommitted file") && !ran.stdout.contains("git diff"), "{ran}");
    // The commands that it prints put the work on the branch.
    let command = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("commit them: ")).unwrap();
    let mut shell = place.sealed.command("sh");
    let command = command.trim().strip_suffix(')').unwrap();
    let commit = shell.args(["-c", &format!("{command} -qm made)")]);
    assert!(commit.current_dir(place.repo()).status().unwrap().success(), "{ran}");
    let branch = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("then merge them: git merge "));
    place.sealed.git(["merge", "-q", branch.unwrap().trim()]);
    assert_eq!(place.file("made.txt"), "x");
    assert_eq!(worktrees(&place), 1);
}

#[test]
fn a_named_branch_is_made_or_used_and_one_in_use_is_refused() {
    let place = Place::playing(wrote_and_committed());
    place.sealed.git(["branch", "old"]);
    for (name, count) in [("fresh", 1), ("old", 2)] {
        let flag = format!("--worktree={name}");
        let ran = place.go(&["loop", "make it", &flag, "--json"]);
        assert_eq!((ran.code, &worktree(&ran)["branch"]), (0, &json!(name)), "{ran}");
        assert_eq!(worktrees(&place), count);
    }
    let refuse = |flag: &str, words: &[&str]| place.go(&["loop", "x", flag]).assert_refused(2, words);
    refuse("--worktree=main", &["`main` is already checked out at"]);
    refuse("--worktree=old", &["`old` is already checked out at"]);
    refuse("--worktree=a..b", &["`a..b` is not a valid branch name"]);
    place.go(&["run", "--worktree", "fresh", "make it"]).assert_refused(2, &["--worktree=BRANCH"]);
    assert_eq!(place.ps().len(), 2);
}

#[test]
fn an_existing_branch_without_changes_stays() {
    let place = Place::playing(only_read());
    place.sealed.git(["branch", "old"]);
    let ran = place.go(&["loop", "look", "--worktree=old"]);
    assert!(ran.stdout.contains("branch old is as it was"), "{ran}");
    assert_eq!((worktrees(&place), branches(&place).as_str()), (0, "main\nold"));
}

#[test]
fn a_dry_run_says_what_would_be_made_and_makes_nothing() {
    let place = Place::playing(only_read());
    fs::write(place.repo().join("new.txt"), "x").unwrap();
    let ran = place.go(&["loop", "look", "--worktree", "--dry-run"]);
    assert!(ran.stdout.contains("on the new branch windlass/RUN from main"), "{ran}");
    assert!(ran.stderr.contains("lacks what is not committed: 1 file (new.txt)"), "{ran}");
    let object = place.go(&["loop", "look", "--worktree=b", "--dry-run", "--json"]);
    assert_eq!(object.lines[0]["data"]["worktree"]["branch"], "b");
    assert_eq!((worktrees(&place), branches(&place).as_str()), (0, "main"));
}

#[test]
fn outside_a_repository_it_is_refused() {
    let place = Place::playing(only_read());
    let folder = place.sealed.root().join("plain");
    fs::create_dir(&folder).unwrap();
    let mut command = place.windlass(&["loop", "look", "--worktree"]);
    command.current_dir(&folder);
    place.spawn(command).end().assert_refused(2, &["--worktree needs a git repository"]);
    fs::remove_dir_all(place.repo().join(".git")).unwrap();
    place.sealed.git(["init", "--quiet"]);
    place.go(&["loop", "look", "--worktree"]).assert_refused(2, &["needs a commit to start from"]);
}

#[test]
fn a_run_in_a_folder_below_the_top_works_in_the_same_folder_of_the_worktree() {
    let place = Place::playing(json!([{"steps": [{"bash": "pwd > where"}, done(), say("Done.")]}]));
    place.sealed.write("repo/sub/kept.txt", "x");
    place.sealed.git(["add", "."]);
    place.sealed.git(["commit", "--quiet", "-m", "sub"]);
    let mut command = place.windlass(&["loop", "x", "--worktree", "--json"]);
    command.current_dir(place.repo().join("sub"));
    let ran = place.spawn(command).end();
    let own = worktree(&ran);
    assert_eq!(own["uncommitted"], json!(["sub/where"]), "{ran}");
}

#[test]
fn an_interrupted_run_keeps_its_worktree_and_continues_there() {
    let place = Place::playing(json!([{"steps": [{"bash": "touch begun"}, {"wait_for": "never"}]}]));
    let mut going = place.start(&["loop", "x", "--worktree", "--json"]);
    let run = going.run();
    let started = going.wait_for("run.started");
    let begun = PathBuf::from(started["workspace"].as_str().unwrap()).join("begun");
    until(crate::place::LIMIT, || begun.exists());
    place.script(json!({"turns": [{"steps": [done(), say("Done.")]}]}));
    going.signal(Signal::INT);
    let ran = going.end();
    assert_eq!(ran.finished()["status"], "interrupted", "{ran}");
    assert_eq!(worktrees(&place), 1);
    let resumed = place.go(&["resume", &run, "--json"]);
    assert_eq!((resumed.code, &worktree(&resumed)["uncommitted"]), (0, &json!(["begun"])), "{resumed}");
}

#[test]
fn a_run_killed_before_it_is_recorded_leaves_nothing_that_is_listed() {
    let place = Place::playing(only_read());
    let mut command = place.windlass(&["loop", "look", "--worktree", "--json"]);
    command.env("WINDLASS_CRASH_AT", "windlass:1");
    assert_ne!(place.spawn(command).end().code, 0);
    assert_eq!(worktrees(&place), 1, "it was made before the record");
    let listed = place.go(&["ps"]);
    assert!(listed.stderr.contains("no runs") && !listed.stderr.contains("not in the log"), "{listed}");
    let ran = place.go(&["loop", "look", "--worktree", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
}
