//! Tests for the lines and the end that a reader of a watched child receives.

use super::*;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::Write;

const EXIT: &str = r#"{"v":1,"code":0,"signal":null,"ended_by":null}"#;

fn running(dir: &Path) -> File {
    std::fs::write(dir.join(files::STARTED), "").unwrap();
    let lock = File::create(dir.join(files::LOCK)).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
    lock
}

fn write_exit(dir: &Path) {
    std::fs::write(dir.join("exit.json.tmp"), EXIT).unwrap();
    std::fs::rename(dir.join("exit.json.tmp"), dir.join(files::EXIT)).unwrap();
}

async fn next(from: &mut Receiver<TailEvent>) -> TailEvent {
    tokio::time::timeout(Duration::from_secs(20), from.recv()).await.unwrap().unwrap()
}

fn lines(text: &str, offset: u64) -> TailEvent {
    TailEvent::Lines(Chunk { bytes: text.into(), offset, skipped: 0 })
}

#[test]
fn only_very_many_speaking_children_are_read_less_often() {
    let waits = [0, 1, 64, 96, 200, 100_000].map(|speaking| read_every(speaking).as_millis());
    assert_eq!(waits, [20, 20, 20, 30, 60, 60]);
}

#[tokio::test]
async fn lines_come_as_they_are_written_and_the_rest_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let _lock = running(dir.path());
    let watcher = Watcher::start().unwrap();
    let mut events = watcher.watch(dir.path(), 0, None);
    let mut out = File::create(dir.path().join(files::STDOUT)).unwrap();
    out.write_all(b"one\ntw").unwrap();
    assert_eq!(next(&mut events).await, lines("one\n", 4));
    out.write_all(b"o\nhalf").unwrap();
    assert_eq!(next(&mut events).await, lines("two\n", 8));
    write_exit(dir.path());
    assert_eq!(next(&mut events).await, lines("half", 12));
    assert!(matches!(next(&mut events).await, TailEvent::Ended(ChildState::Ended(_))));
    assert_eq!(events.recv().await, None);
}

#[tokio::test]
async fn a_host_that_dies_without_a_word_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let lock = running(dir.path());
    std::fs::write(dir.path().join(files::STDOUT), "one\nhalf").unwrap();
    let watcher = Watcher::start().unwrap();
    let mut events = watcher.watch(dir.path(), 0, None);
    assert_eq!(next(&mut events).await, lines("one\n", 4));
    drop(lock);
    assert_eq!(next(&mut events).await, TailEvent::Ended(ChildState::Lost));
}

#[tokio::test]
async fn a_host_that_never_came_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher::start().unwrap();
    let mut events = watcher.watch(dir.path(), 0, None);
    assert_eq!(next(&mut events).await, TailEvent::Ended(ChildState::NotStarted));
}

#[tokio::test]
async fn a_slow_reader_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let _lock = running(dir.path());
    let text: String = (0..300_000).map(|n| format!("{n}\n")).collect();
    std::fs::write(dir.path().join(files::STDOUT), &text).unwrap();
    write_exit(dir.path());
    let watcher = Watcher::start().unwrap();
    let mut events = watcher.watch(dir.path(), 0, None);
    let mut read = Vec::new();
    while let TailEvent::Lines(chunk) = next(&mut events).await {
        read.extend_from_slice(&chunk.bytes);
        tokio::task::yield_now().await;
    }
    assert_eq!(read.len(), text.len());
    assert_eq!(read, text.as_bytes());
}
