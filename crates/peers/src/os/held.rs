//! A pinned process, for checking and signalling it safely.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process whose id cannot be reused while this value exists. The descriptor becomes readable when the
/// process ends.
pub(crate) struct HeldProcess(OwnedFd);

impl HeldProcess {
    pub(crate) fn open(pid: i32) -> io::Result<HeldProcess> {
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
        Ok(HeldProcess(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Sends a signal and returns whether it was delivered.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.0, signal).is_ok()
    }
}

impl AsFd for HeldProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
