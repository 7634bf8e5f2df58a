//! Two parallel tasks are in conflict, and Windlass dies at every point from there on: while it notices the
//! conflict, renews the worktree, has it resolved and lands the task. Both tasks land once, no turn is done twice,
//! and the conflict costs no try.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

use crate::deaths::{Death, step, sweep};
use crate::kill_sweep::{half_written, run_of};
use crate::place::{LIMIT, Place};
use crate::tasks::{self, in_file, outside, turn};

/// The results of a run, for comparison.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    ended: [Value; 3],
    commits: Vec<String>,
    /// The turns that were done, one line each.
    side: Vec<String>,
    asked: usize,
    text: String,
    tasks: Vec<String>,
    settled: Vec<String>,
    conflicts: Vec<Value>,
    worktrees: usize,
    branches: String,
    status: String,
}

fn left(place: &Place, run: &str) -> Left {
    let told = place.go(&["logs", run, "--json"]);
    let end = told.all("run.finished").pop().unwrap_or_else(|| panic!("{told}"));
    let log = place.sealed.git(["log", "--first-parent", "--format=%s", "main"]);
    let conflict = |data: &&Value| json!(["task", "files", "next", "time"].map(|key| data[key].clone()));
    Left {
        ended: ["status", "reason", "iterations"].map(|key| end[key].clone()),
        commits: log.lines().map(str::to_owned).collect(),
        side: {
            // The first two are done at the same time.
            let mut side = tasks::lines(&outside(place, "side"));
            side.sort();
            side
        },
        asked: place.requests().len(),
        text: fs::read_to_string(place.repo().join("README.md")).unwrap(),
        tasks: in_file(place),
        settled: tasks::ended(&told),
        conflicts: told.all("task.conflict").iter().map(conflict).collect(),
        worktrees: place.sealed.git(["worktree", "list", "--porcelain"]).matches("worktree ").count(),
        branches: place.sealed.git(["branch", "--format=%(refname:short)"]),
        status: place.sealed.git(["status", "--porcelain", "--untracked-files=all"]),
    }
}

/// A place with two tasks that change the same line. The second waits for the file `go`.
fn place() -> Place {
    let place = tasks::place(tasks::tasks(2), json!([]));
    let edit = |text: &str, more: &[Value]| {
        let side = outside(&place, "side");
        let steps = [
            json!({"bash": format!("echo {text} >> {}", side.display())}),
            json!({"write": {"path": "README.md", "content": format!("{text}\n")}}),
            json!({"commit": text}),
        ];
        turn(&[&steps, more].concat())
    };
    let held = [tasks::touch(&place, "held"), tasks::wait_for(&place, "go")];
    place.script(json!({"nodes": {"implement": [edit("one", &[]), edit("two", &held), edit("both", &[])]}}));
    place
}

/// Plays the run: the first owner lands the first task and is killed, the second one meets the conflict and dies
/// where asked. Returns what is left, and whether the second one died.
fn play(death: Option<Death>) -> Result<(Left, bool), String> {
    let place = place();
    let first = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    let is_settled = || first.lines().iter().any(|line| line["type"] == "task.settled");
    until(LIMIT, || outside(&place, "held").exists() && is_settled());
    first.signal(Signal::KILL);
    first.end();
    let run = run_of(&place).ok_or("there is no run")?;
    let mut command = place.windlass(&["resume", &run, "--json"]);
    if let Some(death) = death {
        death.strikes(&place, &mut command);
    }
    let second = place.spawn(command);
    fs::write(outside(&place, "go"), "").unwrap();
    let second = second.end();
    let has_died = second.code < 0;
    let mut said = second.to_string();
    if has_died {
        let third = place.go(&["resume", &run, "--json"]);
        said.push_str(&format!("\n--- again\n{third}"));
        if third.code != 0 && !third.stderr.contains("already over") {
            return Err(format!("it does not complete: {said}"));
        }
    } else if second.code != 0 {
        return Err(format!("it does not complete: {said}"));
    }
    let found = left(&place, &run);
    let half = half_written(&place);
    if !half.is_empty() {
        return Err(format!("half written: {half:?}: {said}"));
    }
    place.assert_nothing_is_left();
    Ok((found, has_died))
}

fn sweep_all(name: &str, death: impl Fn(u64) -> Death + Sync, usual: u64) {
    let (expected, _) = play(None).unwrap();
    assert_eq!(expected.side, ["both", "one", "two"], "{expected:#?}");
    assert_eq!((expected.conflicts.len(), expected.text.as_str()), (1, "both\n"), "{expected:#?}");
    let points = sweep(death, step(usual), |death| {
        let (found, has_died) = play(Some(death))?;
        match found == expected {
            true => Ok(has_died),
            false => Err(format!("expected {expected:#?}, found {found:#?}")),
        }
    });
    println!("sweep: conflict, {name}: {points} points");
    assert!(points > 5, "{points} points");
}

#[test]
fn windlass_may_die_at_any_point_of_a_conflict() {
    sweep_all("crash points", Death::Point, 1);
}

#[test]
fn windlass_may_die_before_a_call_of_git_in_a_conflict() {
    sweep_all("before git", Death::BeforeGit, 14);
}

#[test]
fn windlass_may_die_after_a_call_of_git_in_a_conflict() {
    sweep_all("after git", Death::AfterGit, 8);
}
