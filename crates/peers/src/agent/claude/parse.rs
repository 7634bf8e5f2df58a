//! A line of Claude Code's stream-json to our events: what kind it is, and who reads that kind.
//!
//! A line is read once, typed and borrowed, and costs less than a microsecond. What we do not
//! know is kept as `Unknown`; what cannot be read is a `Warning`; nothing is fatal. What is kept of
//! one line is bounded, whatever it holds. What the kinds say is read in `parse/`.

mod assistant;
mod content;
mod result;
mod system;
#[cfg(test)]
mod tests;
mod user;

use std::borrow::Cow;

use serde::Deserialize;

use windlass_core::agent::AgentEvent;

use crate::tail::MAX_LINE;

pub(crate) use content::TEXT_MAX;
pub(crate) use content::cut_text;
pub(crate) use content::shorten;

/// How the frequent kinds begin, as the CLI writes them: they need no look for their kind.
const ASSISTANT: &str = r#"{"type":"assistant","#;
const USER: &str = r#"{"type":"user","#;

/// How many lines of a stream that cannot be read are told one by one.
const TOLD: u64 = 3;
/// What a longer line says is cut to what may be kept.
const LONG: usize = 64 * 1024;

/// Reads a stream piece by piece. The first few lines that cannot be read are told one by one,
/// the rest are counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines {
    unreadable: u64,
}

impl Lines {
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
        if let Err(error) = try_line(&line, out) {
            let start: String = line.chars().take(60).collect();
            self.warn(out, || format!("unreadable line ({error}): {start}"));
        }
        if line.len() > LONG {
            out.iter_mut().skip(before).for_each(content::cut);
        }
    }

    fn warn(&mut self, out: &mut Vec<AgentEvent>, what: impl FnOnce() -> String) {
        self.unreadable += 1;
        if self.unreadable <= TOLD {
            out.push(AgentEvent::Warning { what: what() });
        }
    }
}

/// Reads a whole stream.
pub fn parse_lines(stream: &[u8], out: &mut Vec<AgentEvent>) {
    let mut lines = Lines::default();
    lines.read(stream, 0, out);
    lines.end(out);
}

fn try_line(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    if line.starts_with(ASSISTANT) {
        return assistant::read(line, out);
    }
    if line.starts_with(USER) {
        return user::read(line, out);
    }
    read_any(line, out)
}

/// Reads a line whose kind may stand anywhere in it.
fn read_any(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    let Kind { kind } = serde_json::from_str(line)?;
    match kind.as_ref() {
        "assistant" => assistant::read(line, out),
        "user" => user::read(line, out),
        "system" => system::read(line, out),
        "result" => result::read(line, out),
        "rate_limit_event" => system::read_rate_limit(line, out),
        other => {
            out.push(AgentEvent::Unknown { what: other.to_owned() });
            Ok(())
        }
    }
}
