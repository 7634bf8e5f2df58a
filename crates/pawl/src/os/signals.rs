//! Turns the host's signals into events to wait for.
//!
//! The host blocks its signals and reads them from a signalfd, so that none is lost between two waits. It
//! ignores SIGHUP, SIGINT and SIGQUIT. All signals keep their default disposition, and a new child empties
//! its mask ([`unblock_all`]): the child inherits nothing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

const BLOCKED: [libc::c_int; 5] = [libc::SIGTERM, libc::SIGCHLD, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// The event that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// A request to end the child.
    Terminate,
    /// A child may have ended, or another descriptor is ready: check again.
    Look,
    Timeout,
}

/// The signals of this process, blocked for [`Signals::wait`].
pub(crate) struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Takes over the signals, even if the parent ignored them (`nohup`): with SIGCHLD ignored, the kernel
    /// would discard the child's status.
    pub(crate) fn take_over() -> io::Result<Signals> {
        Ok(Signals { fd: block_and_open()? })
    }

    /// Waits for the next signal, at most for `limit`.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Wake> {
        self.wait_beside(limit, &[])
    }

    /// Waits for the next signal or for one of `others` to be ready, at most for `limit`.
    pub(crate) fn wait_beside(
        &self,
        limit: Option<Duration>,
        others: &[(BorrowedFd<'_>, PollFlags)],
    ) -> io::Result<Wake> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let own = [(self.fd.as_fd(), PollFlags::IN)];
        let pairs = own.iter().chain(others);
        let mut fds: Vec<PollFd<'_>> =
            pairs.map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) => Ok(Wake::Timeout),
            Ok(_) if fds.first().is_some_and(|own| !own.revents().is_empty()) => self.read(),
            Ok(_) | Err(Errno::INTR) => Ok(Wake::Look),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self) -> io::Result<Wake> {
        let mut siginfo = [0; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.fd, &mut siginfo)?;
        // The first field is the signal's number.
        let number = siginfo.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        Ok(if number == Some(libc::SIGTERM as u32) { Wake::Terminate } else { Wake::Look })
    }
}

#[expect(unsafe_code, reason = "the kernel's signal masks and signalfd have no safe interface in rustix")]
fn block_and_open() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigset_t is valid and is emptied before use; the pointers live through
    // the calls; no handler is installed; a descriptor that signalfd returns is new and ours alone.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in BLOCKED {
            libc::sigaddset(&mut set, signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        for signal in BLOCKED {
            libc::signal(signal, libc::SIG_DFL);
        }
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Empties the mask. Runs in the child before it executes another program, so it may only make system calls.
#[expect(unsafe_code, reason = "the kernel's signal masks have no safe interface in rustix")]
pub(crate) fn unblock_all() -> io::Result<()> {
    // SAFETY: an all-zero sigset_t is valid, and the pointer to it lives through the calls.
    let outcome = unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut())
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
