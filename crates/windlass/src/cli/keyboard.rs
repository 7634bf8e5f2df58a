//! Reads what a person types at the terminal on standard input.
//!
//! If the feed is drawn on the same terminal, the terminal must neither echo nor edit, or the typed text
//! would appear between other lines. Dropping the keyboard restores the terminal; after a crash the shell
//! restores it. If the feed goes elsewhere, the terminal does not change.

use std::io::{Stdin, stdin};
use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcsetattr,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The longest line that the kernel accepts.
const LINE_MAX: usize = 4096;
/// The time between two checks whether the terminal is ours again. The shell need not tell us.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The pause after a read from a terminal that is gone.
const GONE: Duration = Duration::from_millis(50);

/// The part that echoes the typed text and lets a person edit it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// The terminal itself, a line at a time.
    Terminal,
    /// The feed, key by key.
    Feed,
}

/// The keyboard of the terminal on standard input.
pub(crate) struct Keyboard {
    terminal: Stdin,
    echo: Echo,
    /// The terminal's modes before Windlass changed them.
    before: Option<Termios>,
    /// The signal that the process continues after a stop (Ctrl-Z).
    continued: Option<Signal>,
}

impl Keyboard {
    /// Uses standard input.
    pub(crate) fn of_stdin(echo: Echo) -> Keyboard {
        Keyboard { terminal: stdin(), echo, before: None, continued: None }
    }

    /// Drops everything typed before a question appeared: it cannot be the answer.
    pub(crate) fn forget(&self) {
        if self.is_in_front() {
            let _ = tcflush(&self.terminal, QueueSelector::IFlush);
        }
    }

    /// Returns what a person types next, or nothing if the terminal is gone. If the terminal echoes, it
    /// returns a whole line.
    pub(crate) async fn read(&mut self) -> Vec<u8> {
        loop {
            // In the background, reading would stop the whole process, and with it the run.
            if self.is_in_front() {
                self.quieten();
                if self.has_input() {
                    break;
                }
                self.wait().await;
            } else {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        let mut bytes = vec![0; LINE_MAX];
        let read = rustix::io::read(&self.terminal, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        if bytes.is_empty() {
            // A closed terminal returns nothing at once. Do not let the caller spin on it.
            tokio::time::sleep(GONE).await;
        }
        bytes
    }

    /// Waits for a key, or until the process continues after a stop.
    #[expect(unsafe_code, reason = "tokio has no safe way to wait for a terminal")]
    async fn wait(&mut self) {
        let kind = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
        if self.continued.is_none() {
            self.continued = signal(kind).ok();
        }
        // SAFETY: nobody closes standard input, so it stays open longer than the `AsyncFd` lives.
        let terminal = unsafe { AsyncFd::register_with_interest(self.terminal.as_fd(), Interest::READABLE) };
        let (Some(continued), Ok(terminal)) = (&mut self.continued, terminal) else {
            return tokio::time::sleep(LOOK_EVERY).await;
        };
        tokio::select! {
            _ = terminal.readable() => {}
            _ = continued.recv() => {}
        }
    }

    /// Turns the terminal's echo off if the feed echoes. After a stop (Ctrl-Z) the shell has turned it on
    /// again.
    fn quieten(&mut self) {
        let Ok(now) = tcgetattr(&self.terminal) else { return };
        let own = LocalModes::ECHO | LocalModes::ICANON;
        if self.echo == Echo::Terminal || !now.local_modes.intersects(own) {
            return;
        }
        let mut quiet = now.clone();
        quiet.local_modes.remove(own);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(&self.terminal, OptionalActions::Now, &quiet).is_ok() {
            self.before.get_or_insert(now);
        }
    }

    fn is_in_front(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    fn has_input(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

impl Drop for Keyboard {
    /// Restores the terminal, and drops the keys that nobody read: otherwise the shell would run them.
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        if self.is_in_front() {
            let _ = tcflush(&self.terminal, QueueSelector::IFlush);
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &before);
        }
    }
}
