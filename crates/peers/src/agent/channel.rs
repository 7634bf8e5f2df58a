//! What is heard from an agent in one turn, whatever it is heard through.
//!
//! Whoever follows a session knows neither files nor pipes: it asks for what comes next, until the turn is over.
//! Today every CLI prints lines under a host, which writes them to a file ([`Channel::of_lines`]). A CLI that holds a
//! dialogue gets another constructor here, and nobody else notices.

use std::path::{Path, PathBuf};

use tokio::sync::mpsc::Receiver;
use windlass_core::agent::AgentEvent;
use windlass_core::event::SessionEnd;
use windlass_core::launch::files as names;

use super::dialect::Dialect;
use super::lines::AgentLines;
use super::transcript::{ProcessEnd, Transcript};
use crate::child::{ChildState, child_state};
use crate::files;
use crate::process::HostStart;
use crate::tail::{Chunk, Tail, TailEvent, Watcher};

/// How much of standard error is kept for messages.
const STDERR_TAIL: u64 = 4_000;

/// Something heard.
#[derive(Debug)]
pub enum ChannelItem {
    /// The agent said or did this. What was there before this process came is read for its facts alone, and is
    /// not given out again.
    Said(Vec<AgentEvent>),
    /// Its process is over.
    Over(ChildState),
}

/// The way from an agent to its run, for one turn.
#[derive(Debug)]
pub struct Channel {
    dir: PathBuf,
    events: Receiver<TailEvent>,
    lines: AgentLines,
    transcript: Transcript,
    offset: u64,
    /// What was written before this process came.
    known: u64,
}

impl Channel {
    /// Listens to a CLI that prints lines. `host` is there where this process has just started it.
    pub fn of_lines(
        dialect: &dyn Dialect,
        watcher: &Watcher,
        dir: &Path,
        host: Option<HostStart>,
    ) -> Channel {
        let written = std::fs::metadata(dir.join(names::STDOUT)).map(|meta| meta.len()).unwrap_or(0);
        Channel {
            dir: dir.to_owned(),
            known: if host.is_some() { 0 } else { written },
            events: watcher.watch(dir, 0, host),
            lines: AgentLines::of(dialect),
            transcript: Transcript::default(),
            offset: 0,
        }
    }

    /// Waits for what comes next. After [`Heard::Over`] nothing does.
    pub async fn next(&mut self) -> ChannelItem {
        while let Some(event) = self.events.recv().await {
            match event {
                TailEvent::Lines(chunk) => {
                    let is_new = chunk.offset > self.known;
                    let said = self.take(&chunk);
                    if is_new {
                        return ChannelItem::Said(said);
                    }
                }
                TailEvent::Ended(state) => return ChannelItem::Over(state),
            }
        }
        ChannelItem::Over(child_state(&self.dir))
    }

    /// Reads the rest of a turn whose host died, once nobody can write any more.
    pub fn read_rest(&mut self) {
        let mut tail = Tail::new(&self.dir.join(names::STDOUT), self.offset);
        let mut buffer = Vec::new();
        while let Ok(chunk) = tail.next_lines(&mut buffer) {
            chunk.iter().for_each(|chunk| drop(self.take(chunk)));
            if tail.is_at_end() {
                break;
            }
        }
    }

    /// Sums the turn up, by the judgement of its dialect.
    pub fn sum_up(&self, dialect: &dyn Dialect, over: ProcessEnd<'_>) -> SessionEnd {
        let stderr = files::read_tail(&self.dir.join(names::STDERR), STDERR_TAIL);
        self.transcript.end(dialect.judge(&self.transcript, over, &stderr), self.offset)
    }

    /// What is to be said of the stream as a whole.
    pub fn end(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.end(&mut events);
        events
    }

    fn take(&mut self, chunk: &Chunk) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.read(&chunk.bytes, chunk.skipped, &mut events);
        for event in &events {
            self.transcript.add(event);
        }
        self.transcript.skip(chunk.skipped);
        self.offset = chunk.offset;
        events
    }
}
