//! Records SIGINT, SIGTERM and SIGHUP, so that every wait can be cut short.
//!
//! `play` reacts to them. A second terminate signal ends the process at once.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

static SEEN: AtomicI32 = AtomicI32::new(0);

/// The longest single wait: a signal may arrive just before it starts.
const SLICE: Duration = Duration::from_millis(100);

/// A request to end this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopRequest {
    /// SIGINT: reports a result, then exits normally.
    Interrupt,
    /// SIGTERM or SIGHUP: exits with this code.
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

/// Records the signals from now on, instead of dying of them.
pub(super) fn listen() {
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        set(signal, handler as libc::sighandler_t);
    }
}

/// Ignores SIGTERM from now on.
pub(super) fn ignore_terminate() {
    set(libc::SIGTERM, libc::SIG_IGN);
}

/// Restores the default effect of a signal.
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

/// Returns the request so far, if any.
pub(super) fn asked() -> Option<StopRequest> {
    match SEEN.load(Ordering::SeqCst) {
        0 => None,
        libc::SIGINT => Some(StopRequest::Interrupt),
        signal => Some(StopRequest::Terminate(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
    }
}

/// Asks this process to stop its work, as SIGINT does.
pub(super) fn interrupt() {
    SEEN.store(libc::SIGINT, Ordering::SeqCst);
}

/// Waits for a time, or until a request to end.
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

/// Waits at most for a time until the descriptor is readable. The caller checks again.
pub(super) fn watch(fd: BorrowedFd<'_>, time: Duration) {
    nap(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], time);
}

fn nap(fds: &mut [PollFd<'_>], time: Duration) {
    let slice = Timespec::try_from(time.min(SLICE)).ok();
    // Interrupted or not, the caller checks again.
    let _ = poll(fds, slice.as_ref());
}

/// Clears the request, because it is being handled.
pub(super) fn clear() {
    SEEN.store(0, Ordering::SeqCst);
}
