//! Watches many children with one task. The system's notices wake the task, which then reads the dirty
//! files, at most every 20 ms.
//!
//! The first notice after a pause is read at once, so that a person waits for nothing. After that, a wake-up
//! costs more than a read, so reading all dirty files together keeps the cost low. When more
//! than 64 files have new data in each round, the reads and hand-overs per line dominate. The interval
//! then grows with the number of files, up to 60 ms, so that each read finds several lines. Hooks do not
//! use this path and never wait for it.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use windlass_core::launch::files;

use super::{Chunk, Tail};
use crate::child::{ChildState, child_state};
use crate::os::{FolderNotices, WantedNotices};
use crate::process::{HostStart, end_adopted, reap};

const READ_EVERY: Duration = Duration::from_millis(20);
/// The longest interval between reads, when very many files have new data.
const READ_AT_LEAST_EVERY: Duration = Duration::from_millis(60);
/// The number of files with new data that are still read at the shortest interval.
const BUSY_FILES: u32 = 64;
/// The interval for checking locks: the notice that a host closed its lock comes before the lock is free.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The longest interval, after a long time without a notice. It repairs a lost notice.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(15);
/// The interval for checking the lock of a host that just started.
const LOOK_EVERY_AT_START: Duration = Duration::from_millis(50);
/// Chunks that a receiver may lag behind before its file is paused.
const LAG: usize = 8;

/// An event of a watched child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailEvent {
    /// The child wrote lines.
    Lines(Chunk),
    /// The last event: the child is over. With `Ended`, every byte was delivered. With `Lost`, a last
    /// line without a newline was not: sweep first, then continue from the offset with a [`Tail`]. With
    /// `NotStarted`, the host is gone and never started the child.
    Ended(ChildState),
}

/// A watcher of children's folders. One per process is enough. Dropping it stops it.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<WatcherShared>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct WatcherShared {
    arrived: Mutex<Vec<WatchedFolder>>,
    bell: Notify,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    /// Starts watching, on the current tokio runtime.
    pub fn start() -> io::Result<Watcher> {
        let notices = FolderNotices::start()?;
        let shared = Arc::new(WatcherShared::default());
        let task =
            WatchTask { shared: Arc::clone(&shared), notices, entries: HashMap::new(), buffer: Vec::new() };
        Ok(Watcher { shared, task: tokio::spawn(task.run()) })
    }

    /// Reads a child's standard output from an offset on. `host` is the value from [`crate::process`] if
    /// this process started the host. Watching a folder again replaces the previous watch.
    pub fn watch(&self, dir: &Path, offset: u64, host: Option<HostStart>) -> Receiver<TailEvent> {
        let (sender, receiver) = channel(LAG);
        let entry = WatchedFolder {
            dir: dir.to_owned(),
            tail: Tail::new(&dir.join(files::STDOUT), offset),
            sender,
            host,
            is_dirty: true,
            look: true,
            ended: None,
            seen_running: false,
            not_started_before: false,
        };
        self.shared.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
        self.shared.bell.notify_one();
        receiver
    }
}

/// Waits until notices arrive. The descriptor is registered with the runtime only while waiting;
/// otherwise every single event would wake the runtime.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor of another kind")]
async fn heard(notices: BorrowedFd<'_>) {
    // SAFETY: the descriptor is borrowed for longer than the `AsyncFd` lives, so it stays open and
    // unchanged until the `AsyncFd` is dropped.
    let waiting = unsafe { AsyncFd::register_with_interest(notices, Interest::READABLE) };
    match waiting {
        // An error counts as an event: the next read then finds nothing.
        Ok(waiting) => drop(waiting.readable().await),
        // The regular checks must suffice.
        Err(_) => std::future::pending().await,
    }
}

#[derive(Debug)]
struct WatchedFolder {
    dir: PathBuf,
    tail: Tail,
    sender: Sender<TailEvent>,
    host: Option<HostStart>,
    /// Set when the system reported a change.
    is_dirty: bool,
    /// Set when the folder's state must be checked.
    look: bool,
    /// The final state. Unread bytes are delivered first.
    ended: Option<ChildState>,
    seen_running: bool,
    not_started_before: bool,
}

struct WatchTask {
    shared: Arc<WatcherShared>,
    notices: FolderNotices,
    entries: HashMap<i32, WatchedFolder>,
    buffer: Vec<u8>,
}

impl WatchTask {
    async fn run(mut self) {
        let (mut next_look, mut pause) = (Instant::now(), LOOK_EVERY);
        let mut next_read = Instant::now();
        loop {
            if !self.is_behind() {
                self.sleep_until(next_look).await;
            }
            // One round then reads everything written in the meantime.
            if next_read > Instant::now() {
                tokio::time::sleep_until(next_read.into()).await;
            }
            let was_quiet = !self.drain_notices() & !self.admit();
            if Instant::now() >= next_look {
                self.look_at_all();
                pause = LOOK_AT_LEAST_EVERY.min(pause * 2);
                next_look = Instant::now() + pause;
            }
            let speaking = self.serve();
            next_read = Instant::now() + read_every(speaking);
            if !was_quiet || !self.has_all_notices() {
                pause = LOOK_EVERY;
            }
            next_look = next_look.min(Instant::now() + self.look_every(pause));
        }
    }

    /// Sleeps until a notice arrives or the next check is due.
    async fn sleep_until(&self, next_look: Instant) {
        tokio::select! {
            () = heard(self.notices.as_fd()) => {}
            () = self.shared.bell.notified() => {}
            () = tokio::time::sleep_until(next_look.into()), if !self.entries.is_empty() => {}
        }
    }

