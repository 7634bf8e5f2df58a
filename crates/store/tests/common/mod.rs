//! Helpers for the tests of the store: a store in a new folder, a run in it, and a plain connection that
//! plays another program.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses its part")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use windlass_core::id::RunId;
use windlass_store::{Append, Durability, Lease, NewRun, Projection, Store};

pub fn run(id: &str) -> RunId {
    RunId::new(id)
}

pub fn new_run(id: &str) -> NewRun {
    NewRun { id: run(id), projection: Projection::default(), bodies: vec![b"first".to_vec()], spending: None }
}

/// An append of one record by the owner of `lease`.
pub fn step(id: &str, expected_seq: u64, lease: &Lease, body: &[u8]) -> Append {
    Append {
        run: run(id),
        expected_seq,
        epoch: lease.epoch(),
        bodies: vec![body.to_vec()],
        durability: Durability::Normal,
        taken: Vec::new(),
        projection: None,
        snapshot: None,
        spending: None,
    }
}

/// The whole log of a run.
pub fn bodies(store: &Store, id: &str) -> Vec<Vec<u8>> {
    store.read_from(&run(id), 1, usize::MAX).unwrap().into_iter().map(|record| record.body).collect()
}

#[expect(clippy::disallowed_methods, reason = "plays another program")]
pub fn raw(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// Starts this test program again to run the ignored test `play` in another process.
#[expect(clippy::disallowed_methods, reason = "plays another process")]
pub fn another_process(play: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", play, "--ignored", "--nocapture"])
        .env("STORE_TEST_DIR", dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The folder given to a play.
pub fn play_dir() -> Option<std::path::PathBuf> {
    std::env::var_os("STORE_TEST_DIR").map(Into::into)
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The commits in the write-ahead log: its frames that name the size of the database.
pub fn commits(dir: &Path) -> usize {
    let wal = std::fs::read(dir.join("windlass.db-wal")).unwrap();
    let word = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().unwrap());
    let frame = 24 + word(8) as usize;
    let salt = word(16);
    (32..wal.len()).step_by(frame).filter(|at| word(at + 8) == salt && word(at + 4) != 0).count()
}
