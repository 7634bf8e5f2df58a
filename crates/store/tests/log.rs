//! The log: what was appended is read back, and what must not be appended is refused alone.

mod common;

use std::time::{Duration, Instant};

use common::*;
use windlass_core::id::RunId;
use windlass_core::usage::Cost;
use windlass_store::{
    Append, AppendError, Cadence, Durability, Lease, Projection, ReadError, RunRow, Store, StoredRecord,
};

#[test]
fn what_was_appended_is_read_back_in_order_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let mut said = vec![b"first".to_vec()];
    for n in 1_u64..200 {
        let body = vec![(n % 251) as u8; (n as usize * 37) % 5000];
        said.push(body.clone());
        assert_eq!(store.append_blocking(step("a", n, &lease, &body)).unwrap(), n + 1);
    }
    drop(store);

    let store = Store::open(dir.path()).unwrap();
    assert_eq!(bodies(&store, "a"), said);
    let loaded = store.load(&run("a")).unwrap();
    assert_eq!((loaded.last_seq(), loaded.epoch, loaded.snapshot), (200, 1, None));
    let part: Vec<u64> = store.read_from(&run("a"), 5, 3).unwrap().iter().map(|r| r.seq).collect();
    assert_eq!(part, [5, 6, 7]);
}

#[test]
fn several_records_of_one_append_get_consecutive_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let both = Append { bodies: vec![b"x".to_vec(), b"y".to_vec()], ..step("a", 1, &lease, b"") };
    assert_eq!(store.append_blocking(both).unwrap(), 3);
    assert_eq!(bodies(&store, "a"), [b"first".to_vec(), b"x".to_vec(), b"y".to_vec()]);
}

#[test]
fn loading_gives_the_last_snapshot_and_only_what_came_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let with_snapshot =
        |seq, state: &[u8]| Append { snapshot: Some(state.to_vec()), ..step("a", seq, &lease, b"step") };
    store.append_blocking(with_snapshot(1, b"state at 2")).unwrap();
    store.append_blocking(step("a", 2, &lease, b"3")).unwrap();
    store.append_blocking(with_snapshot(3, b"state at 4")).unwrap();
    store.append_blocking(step("a", 4, &lease, b"5")).unwrap();

    let loaded = store.load(&run("a")).unwrap();
    assert_eq!(loaded.snapshot, Some(StoredRecord { seq: 4, body: b"state at 4".to_vec() }));
    assert_eq!(loaded.tail, [StoredRecord { seq: 5, body: b"5".to_vec() }]);
    assert_eq!(loaded.last_seq(), 5);
    let mut expected = Cadence::new();
    expected.wrote(1);
    assert_eq!(Cadence::of(&loaded), expected);
}

#[test]
fn a_damaged_record_or_snapshot_is_named_and_the_rest_is_still_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let text = b"{\"type\":\"hook_asked\",\"tool\":\"Bash\"},".repeat(25);
    store.append_blocking(step("a", 1, &lease, &text)).unwrap();
    store.append_blocking(step("a", 2, &lease, &text)).unwrap();
    let db = raw(&dir.path().join("windlass.db"));
    let stored = "SELECT length(body) FROM event WHERE pos = 1 << 32 | 2";
    let stored: u32 = db.query_row(stored, [], |row| row.get(0)).unwrap();
    assert!(stored < text.len() as u32 / 2, "{stored} bytes are stored for {}", text.len());
    assert_eq!(bodies(&store, "a"), [b"first".to_vec(), text.clone(), text.clone()]);

    for wrong in ["x'FFFFFFFF00'", "x'00'", "x''", "substr(body, 1, 40)", "'text'"] {
        let whole: Vec<u8> =
            db.query_row("SELECT body FROM event WHERE pos = 1 << 32 | 2", [], |row| row.get(0)).unwrap();
        db.execute_batch(&format!("UPDATE event SET body = {wrong} WHERE pos = 1 << 32 | 2")).unwrap();
        let refused = store.load(&run("a")).unwrap_err().to_string();
        assert!(refused.contains("damaged: record 2 of run `a` "), "{wrong}: {refused}");
        assert_eq!(store.read_from(&run("a"), 3, 1).unwrap(), [StoredRecord { seq: 3, body: text.clone() }]);
        db.execute("UPDATE event SET body = ?1 WHERE pos = 1 << 32 | 2", [whole]).unwrap();
    }

    let with_state = Append { snapshot: Some(text.clone()), ..step("a", 3, &lease, b"4") };
    store.append_blocking(with_state).unwrap();
    assert_eq!(store.load(&run("a")).unwrap().snapshot, Some(StoredRecord { seq: 4, body: text }));
    db.execute_batch("UPDATE snapshot SET packed = 7").unwrap();
    let refused = store.load(&run("a")).unwrap_err().to_string();
    assert!(refused.contains("the snapshot of run `a` is packed in a way"), "{refused}");
}

