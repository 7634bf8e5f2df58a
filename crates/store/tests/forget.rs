//! Deleting a run takes everything of it, and nothing of the others.

mod common;

use common::*;
use windlass_core::id::InboxId;
use windlass_store::{Append, ForgetError, ReadError, Store};

fn numbers(store: &Store) -> Vec<(String, u64)> {
    let rows = store.runs().unwrap_or_default();
    rows.into_iter().map(|row| (row.id.to_string(), row.number)).collect()
}

#[test]
fn a_run_that_was_deleted_leaves_no_row_and_the_others_are_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for id in ["a", "b", "c"] {
        let lease = store.create_run(new_run(id)).unwrap();
        let append = Append { snapshot: Some(b"state".to_vec()), ..step(id, 1, &lease, b"second") };
        store.append_blocking(append).unwrap();
        store.put(&run(id), &InboxId::new("x"), b"ask").unwrap();
    }
    let others = || ["a", "c"].map(|id| (bodies(&store, id), store.load(&run(id)).unwrap()));
    let before = others();
    let lock = store.folders().lock(&run("b")).unwrap();
    store.forget(&run("b"), &lock).unwrap();
    let again = store.forget(&run("b"), &lock);
    assert!(matches!(again, Err(ForgetError::UnknownRun { .. })), "{again:?}");
    assert_eq!(others(), before);
    assert_eq!(numbers(&store), [("c".to_owned(), 3), ("a".to_owned(), 1)]);
    assert!(matches!(store.load(&run("b")), Err(ReadError::UnknownRun { .. })));
    assert_eq!(store.unknown(vec![run("a"), run("b")]).unwrap(), [run("b")]);
    drop(store);
    let db = raw(&dir.path().join("windlass.db"));
    for table in ["event WHERE pos >> 32 = 2", "snapshot WHERE run_no = 2", "inbox WHERE run_no = 2"] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}");
    }
}

#[test]
fn no_run_gets_the_number_of_a_run_that_was_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for id in ["a", "b"] {
        drop(store.create_run(new_run(id)).unwrap());
    }
    for id in ["a", "b"] {
        let lock = store.folders().lock(&run(id)).unwrap();
        store.forget(&run(id), &lock).unwrap();
    }
    assert!(store.is_empty().unwrap() && store.check().is_ok());
    drop(store.create_run(new_run("c")).unwrap());
    drop(store.create_run(new_run("b")).unwrap());
    assert_eq!(numbers(&store), [("b".to_owned(), 4), ("c".to_owned(), 3)]);
    assert_eq!(store.runs_after(2, 9).unwrap().len(), 2, "a cursor after `b` sees both");
}
