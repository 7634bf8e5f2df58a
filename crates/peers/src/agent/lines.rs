//! Reads the output of an agent CLI line by line, in any dialect.
//!
//! No line is fatal: an unreadable line becomes a `Warning`. The size of the kept data per line is
//! bounded.

use std::borrow::Cow;

use windlass_core::agent::AgentEvent;
use windlass_core::time::Moment;

use super::dialect::{Dialect, ReadLine};
use crate::tail::MAX_LINE;

/// The maximum number of bytes kept of one text: more than a model writes at once.
pub(super) const TEXT_MAX: usize = 1 << 20;
/// The maximum number of bytes kept of a name or an id.
const NAME_MAX: usize = 1024;
/// The number of unreadable lines that get a warning of their own.
const TOLD: u64 = 3;
/// The size above which the events of a line are checked and cut.
const LONG: usize = 64 * 1024;

/// A reader of a stream in chunks. The first few unreadable lines each become a warning; the rest are
/// counted.
#[derive(Debug)]
pub struct AgentLines {
    reader: Box<dyn ReadLine>,
    unreadable: u64,
}

impl AgentLines {
    /// Creates a reader for the output of one turn in this dialect.
    pub fn of(dialect: &dyn Dialect) -> AgentLines {
        AgentLines::with(dialect.reader())
    }

    pub(super) fn with(reader: Box<dyn ReadLine>) -> AgentLines {
        AgentLines { reader, unreadable: 0 }
    }

    /// Returns the reader, to write lines with it.
    pub(super) fn reader(&mut self) -> &mut dyn ReadLine {
        &mut *self.reader
    }

    /// Reads whole lines. `skipped` is the size of the overlong lines left out before them.
    pub fn read(&mut self, chunk: &[u8], skipped: u64, out: &mut Vec<AgentEvent>) {
        if skipped > 0 {
            let most = MAX_LINE >> 20;
            self.warn(out, || format!("left out {skipped} bytes: a line may be at most {most} MB long"));
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            self.read_line(line, out);
            rest = after.get(1..).unwrap_or_default();
        }
    }

    /// Returns the time at which the CLI wrote a line, if the line contains it.
    pub fn time(&self, line: &[u8]) -> Option<Moment> {
        self.reader.time(std::str::from_utf8(line).ok()?.trim_ascii())
    }

    /// Ends the stream and adds a warning with the number of further unreadable lines.
    pub fn end(&mut self, out: &mut Vec<AgentEvent>) {
        let counted = std::mem::take(&mut self.unreadable).saturating_sub(TOLD);
        if counted > 0 {
            let lines = if counted == 1 { "line" } else { "lines" };
            out.push(AgentEvent::Warning { what: format!("{counted} more unreadable {lines}") });
        }
    }

    fn read_line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        // In a flood of lines that are not events, parsing each would take longer than printing them.
        if self.unreadable >= TOLD && line.first() != Some(&b'{') {
            self.unreadable += 1;
            return;
        }
        // Checking the whole line once is faster than checking each string. An invalid character costs
        // only that character, not the line.
        let line = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let before = out.len();
        if let Err(error) = self.reader.read_line(&line, out) {
            let start: String = line.chars().take(60).collect();
            self.warn(out, || format!("unreadable line ({error}): {start}"));
        }
        if line.len() > LONG {
            out.iter_mut().skip(before).for_each(cut);
        }
    }

    fn warn(&mut self, out: &mut Vec<AgentEvent>, what: impl FnOnce() -> String) {
        self.unreadable += 1;
        if self.unreadable <= TOLD {
            out.push(AgentEvent::Warning { what: what() });
        }
    }
}

/// Reads a whole stream of a dialect.
pub fn read_stream(dialect: &dyn Dialect, stream: &[u8], out: &mut Vec<AgentEvent>) {
    let mut lines = AgentLines::of(dialect);
    lines.read(stream, 0, out);
    lines.end(out);
}

/// Returns at most `max` bytes, cut at a character boundary.
pub(super) fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Cuts the texts of an event to the sizes that may be kept.
fn cut(event: &mut AgentEvent) {
    match event {
        AgentEvent::SessionInit { session, model, tools } => {
            [session, model].into_iter().chain(tools).for_each(cut_name);
        }
        AgentEvent::Text { text, message_id, .. } => {
            cut_text(text);
            cut_name(message_id);
        }
        AgentEvent::Thinking { text, .. } => cut_text(text),
        AgentEvent::ToolUse { id, name, .. } => [id, name].into_iter().for_each(cut_name),
        AgentEvent::ToolResult { id, .. } => cut_name(id),
        AgentEvent::Spent { message_id, .. } => cut_name(message_id),
        AgentEvent::ApiError { error, text, .. } => {
            cut_name(error);
            cut_text(text);
        }
        AgentEvent::Retry(retry) => cut_name(&mut retry.error),
        AgentEvent::RateLimit(limit) => limit.limit.iter_mut().for_each(cut_name),
        AgentEvent::Notice { about, text } => {
            cut_name(about);
            cut_text(text);
        }
        AgentEvent::Result(result) => {
            result.text.iter_mut().for_each(cut_text);
            if let Some(failure) = &mut result.failure {
                cut_name(&mut failure.word);
                failure.said.iter_mut().for_each(cut_text);
            }
        }
        // The reply must name the request as the CLI does.
        AgentEvent::Asks(_) | AgentEvent::AskWithdrawn { .. } => {}
        AgentEvent::Unknown { what } | AgentEvent::Warning { what } => cut_name(what),
    }
}

/// Cuts a long text in its middle: an agent summarises its work at the end.
pub(super) fn cut_text(text: &mut String) {
    if text.len() <= TEXT_MAX {
        return;
    }
    let half = TEXT_MAX / 2;
    let start = (0..=half).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let end = (text.len() - half..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (head, tail) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    *text = format!("{head}\n\n(Windlass left out {} bytes here)\n\n{tail}", end - start);
}

fn cut_name(name: &mut String) {
    if name.len() > NAME_MAX {
        *name = shorten(name, NAME_MAX);
    }
}
