//! Translates the lines of `opencode run --format json`, and those of the plugin, into our events.
//!
//! OpenCode prints a part of a message when it is finished, and no last line: the end of a step whose reason is not a
//! tool call is the end of a turn. Unknown kinds become `Unknown`. The files in `parse/` read the individual kinds.

mod failure;
mod part;
mod plugin;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;

use windlass_core::agent::AgentEvent;
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use super::super::dialect::ReadLine;
use super::schema::LineHead;

/// The reader of one turn.
#[derive(Debug, Default)]
pub(super) struct OpencodeReader {
    /// The conversation was reported.
    has_session: bool,
    /// The calls that the plugin reported before they ran.
    called: HashSet<String>,
    /// The calls whose result was reported. OpenCode prints a call again when it forgets its output.
    finished: HashSet<String>,
    /// The usage since the last result.
    open: Usage,
    /// The error of the step was reported. OpenCode and the plugin both print it.
    has_failed: bool,
}

impl ReadLine for OpencodeReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        self.read(line, out).map_err(|error| error.to_string())
    }

    fn time(&self, line: &str) -> Option<Moment> {
        const KEY: &str = r#""timestamp":"#;
        let (_, after) = line.split_once(KEY)?;
        let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().map(Moment)
    }
}

impl OpencodeReader {
    fn read(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let kind = match frequent_kind(line) {
            Some(kind) if self.has_session => Cow::Borrowed(kind),
            _ => self.read_head(line, out)?,
        };
        match kind.as_ref() {
            "text" => self.read_text(line, out),
            "reasoning" => self.read_reasoning(line, out),
            "tool_use" => self.read_tool(line, out),
            "step_finish" => self.read_step_finish(line, out),
            "step_start" => {
                self.has_failed = false;
                Ok(())
            }
            "error" | "windlass_error" => self.read_error(line, out),
            "windlass_start" => Ok(()),
            "windlass_tool" => self.read_call(line, out),
            "windlass_retry" => self.read_retry(line, out),
            "windlass_side" => self.read_side(line, out),
            other => {
                out.push(AgentEvent::Unknown { what: other.to_owned() });
                Ok(())
            }
        }
    }

    /// Reads a line whose `type` may be anywhere in it, and reports the conversation.
    fn read_head<'a>(
        &mut self,
        line: &'a str,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<Cow<'a, str>> {
        let LineHead { kind, session } = serde_json::from_str(line)?;
        if let Some(session) = session.filter(|_| !self.has_session) {
            self.has_session = true;
            let model = if kind == "windlass_start" { plugin::model(line)? } else { String::new() };
            out.push(AgentEvent::SessionInit { session: session.0.into_owned(), model, tools: Vec::new() });
        }
        Ok(kind)
    }
}

/// Returns the kind of a line as OpenCode writes it, without a search.
fn frequent_kind(line: &str) -> Option<&str> {
    let (kind, _) = line.strip_prefix(r#"{"type":""#)?.split_once(r#"","timestamp":"#)?;
    (kind.len() < 20).then_some(kind)
}
