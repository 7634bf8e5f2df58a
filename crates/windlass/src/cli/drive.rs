//! Follows a run that this process owns, to its end: shows what happens and minds the signals.
//!
//! Ctrl-C and SIGTERM cancel the run, a second one at once. A closed terminal (SIGHUP) must not
//! lose work: the owner leaves, host and agent go on, and the run can be resumed.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_core::run::State;
use windlass_pawl::host::clear_dead_groups;
use windlass_runtime::feed::Item;
use windlass_runtime::handle::Running;

use super::feed::{Face, words};
use super::inline::Inline;
use super::output::Out;
use super::report::Report;
use super::weave::Weave;
use crate::exit::Exit;

/// How often the progress line is drawn again.
const REDRAW: Duration = Duration::from_millis(500);

/// How following ended.
pub(crate) enum Ended {
    /// The run is over.
    Over(Box<State>),
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
    pub(crate) out: &'a mut Out,
    /// A person at the terminal.
    pub(crate) inline: Option<Inline>,
}

/// Shows a run until it is over.
pub(crate) async fn drive(
    mut running: Running,
    mut viewer: Viewer<'_>,
    on_hangup: OnHangup,
) -> Result<Ended, Report> {
    let mut signals = Signals::listen()?;
    let mut redraw = tokio::time::interval(REDRAW);
    let mut held = Weave::default();
    let mut asked = 0u32;
    let room = viewer.out.room();
    viewer.ask();
    loop {
        // Whoever reads slowly is given no more than that: the feed bounds what waits.
        let next = async {
            room.wait().await;
            running.next().await
        };
        tokio::select! {
            item = next => match item {
                Some(item) => viewer.show(&mut held, item),
                None => break,
            },
            () = held.due() => viewer.tell_all(&held.release_due()),
            keys = viewer.keys() => viewer.take(&keys).await,
            wish = signals.next() => match wish {
                Wish::Leave if on_hangup == OnHangup::Leave => return Ok(Ended::Left),
                Wish::Leave | Wish::Cancel => {
                    asked += 1;
                    running.cancel().await;
                    viewer.face.remark(viewer.out, remark(asked));
                }
            },
            _ = redraw.tick(), if room.is_there() => viewer.tick(),
        }
    }
    viewer.tell_all(&held.release_all());
    viewer.face.settle(viewer.out);
    let over = running.finish().await;
    // Of runs that were killed and that nobody took up.
    clear_dead_groups();
    Ok(Ended::Over(Box::new(over?)))
}

impl Viewer<'_> {
    fn show(&mut self, held: &mut Weave, item: Item) {
        let (mut from, mut item) = (Vec::new(), item);
        let records = loop {
            match item {
                Item::Child { run, item: inner } => {
                    from.push(run);
                    item = *inner;
                }
                Item::Record { record, .. } => break held.of(&from).take(*record),
                Item::Agent { effect, event } => {
                    self.face.agent(self.out, &from, &effect, &event, words::now());
                    break held.of(&from).release_for(&effect, &event);
                }
                Item::LeftOut { count } => {
                    self.face.left_out(self.out, &from, count, words::now());
                    break Vec::new();
                }
            }
        };
        self.tell(&from, &records);
        self.ask();
        self.tick();
    }

    fn tell_all(&mut self, all: &[(Vec<RunId>, Vec<Record>)]) {
        for (from, records) in all {
            self.tell(from, records);
        }
    }

    fn tell(&mut self, from: &[RunId], records: &[Record]) {
        for record in records {
            if let Some(inline) = &mut self.inline {
                inline.see(self.face, self.out, from.last(), record);
            }
            self.face.record(self.out, from, record);
            self.ask();
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
pub(super) enum Wish {
    Cancel,
    Leave,
}

pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Signals, Report> {
        let on = |kind| {
            signal(kind)
                .map_err(|error| Report::new(Exit::Unexpected, "cannot listen to signals").caused_by(&error))
        };
        Ok(Signals {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Cancel,
            _ = self.terminate.recv() => Wish::Cancel,
            _ = self.hangup.recv() => Wish::Leave,
        }
    }
}
