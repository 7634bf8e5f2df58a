//! Reads the events of one turn from the agent's output file, in pieces.
//!
//! A transcript may be larger than memory, so at most one piece is in memory.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::agent::AgentEvent;
use windlass_core::time::Moment;
use windlass_peers::agent::{AgentLines, Dialect};
use windlass_peers::tail::{Chunk, Tail};

/// A position in a transcript, between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TranscriptPlace {
    /// The end of the last line whose events were all returned, in bytes.
    pub offset: u64,
    /// The number of events already returned from the line after it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub taken: u64,
}

/// A reader of one transcript.
#[derive(Debug)]
pub struct TranscriptReader {
    path: PathBuf,
    tail: Tail,
    dialect: Arc<dyn Dialect>,
    lines: AgentLines,
    /// Events that were read and not yet returned.
    ready: VecDeque<TranscriptItem>,
    place: TranscriptPlace,
    /// The time of the last returned event.
    at: Option<Moment>,
    /// The time of the last line that has one.
    stamp: Option<Moment>,
    /// The end of the last complete line that was read.
    whole_to: u64,
    buffer: Vec<u8>,
}

/// An event, and the position after it.
#[derive(Debug)]
struct TranscriptItem {
    event: AgentEvent,
    after: TranscriptPlace,
    /// The time of the line, or of an earlier line if it has none.
    at: Option<Moment>,
}

impl TranscriptReader {
    /// Opens a transcript and skips the events before `place`. Reads the file from its start, because a
    /// dialect may need earlier lines to understand later ones.
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
        let (at, stamp) = (None, None);
        TranscriptReader { path, tail, lines, dialect, ready, place, at, stamp, whole_to: 0, buffer }
    }

    /// Returns the position after the last returned event.
    pub fn place(&self) -> TranscriptPlace {
        self.place
    }

    /// Returns the number of bytes of the file that were not returned yet.
    pub(crate) fn behind(&self) -> u64 {
        let size = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        size.saturating_sub(self.place.offset)
    }

    /// Returns the next event, or `None` if there is none yet.
    pub fn next_event(&mut self) -> Option<AgentEvent> {
        self.next_time()?;
        self.give_out()
    }

    fn next_whole(&mut self) -> Option<AgentEvent> {
        while self.ready.is_empty() && self.read_on() {}
        self.give_out()
    }

    /// Returns the next event of a finished turn. The last line may lack its line end, and unreadable lines
    /// are counted.
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
            // Gives the final events a position after the last line.
            self.add(events, self.tail.read_to(), self.tail.read_to().saturating_add(1));
        }
        self.give_out()
    }

    fn give_out(&mut self) -> Option<AgentEvent> {
        let spoken = self.ready.pop_front()?;
        self.place = spoken.after;
        self.at = spoken.at;
        Some(spoken.event)
    }

    /// Returns the time of the last returned event, as far as the transcript has times.
    pub fn time(&self) -> Option<Moment> {
        self.at
    }

    /// Returns the time of the next event without returning the event. `None` if there is no next event now;
    /// the inner value is `None` if the transcript has no times.
    pub(crate) fn next_time(&mut self) -> Option<Option<Moment>> {
        while self.ready.is_empty() && self.read_on() {}
        if self.ready.is_empty() && self.tail.has_long_line() {
            // The file keeps the incomplete line, so memory need not.
            self.tail = Tail::new(&self.path, self.whole_to);
        }
        self.ready.front().map(|spoken| spoken.at)
    }

    /// Shows the next events to `see`, from at most `most` bytes, without returning them.
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

    /// Reads one piece. Returns false if there is nothing more now, or if the file cannot be read.
    fn read_on(&mut self) -> bool {
        let Ok(chunk) = self.tail.next_lines(&mut self.buffer) else { return false };
        let has_more = chunk.is_some() || !self.tail.is_at_end();
        if let Some(chunk) = chunk {
            self.take(&chunk);
        }
        has_more
    }

    /// Reads line by line, so that each event gets its position.
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
                self.stamp = self.lines.time(line).or(self.stamp);
                self.add(std::mem::take(&mut events), start, end);
            }
            start = end;
        }
    }

    /// Queues the events of a line that were not returned before.
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
                self.ready.push_back(TranscriptItem { event, after, at: self.stamp });
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
