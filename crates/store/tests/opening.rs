//! Opening: what is made, migrated or refused, and that what is refused stays as it was.

#![allow(clippy::unwrap_used, reason = "a test stops where it stands")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use common::*;
use windlass_store::{AppendError, OpenError, Store, StoreError};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A database as the first schema left it, with one run of one record.
fn make_version_1(dir: &Path) {
    let db = raw(&dir.join("windlass.db"));
    db.execute_batch(include_str!("../migrations/0001_log.sql")).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA application_id = 0x776E646C;
         PRAGMA user_version = 1;
         INSERT INTO run VALUES (1, 'old', 'e2e', '/w', 'sim', 'running', NULL, 2, 0.5, 10, 20);
         INSERT INTO event VALUES ((1 << 32) | 1, x'6f6c64');
         INSERT INTO lease VALUES (1, 'pid 1', 4);",
    )
    .unwrap();
}

#[test]
fn a_new_store_is_for_its_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("deep/windlass");
    let store = Store::open(&state).unwrap();
    let _lease = store.create_run(new_run("a")).unwrap();
    assert_eq!(mode(&state), 0o700);
    for file in ["windlass.db", "windlass.db-wal", "windlass.db-shm", "windlass.db.lock", "runs/a/owner.lock"]
    {
        assert_eq!(mode(&state.join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&state.join("runs/a")), 0o700);
    let no_copies =
        fs::read_dir(&state).unwrap().flatten().all(|f| f.path().extension() != Some("bak".as_ref()));
    assert!(no_copies, "an empty database is not copied");
}

#[test]
fn many_threads_may_open_a_new_store_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let dir = dir.path();
            scope.spawn(move || {
                let store = Store::open(dir).unwrap();
                drop(store.create_run(new_run(&format!("run-{n}"))).unwrap());
            });
        }
    });
    assert_eq!(Store::open(dir.path()).unwrap().runs().unwrap().len(), 6);
}

#[test]
fn an_older_database_is_copied_and_migrated_with_everything_in_it() {
    let dir = tempfile::tempdir().unwrap();
    make_version_1(dir.path());
    let store = Store::open(dir.path()).unwrap();
    let row = store.runs().unwrap().remove(0);
    assert_eq!((row.id.as_str(), row.projection.iteration, row.projection.input.as_str()), ("old", 2, ""));
    assert_eq!(bodies(&store, "old"), [b"old".to_vec()]);
    let lease = store.acquire(&row.id).unwrap();
    assert_eq!(lease.epoch(), 5);
    store.append_blocking(step("old", 1, &lease, b"new")).unwrap();

    let copy = dir.path().join("windlass.db.v1.bak");
    assert_eq!(mode(&copy), 0o600);
    let copy = raw(&copy);
    let version: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let events: u32 = copy.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!((version, events), (1, 1));
}

#[test]
fn an_older_copy_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    make_version_1(dir.path());
    let copy = dir.path().join("windlass.db.v1.bak");
    fs::write(&copy, "mine").unwrap();
    Store::open(dir.path()).unwrap();
    assert_eq!(fs::read(&copy).unwrap(), b"mine");
    assert!(dir.path().join("windlass.db.v1.2.bak").exists());
}

#[test]
#[ignore = "played by another process"]
fn play_has_the_database_in_use_until_killed() {
    let Some(dir) = play_dir() else { return };
    let _store = Store::open(&dir).unwrap();
    fs::write(dir.join("ready"), "").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_migration_is_refused_while_others_run_and_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = another_process("play_has_the_database_in_use_until_killed", dir.path());
    wait_until("the other process has opened", || dir.path().join("ready").exists());
    // The other process stands for an older build: to it, version 1 is current.
    raw(&dir.path().join("windlass.db")).pragma_update(None, "user_version", 1).unwrap();

    let refused = Store::open(dir.path()).unwrap_err();
    let named = matches!(&refused, OpenError::InUse { known: 6, pids, .. } if *pids == [other.id()]);
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(named, "{refused:?}");
    assert!(refused.to_string().contains(&format!("process {}", other.id())));
    assert!(!dir.path().join("windlass.db.v1.bak").exists());
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let db = dir.path().join("windlass.db");
    raw(&db).pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&db).unwrap();
    let refused = Store::open(dir.path()).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, known: 6, .. }));
    assert!(refused.to_string().contains("use a newer windlass"), "{refused}");
    assert_eq!(fs::read(&db).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("windlass.db");
    let garbage = b"This is not a database, it only stands where one should. ".repeat(100);
    fs::write(&db, &garbage).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(OpenError::Corrupt { .. })));
    assert_eq!(fs::read(&db).unwrap(), garbage);
}

#[test]
fn a_damaged_first_page_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    drop(store.create_run(new_run("a")).unwrap());
    drop(store);
    let db = dir.path().join("windlass.db");
    let mut bytes = fs::read(&db).unwrap();
    bytes[100..600].fill(0xAB);
    fs::write(&db, &bytes).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(OpenError::Corrupt { .. })));
    assert_eq!(fs::read(&db).unwrap(), bytes);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("windlass.db");
    raw(&db).execute_batch("CREATE TABLE recipes (name)").unwrap();
    let before = fs::read(&db).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(OpenError::Corrupt { .. })));
    assert_eq!(fs::read(&db).unwrap(), before);
}

#[test]
fn a_folder_that_cannot_be_made_or_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = Store::open(&file.join("windlass")).unwrap_err();
    assert!(matches!(&refused, OpenError::Unwritable { .. }), "{refused:?}");

    let closed = dir.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(closed.join("probe"), "").is_ok() {
        println!("skipped the closed folder: this user may write anywhere");
        return;
    }
    assert!(matches!(Store::open(&closed), Err(OpenError::Unwritable { .. })));
}

/// A file system of 512 KB, if this user may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "mounting needs a program")]
    fn mount() -> Option<SmallDisk> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=512k", "windlass-test"]).arg(dir.path());
        mount.stderr(std::process::Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(SmallDisk(dir))
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "unmounting needs a program")]
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_fills_up_refuses_the_append_and_keeps_what_was_there() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: this user may not mount a small disk");
        return;
    };
    let dir = disk.0.path();
    let store = Store::open(dir).unwrap();
    let lease = store.create_run(new_run("a")).unwrap();
    let mut last = 1;
    let refused = loop {
        match store.append_blocking(step("a", last, &lease, &[7; 4096])) {
            Ok(seq) => last = seq,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, AppendError::Store(StoreError::DiskFull)), "{refused:?}");
    assert_eq!(bodies(&store, "a").len() as u64, last);

    // A new state folder on the same full disk is refused with the reason too.
    fs::write(dir.join("filler"), vec![0; 512 * 1024]).ok();
    let refused = Store::open(&dir.join("other"));
    assert!(matches!(refused, Err(OpenError::DiskFull { .. })), "{refused:?}");
    fs::remove_file(dir.join("filler")).unwrap();
    drop((lease, store));
}
