//! Tests for owning runs, for requests to an owner, and for creating and finding runs.

mod common;

use common::*;
use windlass_core::id::InboxId;
use windlass_store::{Append, AppendError, CreateError, InboxError, LeaseError, PutResult, RunMatch, Store};

#[test]
fn a_second_owner_is_refused_and_told_who_has_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    assert!(store.is_owned(&run("a")));
    let refused = Store::open(dir.path()).unwrap().acquire(&run("a"));
    assert!(matches!(refused, Err(LeaseError::Held { pid: Some(pid), .. }) if pid == std::process::id()));
    drop(lease);
    assert!(!store.is_owned(&run("a")));
}

#[test]
fn a_new_owner_fences_off_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let first = store.create_run(new_run("a")).unwrap();
    let late = step("a", 1, &first, b"late");
    drop(first);
    let second = store.acquire(&run("a")).unwrap();
    assert_eq!(second.epoch(), 2);
    let refused = store.append_blocking(late);
    assert!(matches!(refused, Err(AppendError::Fenced { epoch: 1, current: 2, .. })));
    store.append_blocking(step("a", 1, &second, b"2")).unwrap();
    assert_eq!(store.load(&run("a")).unwrap().epoch, 2);
}

#[test]
#[ignore = "played by another process"]
fn play_owns_a_run_until_killed() {
    let Some(dir) = play_dir() else { return };
    let store = Store::open(&dir).unwrap();
    let _lease = store.acquire(&run("a")).unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn the_death_of_an_owner_frees_its_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    drop(store.create_run(new_run("a")).unwrap());
    let mut owner = another_process("play_owns_a_run_until_killed", dir.path());
    wait_until("the other process owns the run", || store.load(&run("a")).unwrap().epoch == 2);
    assert!(store.is_owned(&run("a")));
    let refused = store.acquire(&run("a"));
    assert!(matches!(refused, Err(LeaseError::Held { pid: Some(pid), .. }) if pid == owner.id()));

    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(!store.is_owned(&run("a")));
    assert_eq!(store.acquire(&run("a")).unwrap().epoch(), 3);
}

#[test]
fn whoever_only_looks_does_not_keep_an_owner_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    drop(store.create_run(new_run("a")).unwrap());
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| (0..2000).filter(|_| store.is_owned(&run("a"))).count());
        for _ in 0..20 {
            store.acquire(&run("a")).unwrap();
        }
        looks.join().unwrap();
    });
}

#[test]
fn acquiring_an_unknown_run_leaves_no_folder_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(matches!(store.acquire(&run("typo")), Err(LeaseError::UnknownRun { .. })));
    assert!(!store.is_owned(&run("typo")));
    assert!(!store.run_dir(&run("typo")).exists());
}

#[test]
fn a_name_is_given_once_and_must_be_plain() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    assert!(matches!(store.create_run(new_run("a")), Err(CreateError::Exists { .. })));
    drop(lease);
    assert!(matches!(store.create_run(new_run("a")), Err(CreateError::Exists { .. })));
    assert!(matches!(store.create_run(new_run("../a")), Err(CreateError::BadName { .. })));
    assert_eq!(store.runs().unwrap().len(), 1);
}

#[test]
fn a_run_is_found_by_a_unique_beginning_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for id in ["work-1", "work-12", "loop%"] {
        let _ = store.create_run(new_run(id));
    }
    let id_of = |found| match found {
        RunMatch::One(row) => row.id.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(id_of(store.find("work-12").unwrap()), "work-12");
    assert_eq!(id_of(store.find("work-1").unwrap()), "work-1");
    assert_eq!(store.find("%").unwrap(), RunMatch::None);
    let RunMatch::Many(rows) = store.find("wor").unwrap() else { panic!("two match") };
    let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["work-12", "work-1"], "newest first");
}

#[test]
fn a_request_sent_twice_waits_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let _lease = store.create_run(new_run("a")).unwrap();
    let elsewhere = Store::open(dir.path()).unwrap();
    let put = |id: &str, body: &[u8]| elsewhere.put(&run("a"), &InboxId::new(id), body).unwrap();
    assert_eq!(put("z", b"answer"), PutResult::Fresh);
    assert_eq!(put("b", b"cancel"), PutResult::Fresh);
    assert_eq!(put("z", b"another body"), PutResult::Known);
    let waiting = store.pending(&run("a")).unwrap();
    let seen: Vec<_> = waiting.iter().map(|r| (r.id.as_str(), r.body.as_slice())).collect();
    assert_eq!(seen, [("z", b"answer".as_slice()), ("b", b"cancel".as_slice())]);
    let unknown = store.put(&run("b"), &InboxId::new("x"), b"");
    assert!(matches!(unknown, Err(InboxError::UnknownRun { .. })));
}

#[test]
fn a_request_is_taken_together_with_the_append_that_answers_it_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let id = InboxId::new("answer-1");
    store.put(&run("a"), &id, b"yes").unwrap();
    let taking = |seq| Append { taken: vec![id.clone()], ..step("a", seq, &lease, b"answered") };

    assert!(matches!(store.append_blocking(taking(7)), Err(AppendError::Stale { .. })));
    assert_eq!(store.pending(&run("a")).unwrap().len(), 1);
    store.append_blocking(taking(1)).unwrap();
    assert_eq!(store.pending(&run("a")).unwrap(), []);

    let again = store.append_blocking(taking(2));
    assert!(matches!(again, Err(AppendError::NotPending { .. })));
    assert_eq!(bodies(&store, "a").len(), 2, "nothing of the refused append is kept");
    assert_eq!(store.put(&run("a"), &id, b"yes").unwrap(), PutResult::Known);
    assert_eq!(store.pending(&run("a")).unwrap(), []);
}
