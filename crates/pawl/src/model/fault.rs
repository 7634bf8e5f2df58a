//! The turns in which the service fails: errors, limits, and streams that do not come to their end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::turn::{ModelTurn, StreamBreak, TurnContent, say};

/// An error of the service. Each API has its own words for it.
#[derive(Debug, Clone)]
pub(super) enum ServiceFault {
    Status { status: u16, kind: String },
    ServerError,
    Unauthorized,
    RateLimit { retry_after: Duration },
    UsageLimit { resets_in: Duration },
}

/// An error as it is sent.
#[derive(Debug, PartialEq)]
pub(super) struct ApiRefusal {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: serde_json::Value,
}

/// Makes an API error of this status. The kind is the `type` of Anthropic and OpenAI, and Gemini's `status`.
pub fn fail(status: u16, kind: &str) -> ModelTurn {
    ModelTurn::failing(ServiceFault::Status { status, kind: kind.to_owned() }).message("scripted")
}

/// Makes an internal error of the service: 500.
pub fn server_error() -> ModelTurn {
    ModelTurn::failing(ServiceFault::ServerError)
}

/// Makes an answer that refuses the key: 401.
pub fn unauthorized() -> ModelTurn {
    ModelTurn::failing(ServiceFault::Unauthorized)
}

/// Makes a short limit, as for too many requests in a minute: 429, and when to try again.
pub fn rate_limit(retry_after: Duration) -> ModelTurn {
    ModelTurn::failing(ServiceFault::RateLimit { retry_after })
}

/// Makes a limit that trying again does not lift, as of a day or a plan: 429, and when it resets.
pub fn usage_limit(resets_in: Duration) -> ModelTurn {
    ModelTurn::failing(ServiceFault::UsageLimit { resets_in })
}

/// Makes a turn that cuts the connection after this number of events, at the latest before the last one.
pub fn cut(after_events: usize) -> ModelTurn {
    say("this sentence is never heard to its end").breaking(StreamBreak::Cut(after_events))
}

/// Makes a turn that says some words, and then nothing more until the client leaves. A turn behind a closed
/// [`ModelGate`](super::Gate) does not even begin.
pub fn hang() -> ModelTurn {
    say("this sentence is never heard to its end").breaking(StreamBreak::Stall(usize::MAX))
}

impl ModelTurn {
    fn failing(fault: ServiceFault) -> ModelTurn {
        ModelTurn::of(TurnContent::Fault { fault, message: None, headers: Vec::new() })
    }

    fn breaking(mut self, breaks: StreamBreak) -> ModelTurn {
        self.breaks = Some(breaks);
        self
    }
}

/// Returns the time of a reset in seconds since 1970.
pub(super) fn epoch_after(duration: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + duration).as_secs()
}

/// Returns whole seconds, at least one.
pub(super) fn seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

/// Makes a header.
pub(super) fn header(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}
