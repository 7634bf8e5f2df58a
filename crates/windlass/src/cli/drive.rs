//! Follows a run that this process owns to its end: shows what happens and handles signals.
//!
//! Ctrl-C and SIGTERM interrupt the run, and it can continue later; a second one ends its agents at once. A
//! closed terminal (SIGHUP) must not lose work: the owner exits, the host and the agent keep working, and the
//! run can be resumed. The key `d` leaves the run to a background process.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;
use windlass_core::run::RunState;
use windlass_pawl::host::clear_dead_groups;
use windlass_runtime::error::RunError;
use windlass_runtime::feed::FeedItem;
use windlass_runtime::handle::OwnedRun;
use windlass_runtime::view::{RunChange, RunUpdate, Subscription};

use super::alert::Alert;
use super::feed::{Face, words};
use super::output::{OutputRoom, OutputWriter};
use super::report::Report;
use super::sanitize::plain_line;
use super::task_watch::TaskWatch;
use super::terminal_prompt::{FeedKey, TerminalPrompt};
use crate::exit::Exit;

/// The time between two redraws of the progress line.
pub(super) const REDRAW: Duration = Duration::from_millis(500);
/// The time after which a reader counts as stalled, and the bytes of a transcript that may wait for it then.
const STALL: Duration = Duration::from_millis(250);
const BEHIND: u64 = 2 << 20;

/// The reason why following a run ended.
pub(crate) enum FollowEnd {
    /// The run ended.
    Over(Box<RunState>),
    /// The run continues without an owner and can be resumed.
    Left,
    /// A person leaves the run to a background process.
    Background,
}

/// The time for which a run is kept, which decides how signals end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunKeeping {
    /// The run can be found again: an interrupted run continues later.
    Kept,
    /// The run is cancelled, because nobody could find it again.
    Temporary,
}

/// The keys of the feed, for the progress line.
pub(crate) const KEYS: &str = "d background, Ctrl-C interrupt";

/// The place where a run is shown, and the person who may answer there.
pub(crate) struct Viewer<'a> {
    pub(crate) face: &'a mut Face,
    pub(crate) out: &'a mut OutputWriter,
    /// The person at the terminal, if there is one.
    pub(crate) inline: Option<TerminalPrompt>,
    pub(crate) alert: Option<Alert>,
    /// The task file of the run, for the progress line.
    pub(crate) tasks: Option<&'a mut TaskWatch>,
}

/// Follows a run until it ends, and shows its feed if there is one.
pub(crate) async fn drive(
    mut running: OwnedRun,
    mut feed: Option<Subscription>,
    mut viewer: Viewer<'_>,
    keeping: RunKeeping,
) -> Result<FollowEnd, Report> {
    let mut signals = RunSignals::listen()?;
    let mut redraw = tokio::time::interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asked = 0u32;
    let mut reader = DisplayReader::of(viewer.out);
    let (mut is_owned, mut is_told, mut is_lost) = (true, feed.is_none(), false);
    viewer.ask();
    while is_owned || !is_told && !is_lost {
        tokio::select! {
            update = reader.next(&mut feed, is_owned), if !is_told && !is_lost => match update {
                Some(Ok(update)) => viewer.show(update),
                // The owner meets the same error and reports it, or the error passes.
                Some(Err(_)) => is_lost = true,
                None => is_told = true,
            },
            item = running.next(), if is_owned => match item {
                Some(item) => viewer.aside(item),
                None => (is_owned, is_lost) = (false, false),
            },
            keys = viewer.keys() => {
                let wish = viewer.take(&keys).await;
                if wish == Some(FeedKey::Leave) && keeping == RunKeeping::Kept && asked == 0 && is_owned {
                    viewer.face.settle(viewer.out);
                    return Ok(FollowEnd::Background);
                }
            }
            wish = signals.next() => match (wish, keeping) {
                (SignalRequest::Leave, RunKeeping::Kept) => return Ok(FollowEnd::Left),
                (SignalRequest::Stop, RunKeeping::Kept) => {
                    asked += 1;
                    running.interrupt().await;
                    viewer.face.remark(viewer.out, remark(asked));
                }
                (SignalRequest::Leave | SignalRequest::Stop, RunKeeping::Temporary) => {
                    asked += 1;
                    running.cancel().await;
                    viewer.face.remark(viewer.out, remark(asked));
                }
            },
            // Without a display, the command says it at its end.
            text = windlass_runtime::notify::next_warning(), if !matches!(viewer.face, Face::Quiet) => {
                viewer.face.remark(viewer.out, &format!("warning: {}", plain_line(&text)));
                viewer.tick();
            }
            // A run that waits wakes nobody: without a clock on the screen there is nothing to redraw.
            _ = redraw.tick(), if (is_lost || viewer.face.has_clock()) && reader.room.is_there() => {
                is_lost = false;
                viewer.tick();
            }
        }
    }
    viewer.face.settle(viewer.out);
    let over = running.finish().await;
    // Clears the groups of runs that were killed and not resumed.
    clear_dead_groups();
    Ok(FollowEnd::Over(Box::new(over?)))
}