#[test]
fn runs_do_not_see_each_others_records() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let a = store.create_run(new_run("a")).unwrap();
    let b = store.create_run(new_run("b")).unwrap();
    store.append_blocking(step("a", 1, &a, b"of a")).unwrap();
    store.append_blocking(step("b", 1, &b, b"of b")).unwrap();
    assert_eq!(bodies(&store, "a"), [b"first".to_vec(), b"of a".to_vec()]);
    assert_eq!(bodies(&store, "b"), [b"first".to_vec(), b"of b".to_vec()]);
}

#[test]
fn a_sequence_behind_or_ahead_of_the_log_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    for wrong in [0, 2, 7] {
        let refused = store.append_blocking(step("a", wrong, &lease, b"x")).unwrap_err();
        assert!(matches!(refused, AppendError::Stale { expected, found: 1, .. } if expected == wrong));
    }
    assert_eq!(bodies(&store, "a").len(), 1);
}

#[test]
fn an_unknown_run_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let refused = store.append_blocking(step("b", 0, &lease, b"x"));
    assert!(matches!(refused, Err(AppendError::UnknownRun { run }) if run.as_str() == "b"));
    assert!(matches!(store.load(&run("b")), Err(ReadError::UnknownRun { .. })));
}

#[tokio::test]
async fn stale_and_fenced_appends_fail_alone_in_a_shared_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let good = store.create_run(new_run("good")).unwrap();
    let stale = store.create_run(new_run("stale")).unwrap();
    let fenced = store.create_run(new_run("fenced")).unwrap();
    let before = commits(dir.path());

    // While another program writes, the first append waits and the others gather behind it.
    let blocker = raw(&dir.path().join("windlass.db"));
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waits = store.append(step("good", 1, &good, b"2"));
    let gathered = (
        store.append(step("stale", 0, &stale, b"x")),
        store.append(step("good", 2, &good, b"3")),
        store.append(Append { epoch: 9, ..step("fenced", 1, &fenced, b"x") }),
        store.append(Append { bodies: vec![b"4".to_vec(); 2], ..step("good", 3, &good, b"") }),
    );
    blocker.execute_batch("COMMIT").unwrap();

    assert_eq!(waits.await.unwrap(), 2);
    assert!(matches!(gathered.0.await, Err(AppendError::Stale { expected: 0, found: 1, .. })));
    assert_eq!(gathered.1.await.unwrap(), 3);
    assert!(matches!(gathered.2.await, Err(AppendError::Fenced { epoch: 9, current: 1, .. })));
    assert_eq!(gathered.3.await.unwrap(), 5);
    assert_eq!(bodies(&store, "stale").len(), 1);
    assert_eq!(bodies(&store, "fenced").len(), 1);
    assert!(commits(dir.path()) - before <= 2, "the gathered appends share a commit");
}

#[tokio::test]
async fn eight_runs_that_write_at_once_share_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ids: Vec<String> = (0..8).map(|n| format!("run-{n}")).collect();
    let leases: Vec<_> = ids.iter().map(|id| store.create_run(new_run(id)).unwrap()).collect();
    let before = commits(dir.path());

    let blocker = raw(&dir.path().join("windlass.db"));
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let full = |(id, lease)| Append { durability: Durability::Full, ..step(id, 1, lease, b"2") };
    let writes: Vec<_> =
        ids.iter().map(String::as_str).zip(&leases).map(|of| store.append(full(of))).collect();
    blocker.execute_batch("COMMIT").unwrap();

    for write in writes {
        assert_eq!(write.await.unwrap(), 2);
    }
    assert!(commits(dir.path()) - before <= 2, "at most the first one is committed alone");
}

#[test]
fn threads_that_write_to_runs_of_their_own_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let store = store.clone();
            scope.spawn(move || {
                let id = format!("run-{n}");
                let lease = store.create_run(new_run(&id)).unwrap();
                for seq in 1..50 {
                    store.append_blocking(step(&id, seq, &lease, &[n; 100])).unwrap();
                }
            });
        }
    });
    for n in 0..8_u8 {
        let said = bodies(&store, &format!("run-{n}"));
        assert_eq!(said.len(), 50);
        assert!(said[1..].iter().all(|body| *body == [n; 100]));
    }
}

#[test]
fn two_stores_on_one_database_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let owner = Store::open(dir.path()).unwrap();
    let reader = Store::open(dir.path()).unwrap();
    let lease = owner.create_run(new_run("a")).unwrap();
    let before = reader.data_version().unwrap();
    assert_eq!(reader.data_version().unwrap(), before);
    owner.append_blocking(step("a", 1, &lease, b"2")).unwrap();
    assert_ne!(reader.data_version().unwrap(), before);
    assert_eq!(bodies(&reader, "a").len(), 2);

    let first = reader.create_run(new_run("b")).unwrap();
    reader.append_blocking(step("b", 1, &first, b"2")).unwrap();
    drop((first, reader));
    let second = owner.acquire(&run("b")).unwrap();
    owner.append_blocking(step("b", 2, &second, b"3")).unwrap();
    assert_eq!(bodies(&owner, "b").len(), 3);
}

