//! What the agent said and did in one turn, read from its file piece by piece as it is asked for.
//!
//! A transcript may be larger than memory: no more than one piece of it is held.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_peers::agent::{Dialect, Lines};
use windlass_peers::tail::{Chunk, Tail};

/// A transcript as far as it was read.
#[derive(Debug)]
pub struct Transcript {
    tail: Tail,
    dialect: Arc<dyn Dialect>,
    lines: Lines,
    /// What was read and not given out.
    ready: VecDeque<AgentEvent>,
    buffer: Vec<u8>,
}

impl Transcript {
    pub(crate) fn open(path: &Path, dialect: Arc<dyn Dialect>) -> Transcript {
        Transcript::read_from(Tail::new(path, 0), dialect)
    }

    fn read_from(tail: Tail, dialect: Arc<dyn Dialect>) -> Transcript {
        Transcript { tail, lines: Lines::of(&*dialect), dialect, ready: VecDeque::new(), buffer: Vec::new() }
    }

    /// The next event; none when there is none yet.
    pub fn next_event(&mut self) -> Option<AgentEvent> {
        while self.ready.is_empty() && self.read_on() {}
        self.ready.pop_front()
    }

    /// The same of one whose turn is over: a last line needs no end, and lines that could not be
    /// read are counted.
    pub fn next_or_end(&mut self) -> Option<AgentEvent> {
        if let Some(event) = self.next_event() {
            return Some(event);
        }
        if let Some(rest) = self.tail.rest() {
            self.take(&rest);
        }
        if self.ready.is_empty() {
            let mut events = Vec::new();
            self.lines.end(&mut events);
            self.ready.extend(events);
        }
        self.ready.pop_front()
    }

    /// Looks at what comes next, in at most so many bytes, and gives nothing out.
    pub fn look_ahead(&self, most: u64, mut see: impl FnMut(&AgentEvent) -> ControlFlow<()>) {
        let mut ahead = Transcript::read_from(self.tail.ahead(), Arc::clone(&self.dialect));
        if self.ready.iter().any(|event| see(event).is_break()) {
            return;
        }
        let end = self.tail.read_to().saturating_add(most);
        while ahead.tail.read_to() < end && ahead.read_on() {
            if ahead.ready.drain(..).any(|event| see(&event).is_break()) {
                return;
            }
        }
    }

    /// Reads a piece. `false` when there is nothing more now. A file that cannot be read has said
    /// all it will.
    fn read_on(&mut self) -> bool {
        let Ok(chunk) = self.tail.next_lines(&mut self.buffer) else { return false };
        let has_more = chunk.is_some() || !self.tail.is_at_end();
        if let Some(chunk) = chunk {
            self.take(&chunk);
        }
        has_more
    }

    fn take(&mut self, chunk: &Chunk) {
        let mut events = Vec::new();
        self.lines.read(&chunk.bytes, chunk.skipped, &mut events);
        self.ready.extend(events);
    }
}
