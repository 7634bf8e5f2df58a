//! Receives the events of an agent in one turn, independent of the transport.
//!
//! A caller that follows a session knows neither files nor pipes: it asks for the next item until the
//! turn is over, and replies to the requests among the items. Every CLI prints lines under a host, which
//! writes them to a file ([`Channel::of_lines`]). Replies go to a second file, from which the host feeds the
//! CLI. Both files survive this process, so the next owner of the run continues the conversation.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::Receiver;
use windlass_core::agent::{AgentEvent, AgentRequest};
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
    /// The agent waits for a reply ([`Channel::reply`]).
    Asked(AgentRequest),
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
    /// The requests without a reply.
    asked: VecDeque<AgentRequest>,
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
            asked: VecDeque::new(),
        }
    }

    /// Waits for the next item. [`ChannelItem::Over`] is the last one.
    pub async fn next(&mut self) -> ChannelItem {
        loop {
            // Only the output up to now shows which of the earlier requests still wait.
            if self.offset >= self.known
                && let Some(request) = self.asked.pop_front()
            {
                return ChannelItem::Asked(request);
            }
            let Some(event) = self.events.recv().await else { break };
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
        let end = self.transcript.end(dialect.judge(&self.transcript, over, &stderr), self.offset);
        match dialect.conversation_usage(&self.dir) {
            Some(usage) => SessionEnd { usage, usage_is_cumulative: true, ..end },
            None => end,
        }
    }

    /// Returns the final events about the stream as a whole.
    pub fn end(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.end(&mut events);
        events
    }

    /// Replies to a request, with a line in the CLI's format.
    pub fn reply(&self, line: &[u8]) -> io::Result<()> {
        std::fs::OpenOptions::new().append(true).open(self.dir.join(names::INPUT))?.write_all(line)
    }

    /// Decides whether a former owner replied to a request.
    fn has_reply(&self, request: &str) -> bool {
        let input = std::fs::read(self.dir.join(names::INPUT)).unwrap_or_default();
        memchr::memmem::find(&input, request.as_bytes()).is_some()
    }

    fn take(&mut self, chunk: &Chunk) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.read(&chunk.bytes, chunk.skipped, &mut events);
        for event in &events {
            self.transcript.add(event);
            match event {
                AgentEvent::Asks(request) if self.offset >= self.known || !self.has_reply(&request.id) => {
                    self.asked.push_back(request.clone());
                }
                AgentEvent::AskWithdrawn { id } => self.asked.retain(|request| request.id != *id),
                _ => {}
            }
        }
        self.transcript.skip(chunk.skipped);
        self.offset = chunk.offset;
        events
    }
}
