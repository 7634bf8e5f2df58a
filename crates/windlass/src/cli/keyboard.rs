//! What is typed at the terminal that standard input is.
//!
//! Where the feed is drawn on the same terminal, the terminal neither echoes nor edits: what is
//! typed would stand in the middle of other lines. It is given back as it was found; after a death
//! without warning the shell does that. Everywhere else the terminal stays as it is.

use std::io::{Stdin, stdin};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcsetattr,
};

/// The kernel lets nobody type a longer line.
const LINE_MAX: usize = 4096;
/// How often it is looked at. A thread that waits for a key could not be called back once nobody
/// wants one.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Who shows what is typed, and lets it be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// The terminal itself, a line at a time.
    Terminal,
    /// The feed, key by key.
    Feed,
}

/// The keyboard.
pub(crate) struct Keyboard {
    terminal: Stdin,
    echo: Echo,
    /// How the terminal was before, once that was changed.
    before: Option<Termios>,
}

impl Keyboard {
    /// The one that standard input is.
    pub(crate) fn of_stdin(echo: Echo) -> Keyboard {
        Keyboard { terminal: stdin(), echo, before: None }
    }

    /// Forgets what was typed before anything was asked: it cannot have been an answer.
    pub(crate) fn forget(&self) {
        if self.is_in_front() {
            let _ = tcflush(&self.terminal, QueueSelector::IFlush);
        }
    }

    /// What is typed next, a line where the terminal echoes; nothing when the terminal is gone.
    pub(crate) async fn read(&mut self) -> Vec<u8> {
        loop {
            // In the background, reading would stop the whole process, and with it the run.
            if self.is_in_front() {
                self.quieten();
                if self.has_input() {
                    break;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let mut bytes = vec![0; LINE_MAX];
        let read = rustix::io::read(&self.terminal, &mut bytes).unwrap_or(0);
        bytes.truncate(read);
        if bytes.is_empty() {
            // Whoever asks again at once is not kept busy by a terminal that has nothing to say.
            tokio::time::sleep(LOOK_EVERY).await;
        }
        bytes
    }

    /// Takes the echo over where that is the feed's; again after a stop, when the shell gave its own back.
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
    /// Gives the terminal back. What was typed while nothing was asked was meant for nobody; it would
    /// be run by the shell.
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        if self.is_in_front() {
            let _ = tcflush(&self.terminal, QueueSelector::IFlush);
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &before);
        }
    }
}
