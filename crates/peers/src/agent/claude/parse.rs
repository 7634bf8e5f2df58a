//! A line of Claude Code's stream-json to our events: what kind it is, and who reads that kind.
//!
//! A line is read once, typed and borrowed, and costs less than a microsecond. What we do not
//! know is kept as `Unknown`; what cannot be read is a `Warning`; nothing is fatal. What the
//! kinds say is read in `parse/`.

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

pub(crate) use content::shorten;

/// How the frequent kinds begin, as the CLI writes them: they need no look for their kind.
const ASSISTANT: &str = r#"{"type":"assistant","#;
const USER: &str = r#"{"type":"user","#;

/// Reads every line of a chunk.
pub fn parse_lines(chunk: &[u8], out: &mut Vec<AgentEvent>) {
    let mut rest = chunk;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        parse_line(line, out);
        rest = after.get(1..).unwrap_or_default();
    }
}

/// Reads one line; an empty one says nothing.
pub fn parse_line(line: &[u8], out: &mut Vec<AgentEvent>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    // Checked once for all its strings, which is quicker than one by one. A broken character
    // costs that character, not the line.
    let line = std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
    if let Err(error) = try_line(&line, out) {
        let start: String = line.chars().take(60).collect();
        out.push(AgentEvent::Warning { what: format!("unreadable line ({error}): {start}") });
    }
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