/// The reader of the display. It may be slow: the log keeps everything that it has not read.
pub(super) struct DisplayReader {
    room: OutputRoom,
    /// The time since which nothing could be written.
    stalled: Option<Instant>,
}

impl DisplayReader {
    pub(super) fn of(out: &OutputWriter) -> DisplayReader {
        DisplayReader { room: out.room(), stalled: None }
    }

    /// Waits for room, then for the next update. After a stall, skips what the agents said meanwhile. If the
    /// run has no owner, returns `None` when no more updates are there.
    pub(super) async fn next(
        &mut self,
        feed: &mut Option<Subscription>,
        is_owned: bool,
    ) -> Option<Result<RunUpdate, RunError>> {
        let feed = feed.as_mut()?;
        if !self.room.is_there() {
            self.stalled.get_or_insert_with(Instant::now);
        }
        self.room.wait().await;
        let stalled = self.stalled.take().map_or(Duration::ZERO, |since| since.elapsed());
        if stalled > STALL
            && let Some(update) = feed.catch_up(BEHIND)
        {
            return Some(Ok(update));
        }
        if is_owned { feed.next().await } else { feed.next_now().await }
    }
}

impl Viewer<'_> {
    pub(super) fn show(&mut self, update: RunUpdate) {
        let RunUpdate { run, path, change } = update;
        match change {
            RunChange::Record { seq, record } => {
                if let Some(inline) = &mut self.inline {
                    inline.see(self.face, self.out, &run, seq, &record);
                }
                self.face.record(self.out, &path, &record);
                if let Some(alert) = &mut self.alert {
                    alert.see(self.out, &run, &record);
                }
                if let Some(tasks) = self.tasks.as_mut().filter(|_| path.is_empty()) {
                    tasks.see(self.face, &record);
                }
            }
            RunChange::Agent { effect, event, at, .. } => {
                self.face.agent(self.out, &path, &effect, &event, at.unwrap_or_else(words::now));
            }
            RunChange::LeftOut { count, .. } => {
                self.face.left_out(self.out, &path, count, words::now());
            }
            RunChange::Appeared | RunChange::Ended { .. } => {}
        }
        self.ask();
        self.tick();
    }

    /// Shows an event that is in no log.
    fn aside(&mut self, item: FeedItem) {
        let (mut path, mut item) = (Vec::new(), item);
        while let FeedItem::Child { run, item: inner } = item {
            path.push(run);
            item = *inner;
        }
        if let FeedItem::Aside { effect, event } = item {
            self.face.agent(self.out, &path, &effect, &event, words::now());
        }
    }

    pub(super) fn tick(&mut self) {
        self.face.tick(self.out, words::now());
    }

    /// Shows the question that waits for a person.
    pub(super) fn ask(&mut self) {
        if let Some(inline) = &mut self.inline {
            inline.ask(self.face, self.out);
        }
    }

    /// Waits for the next keys that a person types.
    pub(super) async fn keys(&mut self) -> Vec<u8> {
        match &mut self.inline {
            Some(inline) => inline.keys().await,
            None => std::future::pending().await,
        }
    }

    pub(super) async fn take(&mut self, keys: &[u8]) -> Option<FeedKey> {
        let wish = match &mut self.inline {
            Some(inline) => inline.take(self.face, self.out, keys).await,
            None => None,
        };
        self.tick();
        wish
    }
}

/// Returns the message about a request to stop.
pub(super) fn remark(asked: u32) -> &'static str {
    if asked == 1 { "press Ctrl-C again to stop the agent at once" } else { "stopping the agent at once" }
}

/// The request that a signal makes.
pub(super) enum SignalRequest {
    Stop,
    Leave,
}

pub(super) struct RunSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl RunSignals {
    pub(super) fn listen() -> Result<RunSignals, Report> {
        let on = |kind| {
            signal(kind)
                .map_err(|error| Report::new(Exit::Unexpected, "cannot listen to signals").caused_by(&error))
        };
        Ok(RunSignals {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.interrupt.recv() => SignalRequest::Stop,
            _ = self.terminate.recv() => SignalRequest::Stop,
            _ = self.hangup.recv() => SignalRequest::Leave,
        }
    }
}
