//! Tests for what all runs spent on one day: counted once, across processes and crashes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it stands")]

mod common;

use std::collections::BTreeMap;

use common::*;
use windlass_core::run::DaySpent;
use windlass_store::{Append, AppendError, SpendingChange, Store};

const DAY: &str = "2026-11-19";
const MOST: u64 = 20;

fn turns(turns: u64) -> BTreeMap<String, DaySpent> {
    BTreeMap::from([(
        "sim".to_owned(),
        DaySpent { turns, tokens: 2 * turns, cost_usd: 0.0, time_ms: 3 * turns },
    )])
}

fn change(based_on: Option<BTreeMap<String, DaySpent>>) -> Option<SpendingChange> {
    Some(SpendingChange { day: DAY.to_owned(), added: turns(1), based_on })
}

/// Spends until the day has no turn left, and returns how many this run took.
fn spend_all(store: &Store, id: &str) -> u64 {
    let lease = store.create_run(new_run(id)).unwrap();
    let mut taken = 0;
    loop {
        let today = store.spent_on(DAY).unwrap();
        if today.get("sim").is_some_and(|spent| spent.turns >= MOST) {
            return taken;
        }
        let append = step(id, taken + 1, &lease, b"turn");
        match store.append_blocking(Append { spending: change(Some(today)), ..append }) {
            Ok(_) => taken += 1,
            Err(AppendError::SpendingChanged { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
#[ignore = "played by another process"]
fn play_spends_until_nothing_is_left() {
    let Some(dir) = play_dir() else { return };
    spend_all(&Store::open(&dir).unwrap(), "other");
}

#[test]
fn two_processes_never_spend_more_than_the_day_allows() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut other = another_process("play_spends_until_nothing_is_left", dir.path());
    let other_run = run("other");
    wait_until("the other process has a run", || store.row(&other_run).unwrap().is_some());
    let taken = spend_all(&store, "own");
    assert!(other.wait().unwrap().success());
    let by_other = store.load(&other_run).unwrap().last_seq() - 1;
    assert_eq!(taken + by_other, MOST);
    assert_eq!(store.spent_on(DAY).unwrap(), turns(MOST));
}

#[test]
fn a_refused_commit_spends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let spending = |seq, based_on| Append { spending: change(based_on), ..step("a", seq, &lease, b"x") };
    store.append_blocking(spending(1, Some(BTreeMap::new()))).unwrap();
    let changed = store.append_blocking(spending(2, Some(BTreeMap::new())));
    assert!(matches!(changed, Err(AppendError::SpendingChanged { .. })), "{changed:?}");
    assert!(matches!(store.append_blocking(spending(1, None)), Err(AppendError::Stale { .. })));
    assert_eq!((store.load(&run("a")).unwrap().last_seq(), store.spent_on(DAY).unwrap()), (2, turns(1)));
    assert_eq!(store.spent_on("2026-11-20").unwrap(), BTreeMap::new());
}

#[test]
#[ignore = "played by another process"]
fn play_reserves_a_turn_and_waits() {
    let Some(dir) = play_dir() else { return };
    let store = Store::open(&dir).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    store.append_blocking(Append { spending: change(None), ..step("a", 1, &lease, b"turn") }).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_turn_that_a_dead_process_started_stays_counted_and_counts_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let mut owner = another_process("play_reserves_a_turn_and_waits", dir.path());
    wait_until("the other process started a turn", || !store.spent_on(DAY).unwrap().is_empty());
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(store.spent_on(DAY).unwrap(), turns(1));
    let lease = store.acquire(&run("a")).unwrap();
    store.append_blocking(step("a", 2, &lease, b"the turn ended")).unwrap();
    assert_eq!(store.spent_on(DAY).unwrap(), turns(1));
}
