//! What an agent CLI prints, line by line, in whatever dialect.
//!
//! Nothing is fatal: a line that cannot be read is a `Warning`. What is kept of one line is bounded,
//! whatever it holds.

use std::borrow::Cow;

use windlass_core::agent::AgentEvent;

use super::dialect::{Dialect, ReadLine};
use crate::tail::MAX_LINE;

/// The most of one text that is kept: more than a model says at once.
pub(super) const TEXT_MAX: usize = 1 << 20;
/// The most of a name or an id.
const NAME_MAX: usize = 1024;
/// How many lines of a stream that cannot be read are told one by one.
const TOLD: u64 = 3;
/// What a longer line says is cut to what may be kept.
const LONG: usize = 64 * 1024;

/// Reads a stream piece by piece. The first few lines that cannot be read are told one by one,
/// the rest are counted.
#[derive(Debug)]
pub struct AgentLines {
    reader: Box<dyn ReadLine>,
    unreadable: u64,
}

impl AgentLines {
    /// Reads what a CLI of this dialect prints in one turn.
    pub fn of(dialect: &dyn Dialect) -> AgentLines {
        AgentLines { reader: dialect.reader(), unreadable: 0 }
    }

    /// Reads whole lines, and says that so many bytes of lines that were too long came before.
    pub fn read(&mut self, chunk: &[u8], skipped: u64, out: &mut Vec<AgentEvent>) {
        if skipped > 0 {
            let most = MAX_LINE >> 20;
            self.warn(out, || format!("left out {skipped} bytes: a line may have {most} MB"));
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            self.read_line(line, out);
            rest = after.get(1..).unwrap_or_default();
        }
    }

    /// The stream is over: says how many lines were counted and not told.
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
        // In a flood of lines that are no events, looking at each would take longer than the flood.
        if self.unreadable >= TOLD && line.first() != Some(&b'{') {
            self.unreadable += 1;
            return;
        }
        // Checked once for all its strings, which is quicker than one by one. A broken character
        // costs that character, not the line.
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

/// At most `max` bytes, cut at a character.
pub(super) fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Cuts what an event says to what may be kept of it.
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
        AgentEvent::Unknown { what } | AgentEvent::Warning { what } => cut_name(what),
    }
}

/// Cuts a long text in its middle: an agent says at the end what it has done.
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
