//! The orphans that this process adopts, and their end.
//!
//! Whatever a dead host and its guard leave behind, and whatever a hook of git's leaves behind, becomes a child of the
//! owner of the run. It is told from the children that this process started itself: each of these is born in
//! [`born`], and noted before anybody can look.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::reap;
use crate::child::is_host_of;
use crate::os;

/// So long an orphan may take to put its things away.
const GRACE: Duration = Duration::from_secs(2);
/// What has not ended by then hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Whether this process adopts, and whether every child that it did not start is then an orphan of a session.
static ADOPTS: OnceLock<Alone> = OnceLock::new();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// It had no children when it began to adopt.
    Yes,
    /// It had some, or inherits everybody's orphans: only what carries the mark is a session's.
    No,
}

/// Held while a child is born and noted; taken whole by whoever looks for orphans.
static BIRTHS: RwLock<()> = RwLock::new(());
/// The children that this process started and has not reaped.
static OURS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The folders of hosts that lost their guard: such a host becomes our child and goes on.
static WITHOUT_GUARD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Since when there are orphans.
static SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// Makes this process the parent of what hosts and git leave behind. For a program that starts no children of its own
/// in another way than through this module.
pub fn adopt_orphans() {
    if os::adopt_orphans() {
        // The first process of a container inherits the orphans of people, too.
        let is_alone = !getpid().is_init() && os::children().is_some_and(|children| children.is_empty());
        let _ = ADOPTS.set(if is_alone { Alone::Yes } else { Alone::No });
    }
}

/// Whether everything below this process was started by Windlass.
pub(crate) fn owns_all_below() -> bool {
    ADOPTS.get() == Some(&Alone::Yes)
}

/// Starts a child so that nobody takes it for an orphan.
pub(super) fn born(start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let _birth = BIRTHS.read().unwrap_or_else(PoisonError::into_inner);
    let child = start()?;
    OURS.lock().unwrap_or_else(PoisonError::into_inner).insert(child.id());
    Ok(child)
}

/// A child was reaped: its id may become another's.
pub(super) fn reaped(pid: u32) {
    OURS.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
}

/// A guard was killed: its host is no orphan to end.
pub(super) fn lost_guard(dir: PathBuf) {
    WITHOUT_GUARD.lock().unwrap_or_else(PoisonError::into_inner).push(dir);
}

/// Asks the orphans that are there to end, kills those that have had their grace, and reaps the dead. Does not wait.
/// How many are left.
pub fn end_adopted() -> usize {
    let Some(alone) = ADOPTS.get() else { return 0 };
    let _births = BIRTHS.write().unwrap_or_else(PoisonError::into_inner);
    let strangers = strangers();
    if !strangers.is_empty() {
        // After the look: where a host is among them, its guard has died before.
        reap();
    }
    let is_orphan = |pid: &Pid| {
        let is_marked = os::is_marked(pid.as_raw_nonzero().get());
        is_marked || (*alone == Alone::Yes && !is_host(*pid))
    };
    let lives = |pid: &Pid| matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(None));
    let left: Vec<Pid> = strangers.into_iter().filter(is_orphan).filter(lives).collect();
    let mut since = SINCE.lock().unwrap_or_else(PoisonError::into_inner);
    if left.is_empty() {
        *since = None;
        return 0;
    }
    // One grace for all: who forks in time would have a new one each time.
    let is_due = since.get_or_insert_with(Instant::now).elapsed() >= GRACE;
    for pid in &left {
        // Not reaped, so the id is still its own.
        let _ = kill_process(*pid, if is_due { Signal::KILL } else { Signal::TERM });
    }
    left.len()
}

/// Ends every orphan and waits until none is left. Whether none is.
pub fn end_all_adopted() -> bool {
    let until = Instant::now() + GRACE + PATIENCE;
    while end_adopted() > 0 {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
    true
}

/// Children that this process did not start.
fn strangers() -> Vec<Pid> {
    let ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ours = |pid: &Pid| u32::try_from(pid.as_raw_nonzero().get()).is_ok_and(|pid| ours.contains(&pid));
    os::children().unwrap_or_default().into_iter().filter(|pid| !is_ours(pid)).collect()
}

/// Whether a child is a host that goes on without its guard.
fn is_host(pid: Pid) -> bool {
    let dirs = WITHOUT_GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or_default();
    dirs.iter().any(|dir| is_host_of(pid, dir))
}
