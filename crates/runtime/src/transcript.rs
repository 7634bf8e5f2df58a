//! What the agent said and did in one turn, read from its file piece by piece as it is asked for.
//!
//! A transcript may be larger than memory: no more than one piece of it is held.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::agent::AgentEvent;
use windlass_peers::agent::{AgentLines, Dialect};
use windlass_peers::tail::{Chunk, Tail};

/// How far a transcript was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TranscriptPlace {
    /// The end of the last line of which everything was given out, in bytes.
    pub offset: u64,
    /// How many events of the line after it were given out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub taken: u64,
}

/// A transcript as far as it was read.
#[derive(Debug)]
pub struct TranscriptReader {
    path: PathBuf,
    tail: Tail,
    dialect: Arc<dyn Dialect>,
    lines: AgentLines,
    /// What was read and not given out.
    ready: VecDeque<TranscriptItem>,
    place: TranscriptPlace,
    /// The end of the last whole line that was read.
    whole_to: u64,
    buffer: Vec<u8>,
}

/// An event, and how far the transcript is given out with it.
#[derive(Debug)]
struct TranscriptItem {
    event: AgentEvent,
    after: TranscriptPlace,
}

impl TranscriptReader {
    /// Opens a transcript after what was given out before. It is read from its beginning: a dialect may
    /// need earlier lines to understand later ones.
    pub(crate) fn open(path: &Path, dialect: Arc<dyn Dialect>, place: TranscriptPlace) -> TranscriptReader {
        TranscriptReader::read_from(path, Tail::new(path, 0), dialect, place)
    }

    fn read_from(
        path: &Path,
        tail: Tail,
        dialect: Arc<dyn Dialect>,
        place: TranscriptPlace,
    ) -> TranscriptReader {
        let lines = AgentLines::of(&*dialect);
        let (path, ready, buffer) = (path.to_owned(), VecDeque::new(), Vec::new());
        TranscriptReader { path, tail, lines, dialect, ready, place, whole_to: 0, buffer }
    }

    /// Returns how far it was given out.
    pub fn place(&self) -> TranscriptPlace {
        self.place
    }

    /// Returns how many bytes of the file were not given out.
    pub(crate) fn behind(&self) -> u64 {
        let size = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        size.saturating_sub(self.place.offset)
    }

    /// The next event; none when there is none yet.
    pub fn next_event(&mut self) -> Option<AgentEvent> {
        let event = self.next_whole();
        if event.is_none() && self.tail.has_long_line() {
            // It is in the file: until it is whole it need not be in memory, too.
            self.tail = Tail::new(&self.path, self.whole_to);
        }
        event
    }

    fn next_whole(&mut self) -> Option<AgentEvent> {
        while self.ready.is_empty() && self.read_on() {}
        self.give_out()
    }

    /// The same of one whose turn is over: a last line needs no end, and lines that could not be
    /// read are counted.
    pub fn next_or_end(&mut self) -> Option<AgentEvent> {
        if let Some(event) = self.next_whole() {
            return Some(event);
        }
        if let Some(rest) = self.tail.rest() {
            self.take(&rest);
        }
        if self.ready.is_empty() {
            let mut events = Vec::new();
            self.lines.end(&mut events);
            // As if they were a line behind the last one.
            self.add(events, self.tail.read_to(), self.tail.read_to().saturating_add(1));
        }
        self.give_out()
    }

    fn give_out(&mut self) -> Option<AgentEvent> {
        let spoken = self.ready.pop_front()?;
        self.place = spoken.after;
        Some(spoken.event)
    }

    /// Looks at what comes next, in at most so many bytes, and gives nothing out.
    pub fn look_ahead(&self, most: u64, mut see: impl FnMut(&AgentEvent) -> ControlFlow<()>) {
        if self.ready.iter().any(|spoken| see(&spoken.event).is_break()) {
            return;
        }
        let (tail, dialect) = (self.tail.ahead(), Arc::clone(&self.dialect));
        let mut ahead = TranscriptReader::read_from(&self.path, tail, dialect, self.place);
        let end = self.tail.read_to().saturating_add(most);
        while ahead.tail.read_to() < end && ahead.read_on() {
            if ahead.ready.drain(..).any(|spoken| see(&spoken.event).is_break()) {
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

    /// Reads line by line, so that the place of each event is known.
    fn take(&mut self, chunk: &Chunk) {
        self.whole_to = chunk.offset;
        let mut start = chunk.offset.saturating_sub(chunk.bytes.len() as u64);
        let mut skipped = chunk.skipped;
        let mut events = Vec::new();
        if chunk.bytes.is_empty() {
            self.lines.read(&[], skipped, &mut events);
            self.add(std::mem::take(&mut events), start, chunk.offset);
        }
        for line in chunk.bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len() as u64;
            self.lines.read(line, std::mem::take(&mut skipped), &mut events);
            if !events.is_empty() {
                self.add(std::mem::take(&mut events), start, end);
            }
            start = end;
        }
    }

    /// Keeps the events of a line that were not given out before.
    fn add(&mut self, events: Vec<AgentEvent>, start: u64, end: u64) {
        let last = events.len() as u64;
        for (event, number) in events.into_iter().zip(1..) {
            let after = match number == last {
                true => TranscriptPlace { offset: end, taken: 0 },
                false => TranscriptPlace { offset: start, taken: number },
            };
            let TranscriptPlace { offset, taken } = self.place;
            let is_given_out = end <= offset || start == offset && number <= taken;
            if !is_given_out {
                self.ready.push_back(TranscriptItem { event, after });
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