#[test]
#[ignore = "played by another process"]
fn play_writes_a_hundred_steps() {
    let Some(dir) = play_dir() else { return };
    let store = Store::open(&dir).unwrap();
    let id = format!("run-of-{}", std::process::id());
    let lease = store.create_run(new_run(&id)).unwrap();
    for seq in 1..100 {
        store.append_blocking(step(&id, seq, &lease, b"step")).unwrap();
    }
}

#[test]
fn two_processes_write_to_one_database_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut children = [(); 2].map(|()| another_process("play_writes_a_hundred_steps", dir.path()));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let store = Store::open(dir.path()).unwrap();
    let rows = store.runs().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert_eq!(bodies(&store, row.id.as_str()).len(), 100);
    }
}

#[test]
fn the_list_changes_only_when_an_append_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    store.append_blocking(step("a", 1, &lease, b"2")).unwrap();
    assert_eq!(store.runs().unwrap()[0].projection, Projection::default());

    let shown = Projection {
        workflow: "e2e".into(),
        workspace: "/w".into(),
        driver: "sim".into(),
        status: "completed".into(),
        reason: Some("marker".into()),
        iteration: 3,
        cost: Cost { usd: Some(0.25), is_computed: true, is_partial: true },
        started_ms: 1,
        updated_ms: 2,
        input: "login flow".into(),
        parent: Some(RunId::new("outer")),
    };
    let last = Append { projection: Some(shown.clone()), ..step("a", 2, &lease, b"3") };
    store.append_blocking(last).unwrap();
    assert_eq!(store.runs().unwrap()[0].projection, shown);
}

/// More calls in place than a task has turns before it must yield.
#[tokio::test]
async fn a_task_may_wait_in_place_as_often_as_it_likes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(common::new_run("a")).unwrap();
    for n in 1..400 {
        assert_eq!(store.append_blocking(step("a", n, &lease, b"x")).unwrap(), n + 1);
    }
}

/// Only another task of the same thread can end what the append waits for.
#[tokio::test]
async fn a_task_that_waits_for_another_program_lets_the_other_tasks_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let blocker = raw(&dir.path().join("windlass.db"));
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = std::time::Instant::now();

    let append = tokio::spawn(store.append(step("a", 1, &lease, b"2")));
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(!append.is_finished());
    }
    blocker.execute_batch("COMMIT").unwrap();

    assert_eq!(append.await.unwrap().unwrap(), 2);
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", start.elapsed());
}

#[test]
fn what_was_asked_is_written_though_nobody_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    drop(store.append(step("a", 1, &lease, b"2")));
    // At once, or on a thread of its own where the disk is slow.
    let begun = Instant::now();
    while bodies(&store, "a").len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is never written");
    }
}

#[tokio::test]
async fn tasks_that_write_again_and_again_share_every_commit() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ids: Vec<String> = (0..8).map(|n| format!("run-{n}")).collect();
    let leases: Vec<_> = ids.iter().map(|id| store.create_run(new_run(id)).unwrap()).collect();
    let before = commits(dir.path());
    let tasks: Vec<_> = ids
        .into_iter()
        .zip(leases)
        .map(|(id, lease)| {
            let store = store.clone();
            tokio::spawn(async move {
                for seq in 1..=10 {
                    store.append(step(&id, seq, &lease, b"x")).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let made = commits(dir.path()) - before;
    assert!(made < 40, "80 appends of eight runs took {made} commits");
}

#[test]
fn a_run_can_be_shown_otherwise_by_its_owner_alone_and_its_log_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(store.is_empty().unwrap());
    let old = store.create_run(new_run("a")).unwrap();
    assert!(!store.is_empty().unwrap());
    assert_eq!(store.unknown(vec![run("a"), run("b")]).unwrap(), [run("b")]);
    let ended = || Projection { status: "cancelled".to_owned(), ..Projection::default() };
    assert_eq!(store.folders().owner(&run("a")), Some(std::process::id()));
    drop(store);
    let (epoch_of_old, store) = (old.epoch(), Store::open(dir.path()).unwrap());
    drop(old);
    assert_eq!(store.folders().owner(&run("a")), None);
    let new = store.acquire(&run("a")).unwrap();
    assert!(new.epoch() > epoch_of_old);
    store.list_as(&run("a"), &new, ended()).unwrap();
    assert_eq!(store.runs().unwrap()[0].projection, ended());
    assert_eq!(bodies(&store, "a"), [b"first".to_vec()]);
    drop(new);
    let newest = store.acquire(&run("a")).unwrap();
    store.list_as(&run("a"), &newest, Projection::default()).unwrap();
}

#[test]
fn the_list_is_read_in_pieces_from_either_end() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let _leases: Vec<Lease> = ["a", "b", "c"].map(|id| store.create_run(new_run(id)).unwrap()).into();
    let ids = |rows: Vec<RunRow>| rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
    let newest = store.runs_before(u64::MAX, 2).unwrap();
    let last = newest[1].number;
    assert_eq!(ids(newest), ["c", "b"]);
    assert_eq!(ids(store.runs_before(last, 2).unwrap()), ["a"]);
    assert_eq!(ids(store.runs_after(last, 2).unwrap()), ["c"]);
    assert_eq!(ids(store.runs_after(0, 2).unwrap()), ["a", "b"]);
}
