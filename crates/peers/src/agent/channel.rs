//! Receives the events of an agent in one turn, independent of the transport.
//!
//! A caller that follows a session knows neither files nor pipes: it asks for the next item until the
//! turn is over, and replies to the requests among the items. Every CLI prints lines under a host, which
//! writes them to a file ([`Channel::of_lines`]). Replies, and the lines that a dialect sends by itself, go to a
//! second file, from which the host feeds the CLI. Both files survive this process, so the next owner of the run
//! continues the conversation: it reads the output again, and sends only what the second file does not have.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio::sync::mpsc::Receiver;
use windlass_core::agent::{AgentEvent, AgentRequest};
use windlass_core::event::SessionEnd;
use windlass_core::launch::{END_OF_INPUT, files as names};
use windlass_core::usage::Usage;

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

/// The largest file with notes for a conversation.
const NOTES_MAX: u64 = 64 << 20;

impl Channel {
    /// Reads a CLI that prints lines. `host` is present if this process has just started the CLI.
    pub fn of_lines(
        dialect: &dyn Dialect,
        watcher: &Watcher,
        dir: &Path,
        host: Option<HostStart>,
    ) -> Channel {
        let written = std::fs::metadata(dir.join(names::STDOUT)).map(|meta| meta.len()).unwrap_or(0);
        let notes = files::read_bounded(&dir.join(names::CONVERSATION), NOTES_MAX).unwrap_or_default();
        if host.is_none() {
            end_torn_line(dir);
        }
        Channel {
            dir: dir.to_owned(),
            known: if host.is_some() { 0 } else { written },
            events: watcher.watch(dir, 0, host),
            lines: AgentLines::with(dialect.conversation(&notes)),
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
    pub fn sum_up(&mut self, dialect: &dyn Dialect, over: ProcessEnd<'_>) -> SessionEnd {
        if self.lines.reader().is_at_work(&input(&self.dir)) {
            self.transcript.begin_turn();
        }
        let stderr = files::read_tail(&self.dir.join(names::STDERR), STDERR_TAIL);
        let end = self.transcript.end(dialect.judge(&self.transcript, over, &stderr), self.offset);
        match dialect.conversation_usage(&self.dir) {
            Some(models) => {
                let mut usage = Usage::default();
                models.iter().for_each(|part| usage.add(&part.usage));
                SessionEnd { usage, models, usage_is_cumulative: true, ..end }
            }
            None => end,
        }
    }

    /// Returns the final events about the stream as a whole.
    pub fn end(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.end(&mut events);
        events
    }

    /// Replies to a request. `answer` is the answer to a hook call in the CLI's format.
    pub fn reply(&mut self, request: &str, answer: &str) -> io::Result<()> {
        let line = self.lines.reader().write_reply(request, answer);
        write(&self.dir, &line)
    }

    /// Sends the lines that are due, except those that a former owner sent.
    fn send(&mut self) {
        let lines = self.lines.reader().take_lines();
        let is_new = |line: &Vec<u8>| {
            self.offset >= self.known || memchr::memmem::find(&input(&self.dir), line).is_none()
        };
        for line in lines.iter().filter(|line| is_new(line)) {
            // If the agent's folder is gone, the end of the turn says so.
            let _ = write(&self.dir, line);
        }
    }

    /// Decides whether a former owner replied to a request.
    fn has_reply(&mut self, request: &str) -> bool {
        self.offset < self.known && self.lines.reader().has_reply(request, &input(&self.dir))
    }

    fn take(&mut self, chunk: &Chunk) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        self.lines.read(&chunk.bytes, chunk.skipped, &mut events);
        self.send();
        for event in &events {
            self.transcript.add(event);
            match event {
                AgentEvent::Asks(request) if !self.has_reply(&request.id) => {
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

/// Tells the CLI of a turn that its work is cancelled. Returns false if the signal is enough for it.
pub fn cancel(dialect: &dyn Dialect, dir: &Path) -> bool {
    let line = dialect.cancel(&input(dir));
    !line.is_empty() && write(dir, &line).is_ok()
}

/// Returns everything that was written for the CLI.
fn input(dir: &Path) -> Vec<u8> {
    std::fs::read(dir.join(names::INPUT)).unwrap_or_default()
}

fn write(dir: &Path, line: &[u8]) -> io::Result<()> {
    if line.is_empty() {
        return Ok(());
    }
    std::fs::OpenOptions::new().append(true).open(dir.join(names::INPUT))?.write_all(line)
}

/// Ends a line that a former owner was killed in. The CLI cannot read it, and gets it again as a whole.
fn end_torn_line(dir: &Path) {
    if input(dir).last().is_some_and(|last| !matches!(*last, b'\n' | END_OF_INPUT)) {
        let _ = write(dir, b"\n");
    }
}
