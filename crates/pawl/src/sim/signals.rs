//! Being told to end: notes SIGINT, SIGTERM and SIGHUP, so that every wait can be cut short.
//!
//! What is then done is `play`'s. A second terminate ends the process at once, wherever it is.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

static SEEN: AtomicI32 = AtomicI32::new(0);

/// A signal may arrive just before a wait begins: no wait is longer than this.
const SLICE: Duration = Duration::from_millis(100);

/// Somebody wants this process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopRequest {
    /// SIGINT: report what happened, then end well.
    Interrupt,
    /// SIGTERM or SIGHUP: end with this exit code.
    Terminate(u8),
}

extern "C" fn note(signal: libc::c_int) {
    let before = SEEN.swap(signal, Ordering::SeqCst);
    if before != 0 && before != libc::SIGINT {
        #[expect(unsafe_code, reason = "the only way out of a signal handler; async-signal-safe")]
        unsafe {
            libc::_exit(128 + signal)
        }
    }
}

/// From now on the signals are noted instead of ending the process.
pub(super) fn listen() {
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        set(signal, handler as libc::sighandler_t);
    }
}

/// Makes the process deaf to SIGTERM.
pub(super) fn ignore_terminate() {
    set(libc::SIGTERM, libc::SIG_IGN);
}

/// Lets a signal do again what it does by default.
pub(super) fn forget(signal: Signal) {
    set(signal.as_raw(), libc::SIG_DFL);
}

fn set(signal: libc::c_int, handler: libc::sighandler_t) {
    #[expect(
        unsafe_code,
        reason = "rustix has no signal handlers; `note` only touches an atomic and `_exit`"
    )]
    unsafe {
        libc::signal(signal, handler);
    }
}

/// What was asked so far.
pub(super) fn asked() -> Option<StopRequest> {
    match SEEN.load(Ordering::SeqCst) {
        0 => None,
        libc::SIGINT => Some(StopRequest::Interrupt),
        signal => Some(StopRequest::Terminate(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
    }
}

/// Waits for so long, or until asked to end.
pub(super) fn pause(time: Duration) -> Result<(), StopRequest> {
    let end = Instant::now() + time;
    loop {
        if let Some(asked) = asked() {
            return Err(asked);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        nap(&mut [], left);
    }
}

/// Waits for so long at most until the descriptor has something; the caller looks again.
pub(super) fn watch(fd: BorrowedFd<'_>, time: Duration) {
    nap(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], time);
}

fn nap(fds: &mut [PollFd<'_>], time: Duration) {
    let slice = Timespec::try_from(time.min(SLICE)).ok();
    // Interrupted or not: the caller looks again.
    let _ = poll(fds, slice.as_ref());
}

/// What was asked is being done.
pub(super) fn clear() {
    SEEN.store(0, Ordering::SeqCst);
}
