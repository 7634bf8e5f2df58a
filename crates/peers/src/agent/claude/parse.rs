//! Translates a line of Claude Code's stream-json into our events by its kind.
//!
//! Each line is parsed once, typed and borrowed, in less than a microsecond. Unknown kinds become
//! `Unknown`. The files in `parse/` read the individual kinds.

mod assistant;
mod content;
mod control;
mod result;
mod system;
#[cfg(test)]
mod tests;
mod user;

use std::borrow::Cow;

use serde::Deserialize;

use windlass_core::agent::{AgentEvent, ApiTrouble};

/// The beginnings of the frequent kinds, as the CLI writes them, which save a search for the kind.
const ASSISTANT: &str = r#"{"type":"assistant","#;
const USER: &str = r#"{"type":"user","#;

pub(super) fn read_line(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    if line.starts_with(ASSISTANT) {
        return assistant::read(line, out);
    }
    if line.starts_with(USER) {
        return user::read(line, out);
    }
    read_any(line, out)
}

/// Reads a line whose `type` may be anywhere in it.
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
        "control_request" => control::read_request(line, out),
        "control_cancel_request" => control::read_cancel(line, out),
        other => {
            out.push(AgentEvent::Unknown { what: other.to_owned() });
            Ok(())
        }
    }
}

/// Classifies an API error by its HTTP status and the CLI's name for it.
///
/// The CLI knows the errors that a request causes by itself: `invalid_request` (the prompt is too long),
/// `billing_error`, `model_not_found`. A 400 that it calls `unknown` may be a stray error of the service or of
/// a proxy. Nothing tells these apart from a malformed conversation, so all of them are retried.
fn trouble(status: Option<u16>, word: &str) -> ApiTrouble {
    match (status, word) {
        (Some(429), _) | (_, "rate_limit") => ApiTrouble::RateLimit,
        (Some(408 | 409 | 425 | 500..), _)
        | (None, "server_error" | "overloaded" | "unknown")
        | (Some(400), "unknown" | "") => ApiTrouble::Transient,
        (Some(401 | 403), _) | (_, "authentication_failed") => ApiTrouble::Login,
        (Some(404), _) | (_, "model_not_found") => ApiTrouble::Model,
        _ => ApiTrouble::Lasting,
    }
}
