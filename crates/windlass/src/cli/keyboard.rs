//! Lines typed at the terminal that standard input is.
//!
//! The terminal stays as it was: it edits and echoes the line itself, so whatever becomes of this
//! process, nobody is left with a terminal that shows nothing.

use std::io::{Stdin, stdin};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};

/// The kernel lets nobody type a longer line.
const LINE_MAX: usize = 4096;
/// How often it is looked at, while something is asked. A thread that waits for a line could not
/// be called back once nobody wants one.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The keyboard.
pub(crate) struct Keyboard {
    terminal: Stdin,
}

impl Keyboard {
    /// The one that standard input is.
    pub(crate) fn of_stdin() -> Keyboard {
        Keyboard { terminal: stdin() }
    }

    /// Forgets what was typed before anything was asked: it cannot have been an answer.
    pub(crate) fn forget(&self) {
        if self.is_in_front() {
            let _ = tcflush(&self.terminal, QueueSelector::IFlush);
        }
    }

    /// The next line; an empty one when the terminal is gone.
    pub(crate) async fn line(&self) -> String {
        // In the background, reading would stop the whole process, and with it the run.
        while !self.is_in_front() || !self.has_line() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.read()
    }

    fn is_in_front(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    fn has_line(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    fn read(&self) -> String {
        let mut bytes = [0; LINE_MAX];
        let read = rustix::io::read(&self.terminal, &mut bytes).unwrap_or(0);
        String::from_utf8_lossy(bytes.get(..read).unwrap_or_default()).into_owned()
    }
}
