//! Translates a line of `codex exec --json` into our events by its kind.
//!
//! Each line is parsed once, typed. Unknown kinds become `Unknown`. The files in `parse/` read the individual
//! kinds.

mod failure;
mod item;
mod reset;
#[cfg(test)]
mod tests;
mod turn;

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use windlass_core::agent::AgentEvent;

use super::super::dialect::ReadLine;

/// The beginnings of the frequent kinds, as the CLI writes them, which save a search for the kind.
const STARTED: &str = r#"{"type":"item.started","#;
const COMPLETED: &str = r#"{"type":"item.completed","#;
/// The most items that are remembered as started.
const OPEN_MAX: usize = 1000;

/// A reader of one turn. It knows which items have started, because some kinds only complete.
#[derive(Debug, Default)]
pub(super) struct CodexReader {
    started: HashSet<String>,
    /// The agent started subagents, whose usage Codex does not report.
    has_subagents: bool,
}

impl ReadLine for CodexReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        self.read(line, out).map_err(|error| error.to_string())
    }
}

impl CodexReader {
    fn read(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        if line.starts_with(COMPLETED) {
            return self.read_completed(line, out);
        }
        if line.starts_with(STARTED) {
            return self.read_started(line, out);
        }
        self.read_any(line, out)
    }

    /// Reads a line whose `type` may be anywhere in it.
    fn read_any(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        let Kind { kind } = serde_json::from_str(line)?;
        match kind.as_ref() {
            "item.started" => self.read_started(line, out),
            "item.completed" => self.read_completed(line, out),
            "thread.started" => turn::read_thread(line, out),
            "turn.completed" => turn::read_completed(line, self.has_subagents, out),
            "turn.failed" => turn::read_failed(line, out),
            "error" => turn::read_error(line, out),
            // The next lines say more.
            "turn.started" | "item.updated" => Ok(()),
            other => {
                out.push(AgentEvent::Unknown { what: other.to_owned() });
                Ok(())
            }
        }
    }

    fn read_started(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let item = item::read(line)?;
        if let Some(event) = item.start() {
            if self.started.len() < OPEN_MAX {
                self.started.insert(item.id().to_owned());
            }
            out.push(event);
        }
        Ok(())
    }

    fn read_completed(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let item = item::read(line)?;
        let has_started = self.started.remove(item.id());
        self.has_subagents |= item.is_subagent();
        out.extend(item.start().filter(|_| !has_started));
        out.extend(item.end());
        Ok(())
    }
}
