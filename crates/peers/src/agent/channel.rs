//! Receives the events of an agent in one turn, independent of the transport.
//!
//! A caller that follows a session knows neither files nor pipes: it asks for the next item until the
//! turn is over. At present every CLI prints lines under a host, which writes them to a file
//! ([`Channel::of_lines`]). A CLI with a dialogue protocol only needs another constructor here.

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

/// The number of bytes of standard error to keep for messages.
const STDERR_TAIL: u64 = 4_000;

/// An item from the channel.
#[derive(Debug)]
pub enum ChannelItem {
    /// New events of the agent. Output from before this process started is added to the transcript and
    /// not returned again.
    Said(Vec<AgentEvent>),
    /// The agent's process is over.
    Over(ChildState),
}

/// The connection from an agent to its run, for one turn.
#[derive(Debug)]
pub struct Channel {
    dir: PathBuf,
    events: Receiver<TailEvent>,
    lines: AgentLines,
    transcript: Transcript,
    offset: u64,
    /// The size of the output before this process started.
    known: u64,
}

impl Channel {
    /// Reads a CLI that prints lines. `host` is present if this process has just started the CLI.
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

    /// Waits for the next item. [`ChannelItem::Over`] is the last one.
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

    /// Reads the rest of a turn whose host died, once no process can write any more.
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

    /// Summarises the turn. The dialect gives the verdict.
    pub fn sum_up(&self, dialect: &dyn Dialect, over: ProcessEnd<'_>) -> SessionEnd {
        let stderr = files::read_tail(&self.dir.join(names::STDERR), STDERR_TAIL);
        self.transcript.end(dialect.judge(&self.transcript, over, &stderr), self.offset)
    }

    /// Returns the final events about the stream as a whole.
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
