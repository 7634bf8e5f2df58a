//! A run that waits for a person hardly wakes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_testkit::procs;
use windlass_testkit::wait::until;

use crate::place::{LIMIT, Place};

const RUNS: usize = 20;
const WATCHED: Duration = Duration::from_secs(3);
/// The wake-ups of a run in that time. One that looks around twice a second has more than thirty.
const MOST: u64 = 6;
/// The longer a run waits, the rarer it looks around.
const SETTLED: Duration = Duration::from_secs(60);

#[test]
fn twenty_runs_that_wait_in_the_background_hardly_wake() {
    let place = Place::with_settings("");
    let ask = json!({"ask": {"question": "Which?", "options": ["Red", "Blue"]}});
    place.script(json!({"default": {"steps": [ask]}}));
    for _ in 0..RUNS {
        let started = place.go(&["loop", "work", "--detach", "--on-question", "wait", "--beside"]);
        assert_eq!(started.code, 0, "{started}");
    }
    let waiting = || place.go(&["ps"]).stdout.matches(" waiting ").count();
    until(LIMIT, || waiting() == RUNS);
    let (processes, deadline) = (ours(&place), Instant::now() + SETTLED);
    // Owner, guard, host and hook of each.
    assert!(processes.len() >= 4 * RUNS, "{processes:?}");
    loop {
        let before = wakes(&processes);
        std::thread::sleep(WATCHED);
        let woke = wakes(&processes) - before;
        if woke <= MOST * RUNS as u64 {
            return;
        }
        assert!(Instant::now() < deadline, "{RUNS} runs woke {woke} times in {WATCHED:?}");
    }
}

/// Returns the processes of all runs but the agents.
fn ours(place: &Place) -> Vec<i32> {
    let root = place.sealed.root().display().to_string();
    let is_host = |command: &str| command.contains("windlass host ") || command.contains("windlass keep ");
    let hosts = procs::all().into_iter().filter(|p| p.command.contains(&root) && is_host(&p.command));
    let others = place.sealed.processes().into_iter().filter(|p| !p.command.contains("windlass sim "));
    hosts.chain(others.filter(|p| !is_host(&p.command))).map(|p| p.pid).collect()
}

/// Counts how often the first threads of the processes were woken. Idle helper threads end by themselves.
fn wakes(processes: &[i32]) -> u64 {
    let count = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        count.trim().parse::<u64>().unwrap()
    };
    processes.iter().map(count).sum()
}
