//! Many children at once: one task, woken by notices of the system, reading what is dirty every 20 ms.
//!
//! Reading all dirty files together rather than each at its every line is what keeps the cost
//! low; a wake-up costs more than the read. When more than 64 files have something each time, a
//! read and a hand-over for every line are what costs, and the time between reads grows with
//! their number up to 60 ms, which nobody sees: each then finds several lines. Hooks do not come
//! this way and never wait for it.

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
/// The same when very many files have something each time.
const READ_AT_LEAST_EVERY: Duration = Duration::from_millis(60);
/// As many files with something to read as are still read at the usual pace.
const BUSY_FILES: u32 = 64;
/// A host killed by SIGKILL may change no file: its lock is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The same for a child whose host was just started.
const LOOK_EVERY_AT_START: Duration = Duration::from_millis(50);
/// Rounds in which nothing happened, after which it sleeps until something does.
const QUIET_ROUNDS: u32 = 5;
/// Chunks a reader may lag behind before its file is left alone for a while.
const LAG: usize = 8;

/// What a watched child did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailEvent {
    /// It wrote lines.
    Lines(Chunk),
    /// It is over, and this is the last event. After `Ended` every byte was given out. After
    /// `Lost` a last line without newline was not: sweep first, then read on from the offset
    /// with a [`Tail`]. `NotStarted`: its host is gone and never started it.
    Ended(ChildState),
}

/// Watches children's folders. One is enough for a process. Ends when dropped.
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

    /// Reads a child's standard output from an offset on. `host` is what [`crate::process`]
    /// gave, when this process started the host. Watching a folder again replaces the former
    /// watch.
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

/// Waits until there are notices. Only for the time of waiting is it made known to
/// the runtime, which would otherwise wake at every single event.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor of another kind")]
async fn heard(notices: BorrowedFd<'_>) {
    // SAFETY: the descriptor is borrowed for longer than the `AsyncFd` lives, so it stays open
    // and the same until that is dropped.
    let waiting = unsafe { AsyncFd::register_with_interest(notices, Interest::READABLE) };
    match waiting {
        // An error is as good as an event: the descriptor is then read, and found empty.
        Ok(waiting) => drop(waiting.readable().await),
        // The regular looks must do.
        Err(_) => std::future::pending().await,
    }
}

#[derive(Debug)]
struct WatchedFolder {
    dir: PathBuf,
    tail: Tail,
    sender: Sender<TailEvent>,
    host: Option<HostStart>,
    /// Something was written.
    is_dirty: bool,
    /// The folder's state is to be looked at.
    look: bool,
    /// The state that ends it; what is left to read comes first.
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
        let mut next_look = Instant::now();
        let mut quiet_rounds = QUIET_ROUNDS;
        let mut speaking = 0;
        loop {
            if quiet_rounds >= QUIET_ROUNDS && !self.is_behind() {
                self.sleep_until(next_look).await;
            }
            // Everything that is written in the meantime is read together.
            tokio::time::sleep(read_every(speaking)).await;
            let was_quiet = !self.drain_notices() & !self.admit();
            quiet_rounds = if was_quiet { quiet_rounds.saturating_add(1) } else { 0 };
            if Instant::now() >= next_look {
                self.look_at_all();
                next_look = Instant::now() + LOOK_EVERY;
            }
            speaking = self.serve();
            next_look = next_look.min(Instant::now() + self.look_every());
        }
    }

    /// Nothing is going on: sleeps until something does, or a look is due.
    async fn sleep_until(&self, next_look: Instant) {
        tokio::select! {
            () = heard(self.notices.as_fd()) => {}
            () = self.shared.bell.notified() => {}
            () = tokio::time::sleep_until(next_look.into()), if !self.entries.is_empty() => {}
        }
    }

    /// Whether some receiver had no room for what there is.
    fn is_behind(&self) -> bool {
        self.entries.values().any(|entry| entry.is_dirty || entry.ended.is_some())
    }

    fn look_every(&self) -> Duration {
        match self.entries.values().all(|entry| entry.seen_running) {
            true => LOOK_EVERY,
            false => LOOK_EVERY_AT_START,
        }
    }

    fn look_at_all(&mut self) {
        reap();
        end_adopted();
        for entry in self.entries.values_mut() {
            entry.look = true;
            // Costs one read; heals a lost notice.
            entry.is_dirty = true;
        }
    }

    /// Marks what the notices name. `false` when there are none.
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

    /// Takes in what was newly asked for. `false` when nothing was.
    fn admit(&mut self) -> bool {
        let arrived =
            std::mem::take(&mut *self.shared.arrived.lock().unwrap_or_else(PoisonError::into_inner));
        let any = !arrived.is_empty();
        for entry in arrived {
            let watch = self.notices.follow(&entry.dir, WantedNotices::Growth);
            // Where the system gives no notices (limits, no folder), the regular looks must do.
            let key = watch.unwrap_or_else(|_| self.free_key());
            self.entries.insert(key, entry);
        }
        any
    }

    /// Kernel watches count from 1: what has none is kept below 0.
    fn free_key(&self) -> i32 {
        self.entries.keys().copied().min().unwrap_or(0).min(0) - 1
    }

    /// Gives out what there is, and says how many files had something new.
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

/// The time between reads, when so many files had something at the last.
fn read_every(speaking: u32) -> Duration {
    (READ_EVERY * speaking / BUSY_FILES).clamp(READ_EVERY, READ_AT_LEAST_EVERY)
}

impl WatchedFolder {
    /// Gives out what there is. `false` when it is over.
    fn serve(&mut self, buffer: &mut Vec<u8>) -> bool {
        if self.sender.is_closed() {
            return false;
        }
        // The state before the bytes: what was written before an end is then read after it.
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

    /// Reads to the present end of the file. `false` when the receiver must catch up first.
    fn read(&mut self, buffer: &mut Vec<u8>) -> bool {
        loop {
            // A long line has the channel to itself: a few of them would be much memory.
            let room = if self.tail.has_long_line() { LAG } else { 1 };
            let Ok(mut permits) = self.sender.try_reserve_many(room) else { return false };
            // A file that cannot be read has said all it will.
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
            // There is room: checked above, and we are the only sender.
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

    /// A host needs a moment to take its lock. Only one that is gone will never do it; looked
    /// at twice, because a host that found another one at work goes before that one has
    /// written its process id.
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
