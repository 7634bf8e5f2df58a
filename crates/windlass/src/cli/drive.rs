//! Follows a run that this process owns, to its end: shows what happens and minds the signals.
//!
//! Ctrl-C and SIGTERM cancel the run, a second one at once. A closed terminal (SIGHUP) must not
//! lose work: the owner leaves, host and agent go on, and the run can be resumed.

use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass_core::run::RunState;
use windlass_pawl::host::clear_dead_groups;
use windlass_runtime::error::RunError;
use windlass_runtime::feed::FeedItem;
use windlass_runtime::handle::OwnedRun;
use windlass_runtime::view::{RunChange, RunUpdate, Subscription};

use super::feed::{Face, words};
use super::output::{OutputRoom, OutputWriter};
use super::report::Report;
use super::terminal_prompt::TerminalPrompt;
use crate::exit::Exit;

/// How often the progress line is drawn again.
const REDRAW: Duration = Duration::from_millis(500);
/// How long a reader may leave no room, and how many bytes of a transcript may wait for it then.
const STALL: Duration = Duration::from_millis(250);
const BEHIND: u64 = 2 << 20;

/// How following ended.
pub(crate) enum FollowEnd {
    /// The run is over.
    Over(Box<RunState>),
    /// The run goes on without an owner and can be resumed.
    Left,
}

/// What is done when the terminal is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnHangup {
    /// The run goes on without an owner.
    Leave,
    /// The run is cancelled: nobody could find it again.
    Cancel,
}

/// Where a run is shown, and who may answer there.
pub(crate) struct Viewer<'a> {
    /// How it is shown.
    pub(crate) face: &'a mut Face,
    /// Where to.
    pub(crate) out: &'a mut OutputWriter,
    /// A person at the terminal.
    pub(crate) inline: Option<TerminalPrompt>,
}

/// Shows a run until it is over: what the feed says of it, if anybody looks.
pub(crate) async fn drive(
    mut running: OwnedRun,
    mut feed: Option<Subscription>,
    mut viewer: Viewer<'_>,
    on_hangup: OnHangup,
) -> Result<FollowEnd, Report> {
    let mut signals = RunSignals::listen()?;
    let mut redraw = tokio::time::interval(REDRAW);
    let mut asked = 0u32;
    let mut reader = DisplayReader { room: viewer.out.room(), stalled: None };
    let (mut is_owned, mut is_told, mut is_lost) = (true, feed.is_none(), false);
    viewer.ask();
    while is_owned || !is_told && !is_lost {
        tokio::select! {
            update = reader.next(&mut feed, is_owned), if !is_told && !is_lost => match update {
                Some(Ok(update)) => viewer.show(update),
                // The owner finds the same, and says what is wrong, or it passes.
                Some(Err(_)) => is_lost = true,
                None => is_told = true,
            },
            item = running.next(), if is_owned => match item {
                Some(item) => viewer.aside(item),
                None => (is_owned, is_lost) = (false, false),
            },
            keys = viewer.keys() => viewer.take(&keys).await,
            wish = signals.next() => match wish {
                SignalRequest::Leave if on_hangup == OnHangup::Leave => return Ok(FollowEnd::Left),
                SignalRequest::Leave | SignalRequest::Cancel => {
                    asked += 1;
                    running.cancel().await;
                    viewer.face.remark(viewer.out, remark(asked));
                }
            },
            _ = redraw.tick(), if reader.room.is_there() => {
                is_lost = false;
                viewer.tick();
            }
        }
    }
    viewer.face.settle(viewer.out);
    let over = running.finish().await;
    // Of runs that were killed and that nobody took up.
    clear_dead_groups();
    Ok(FollowEnd::Over(Box::new(over?)))
}

/// Whoever reads what is shown, as quickly as they like: the log keeps what they have not read.
struct DisplayReader {
    room: OutputRoom,
    /// Since when nothing could be written.
    stalled: Option<Instant>,
}

impl DisplayReader {
    /// Waits for room, then for the next update. Somebody who stalled is not told everything that agents said
    /// meanwhile. Without an owner it is over when nothing more is there.
    async fn next(
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
    fn show(&mut self, update: RunUpdate) {
        let RunUpdate { run, path, change } = update;
        match change {
            RunChange::Record { seq, record } => {
                if let Some(inline) = &mut self.inline {
                    inline.see(self.face, self.out, &run, seq, &record);
                }
                self.face.record(self.out, &path, &record);
            }
            RunChange::Agent { effect, event, .. } => {
                self.face.agent(self.out, &path, &effect, &event, words::now());
            }
            RunChange::LeftOut { count, .. } => {
                self.face.left_out(self.out, &path, count, words::now());
            }
            RunChange::Appeared | RunChange::Ended { .. } => {}
        }
        self.ask();
        self.tick();
    }

    /// Shows what is in no log.
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

    fn tick(&mut self) {
        self.face.tick(self.out, words::now());
    }

    /// Asks what waits for a person.
    fn ask(&mut self) {
        if let Some(inline) = &mut self.inline {
            inline.ask(self.face, self.out);
        }
    }

    /// What a person types next.
    async fn keys(&mut self) -> Vec<u8> {
        match &mut self.inline {
            Some(inline) => inline.keys().await,
            None => std::future::pending().await,
        }
    }

    async fn take(&mut self, keys: &[u8]) {
        if let Some(inline) = &mut self.inline {
            inline.take(self.face, self.out, keys).await;
        }
        self.tick();
    }
}

fn remark(asked: u32) -> &'static str {
    if asked == 1 { "interrupted; once more ends it at once" } else { "ending it at once" }
}

/// What a signal asks for.
pub(super) enum SignalRequest {
    Cancel,
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
            _ = self.interrupt.recv() => SignalRequest::Cancel,
            _ = self.terminate.recv() => SignalRequest::Cancel,
            _ = self.hangup.recv() => SignalRequest::Leave,
        }
    }
}
