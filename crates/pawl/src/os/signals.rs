//! The host's signals, as something to wait for.
//!
//! All that concern it are blocked and read from a signalfd, so none is lost between two looks.
//! SIGHUP, SIGINT and SIGQUIT are read to no effect. All keep their default disposition, and the
//! mask is emptied again in a new child ([`unblock_all`]): the child inherits nothing.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

const BLOCKED: [libc::c_int; 5] = [libc::SIGTERM, libc::SIGCHLD, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Somebody asked the host to end its child.
    Terminate,
    /// A child ended, or nothing of interest happened: look again.
    Look,
    /// The time is over.
    Timeout,
}

/// The signals of this process, from now on held back for [`Signals::wait`].
pub(crate) struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Takes them over, also from a parent that had them ignored (`nohup`): an ignored SIGCHLD
    /// would make the kernel throw the child's status away.
    pub(crate) fn take_over() -> io::Result<Signals> {
        Ok(Signals { fd: block_and_open()? })
    }

    /// Waits for the next signal, at most this long.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Wake> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) => Ok(Wake::Timeout),
            Ok(_) => self.read(),
            Err(Errno::INTR) => Ok(Wake::Look),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self) -> io::Result<Wake> {
        let mut siginfo = [0; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.fd, &mut siginfo)?;
        // Its first field is the signal's number.
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

/// Empties the mask. Called in the child before it becomes another program, so it may only make
/// system calls.
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
