//! Adopts orphans and ends them.
//!
//! The orphans of a dead host and its guard, and those of a git hook, become children of the owner of
//! the run. [`born`] records every child that this process starts itself before anybody can search for
//! orphans, so the two are never confused.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

use super::reap;
use crate::child::is_host_of;
use crate::os::{self, NewProgram};

/// Time for an orphan to clean up.
const GRACE: Duration = Duration::from_secs(2);
/// An orphan that outlives this time hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Set if this process adopts orphans.
static ADOPTS: OnceLock<Alone> = OnceLock::new();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// This process had no children when it started to adopt, so every unknown child is an orphan of a
    /// session.
    Yes,
    /// This process had children or inherits orphans of other programs, so only a child with the mark is
    /// an orphan of a session.
    No,
}

/// Held for reading while a child is started and recorded; held for writing during a search for orphans.
static BIRTHS: RwLock<()> = RwLock::new(());
/// The children that this process started and has not reaped.
static OURS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
/// The folders of hosts that lost their guard. Such a host becomes a child of this process and keeps
/// running.
static WITHOUT_GUARD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The time at which the first of the present orphans was found.
static SINCE: Mutex<Option<Instant>> = Mutex::new(None);

/// Makes this process the parent of the orphans of hosts and git. The program must start all of its
/// children through this module.
pub fn adopt_orphans() {
    if os::adopt_orphans() {
        // The first process of a container also inherits unrelated orphans.
        let is_alone = !getpid().is_init() && os::children().is_some_and(|children| children.is_empty());
        let _ = ADOPTS.set(if is_alone { Alone::Yes } else { Alone::No });
    }
}

/// Decides whether Windlass started every process below this one.
pub(crate) fn owns_all_below() -> bool {
    ADOPTS.get() == Some(&Alone::Yes)
}

/// Starts a child and records it, so that it is not taken for an orphan.
pub(super) fn born(new: &NewProgram<'_>) -> io::Result<Pid> {
    let _birth = BIRTHS.read().unwrap_or_else(PoisonError::into_inner);
    let child = os::start(new)?;
    OURS.lock().unwrap_or_else(PoisonError::into_inner).insert(child.as_raw_nonzero().get().cast_unsigned());
    Ok(child)
}

/// Forgets a reaped child, because its id may be reused.
pub(super) fn reaped(pid: Pid) {
    OURS.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid.as_raw_nonzero().get().cast_unsigned());
}

/// Records that a guard was killed, so that its host is not ended as an orphan.
pub(super) fn lost_guard(dir: PathBuf) {
    WITHOUT_GUARD.lock().unwrap_or_else(PoisonError::into_inner).push(dir);
}

/// Asks the present orphans to end, kills those whose grace period is over, and reaps the dead. Does not
/// wait. Returns the number of orphans left.
pub fn end_adopted() -> usize {
    let Some(alone) = ADOPTS.get() else { return 0 };
    let _births = BIRTHS.write().unwrap_or_else(PoisonError::into_inner);
    let strangers = strangers();
    if !strangers.is_empty() {
        // After listing: if a host is in the list, its guard died earlier.
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
    // One grace period for all: otherwise a process could get a new one with each fork.
    let is_due = since.get_or_insert_with(Instant::now).elapsed() >= GRACE;
    for pid in &left {
        // Not reaped yet, so the id is still valid.
        let _ = kill_process(*pid, if is_due { Signal::KILL } else { Signal::TERM });
    }
    left.len()
}

/// Ends every orphan and waits until none is left. Returns false if some are still alive at the time
/// limit.
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

/// Returns the children that this process did not start.
fn strangers() -> Vec<Pid> {
    let ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ours = |pid: &Pid| u32::try_from(pid.as_raw_nonzero().get()).is_ok_and(|pid| ours.contains(&pid));
    os::children().unwrap_or_default().into_iter().filter(|pid| !is_ours(pid)).collect()
}

/// Decides whether a child is a host without a guard.
fn is_host(pid: Pid) -> bool {
    let dirs = WITHOUT_GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or_default();
    dirs.iter().any(|dir| is_host_of(pid, dir))
}