    /// Decides whether a receiver had no room for pending data.
    fn is_behind(&self) -> bool {
        self.entries.values().any(|entry| entry.is_dirty || entry.ended.is_some())
    }

    /// Decides whether the system sends notices about every folder.
    fn has_all_notices(&self) -> bool {
        self.entries.keys().all(|key| *key > 0)
    }

    fn look_every(&self, pause: Duration) -> Duration {
        match self.entries.values().all(|entry| entry.seen_running) {
            true => pause,
            false => LOOK_EVERY_AT_START,
        }
    }

    fn look_at_all(&mut self) {
        reap();
        end_adopted();
        for entry in self.entries.values_mut() {
            entry.look = true;
            // Costs one read and repairs a lost notice.
            entry.is_dirty = true;
        }
    }

    /// Marks the folders that the notices name. Returns false if there were none.
    fn drain_notices(&mut self) -> bool {
        let WatchTask { entries, notices, .. } = self;
        let mut heard = false;
        notices.each(|notice| {
            heard = true;
            let Some(entry) = entries.get_mut(&notice.folder) else { return };
            let name = notice.name.unwrap_or_default();
            // The host's lock file is closed when the host dies.
            if name == files::EXIT.as_bytes() || name == files::LOCK.as_bytes() {
                entry.look = true;
            }
            entry.is_dirty = true;
        });
        heard
    }

    /// Adds the newly requested watches. Returns false if there were none.
    fn admit(&mut self) -> bool {
        let arrived =
            std::mem::take(&mut *self.shared.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        let any = !arrived.is_empty();
        for entry in arrived {
            let watch = self.notices.follow(&entry.dir, WantedNotices::Growth);
            // If the system sends no notices (limits, no folder), the regular checks must suffice.
            let key = watch.unwrap_or_else(|_| self.free_key());
            self.entries.insert(key, entry);
        }
        any
    }

    /// Returns a key for a folder without a kernel watch. Kernel watches count from 1, so these keys are
    /// negative.
    fn free_key(&self) -> i32 {
        self.entries.keys().copied().min().unwrap_or(0).min(0) - 1
    }

    /// Delivers pending data and returns the number of files that had any.
    fn serve(&mut self) -> u32 {
        let WatchTask { entries, buffer, notices, .. } = self;
        let mut speaking = 0;
        entries.retain(|key, entry| {
            let before = entry.tail.read_to;
            let stays = entry.serve(buffer);
            speaking += u32::from(entry.tail.read_to > before);
            if !stays && *key > 0 {
                notices.forget(*key);
            }
            stays
        });
        speaking
    }
}

/// Returns the interval between reads, given the number of files that had new data in the last round.
fn read_every(speaking: u32) -> Duration {
    (READ_EVERY * speaking / BUSY_FILES).clamp(READ_EVERY, READ_AT_LEAST_EVERY)
}

impl WatchedFolder {
    /// Delivers pending data. Returns false when the watch is over.
    fn serve(&mut self, buffer: &mut Vec<u8>) -> bool {
        if self.sender.is_closed() {
            return false;
        }
        // The state is checked before reading, so that everything written before the end is still read.
        if std::mem::take(&mut self.look) && self.ended.is_none() {
            self.ended = self.find_end();
            self.is_dirty |= self.ended.is_some();
        }
        if self.is_dirty && !self.read(buffer) {
            return true;
        }
        self.is_dirty = false;
        let Some(state) = self.ended.clone() else { return true };
        self.finish(state)
    }

    /// Reads up to the current end of the file. Returns false if the receiver must catch up first.
    fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        loop {
            // A long line gets the whole channel, because several of them would take much memory.
            let room = if self.tail.has_long_line() { LAG } else { 1 };
            let Ok(mut permits) = self.sender.try_reserve_many(room) else { return false };
            // An unreadable file delivers nothing more.
            let Ok(chunk) = self.tail.next_lines(buffer) else { return true };
            if let (Some(chunk), Some(permit)) = (chunk, permits.next()) {
                permit.send(TailEvent::Lines(chunk));
            }
            if self.tail.is_at_end() {
                return true;
            }
        }
    }

    fn finish(&mut self, state: ChildState) -> bool {
        if matches!(state, ChildState::Ended(_)) && self.sender.capacity() < 2 {
            return true;
        }
        if matches!(state, ChildState::Ended(_))
            && let Some(rest) = self.tail.rest()
        {
            // There is room: checked above, and this is the only sender.
            let _ = self.sender.try_send(TailEvent::Lines(rest));
        }
        self.sender.try_send(TailEvent::Ended(state)).is_err() && !self.sender.is_closed()
    }

    fn find_end(&mut self) -> Option<ChildState> {
        match child_state(&self.dir) {
            ChildState::Running { .. } => {
                self.seen_running = true;
                self.not_started_before = false;
                None
            }
            ChildState::NotStarted => self.find_end_before_start(),
            over @ (ChildState::Ended(_) | ChildState::Lost) => Some(over),
        }
    }

    /// Decides whether a child that has not started will never start. A host needs a moment to take its
    /// lock, and only a dead host never will. Checked twice, because a host that finds another active
    /// host may exit before that one has written its process id.
    fn find_end_before_start(&mut self) -> Option<ChildState> {
        if self.host.as_ref().is_some_and(|host| !host.is_gone()) {
            return None;
        }
        if !self.not_started_before {
            self.not_started_before = true;
            self.seen_running = false;
            return None;
        }
        Some(ChildState::NotStarted)
    }
}
