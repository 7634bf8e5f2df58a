//! A line of Claude Code's stream-json to our events: what kind it is, and who reads that kind.
//!
//! A line is read once, typed and borrowed, and costs less than a microsecond. What we do not
//! know is kept as `Unknown`. What the kinds say is read in `parse/`.

mod assistant;
mod content;
mod result;
mod system;
#[cfg(test)]
mod tests;
mod user;

use std::borrow::Cow;

use serde::Deserialize;

use windlass_core::agent::{AgentEvent, ApiTrouble};

/// How the frequent kinds begin, as the CLI writes them: they need no look for their kind.
const ASSISTANT: &str = r#"{"type":"assistant","#;
const USER: &str = r#"{"type":"user","#;

/// Reads one line.
pub(super) fn read_line(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
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

/// What kind an error of the API is, by its HTTP status and the CLI's word for it.
fn trouble(status: Option<u16>, word: &str) -> ApiTrouble {
    match (status, word) {
        (Some(429), _) | (_, "rate_limit") => ApiTrouble::RateLimit,
        (Some(408 | 409 | 425 | 500..), _) | (None, "server_error" | "overloaded" | "unknown") => {
            ApiTrouble::Transient
        }
        (Some(401 | 403), _) | (_, "authentication_failed") => ApiTrouble::Login,
        _ => ApiTrouble::Lasting,
    }
}
