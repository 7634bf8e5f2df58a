//! Windlass dies at every point of a run, and before and after each call of git that saves a snapshot. After it
//! is resumed, the run has the same snapshots with the same files, each once.

#![allow(clippy::print_stdout, reason = "says how many points there were")]

use std::collections::BTreeMap;

use serde_json::Value;

use crate::deaths::{Death, step, sweep};
use crate::kill_sweep::{finished, half_written, run_of};
use crate::place::Place;
use crate::undo::{files, place};

/// The results of a run, for comparison.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    ended: [Value; 3],
    /// Each snapshot with its tree.
    snapshots: Vec<(String, String)>,
    /// The files that each turn changed.
    changes: Vec<String>,
    files: BTreeMap<String, (Vec<u8>, bool)>,
    status: String,
    requests: usize,
}

fn left(place: &Place, run: &str) -> Left {
    let end = finished(place, run);
    let shown = place.go(&["show", run, "--json"]);
    let kept = shown.all("run")[0]["snapshots"].as_array().unwrap_or_else(|| panic!("{shown}")).clone();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
    let tree = |one: &Value| {
        let (name, reference) = (text(&one["name"]), text(&one["ref"]));
        assert_eq!(place.sealed.git(["rev-parse", &reference]), text(&one["commit"]), "{name}");
        (name, place.sealed.git(["rev-parse", &format!("{reference}^{{tree}}")]))
    };
    let changes = ["1", "2", ".."].map(|turn| place.go(&["diff", run, turn, "--stat"]).stdout);
    Left {
        ended: ["status", "reason", "iterations"].map(|key| end[key].clone()),
        snapshots: kept.iter().map(tree).collect(),
        changes: changes.to_vec(),
        files: files(&place.repo()),
        status: place.sealed.git(["status", "--porcelain", "--untracked-files=all"]),
        requests: place.requests().len(),
    }
}

/// Plays the run with deaths in it, one in each process. Returns what is left, and whether the last one happened.
fn play(deaths: &[Death]) -> Result<(Left, bool), String> {
    let place = place();
    let (mut said, mut has_died) = (String::new(), false);
    for death in deaths.iter().copied().map(Some).chain([None]) {
        let run = run_of(&place);
        let arguments = match &run {
            Some(run) => ["resume", run, "--json"],
            // It died before there was a run: nothing was begun.
            None => ["loop", "work", "--json"],
        };
        let mut command = place.windlass(&arguments);
        if let Some(death) = death {
            death.strikes(&place, &mut command);
        }
        let ran = place.spawn(command).end();
        said.push_str(&format!("--- {death:?}\n{ran}\n"));
        if ran.code > 0 && !ran.stderr.contains("already over") {
            return Err(format!("it does not complete: {said}"));
        }
        if death.is_some() {
            has_died = ran.code < 0;
        }
        if ran.code >= 0 {
            break;
        }
    }
    let run = run_of(&place).ok_or("there is no run")?;
    let found = left(&place, &run);
    let half = half_written(&place);
    if !half.is_empty() {
        return Err(format!("half written: {half:?}"));
    }
    place.assert_nothing_is_left();
    Ok((found, has_died))
}

fn sweep_all(name: &str, death: impl Fn(u64) -> Death + Sync, usual: u64) {
    let (expected, _) = play(&[]).unwrap();
    assert_eq!(expected.snapshots.len(), 5, "{expected:#?}");
    let points = sweep(death, step(usual), |death| {
        let (found, has_died) = play(&[death])?;
        match found == expected {
            true => Ok(has_died),
            false => Err(format!("expected {expected:#?}, found {found:#?}")),
        }
    });
    println!("sweep: snapshots, {name}: {points} points");
    assert!(points > 5, "{points} points");
}

#[test]
fn windlass_may_die_at_any_point_and_every_turn_has_its_snapshot() {
    sweep_all("crash points", Death::Point, 1);
}

#[test]
fn windlass_may_die_before_any_call_of_git_and_every_turn_has_its_snapshot() {
    sweep_all("before git", Death::BeforeGit, 2);
}

#[test]
fn windlass_may_die_after_any_call_of_git_and_every_turn_has_its_snapshot() {
    sweep_all("after git", Death::AfterGit, 1);
}

/// The first process dies when the run is recorded and nothing is saved yet.
#[test]
fn windlass_may_die_twice_before_the_first_turn_and_the_run_has_its_first_snapshot() {
    let (expected, _) = play(&[]).unwrap();
    for point in 1..=8 {
        let (found, has_died) = play(&[Death::Point(2), Death::Point(point)]).unwrap();
        assert!(has_died && found == expected, "point {point}: expected {expected:#?}, found {found:#?}");
    }
}
