//! The turns in which the service fails: errors, limits, and streams that do not come to their end.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::turn::{Break, Turn, What, say};

/// An error of the service. Each API has its own words for it.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    Status { status: u16, kind: String },
    ServerError,
    Unauthorized,
    RateLimit { retry_after: Duration },
    UsageLimit { resets_in: Duration },
}

/// An error as it is sent.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: serde_json::Value,
}

/// Makes an API error of this status. The kind is the `type` of Anthropic and OpenAI, and Gemini's `status`.
pub fn fail(status: u16, kind: &str) -> Turn {
    Turn::failing(Fault::Status { status, kind: kind.to_owned() }).message("scripted")
}

/// Makes an internal error of the service: 500.
pub fn server_error() -> Turn {
    Turn::failing(Fault::ServerError)
}

/// Makes an answer that refuses the key: 401.
pub fn unauthorized() -> Turn {
    Turn::failing(Fault::Unauthorized)
}

/// Makes a short limit, as for too many requests in a minute: 429, and when to try again.
pub fn rate_limit(retry_after: Duration) -> Turn {
    Turn::failing(Fault::RateLimit { retry_after })
}

/// Makes a limit that trying again does not lift, as of a day or a plan: 429, and when it resets.
pub fn usage_limit(resets_in: Duration) -> Turn {
    Turn::failing(Fault::UsageLimit { resets_in })
}

/// Makes a turn that cuts the connection after this number of events, at the latest before the last one.
pub fn cut(after_events: usize) -> Turn {
    say("this sentence is never heard to its end").breaking(Break::Cut(after_events))
}

/// Makes a turn that says some words, and then nothing more until the client leaves. A turn behind a closed
/// [`Gate`](super::Gate) does not even begin.
pub fn hang() -> Turn {
    say("this sentence is never heard to its end").breaking(Break::Stall(usize::MAX))
}

impl Turn {
    fn failing(fault: Fault) -> Turn {
        Turn::of(What::Fault { fault, message: None, headers: Vec::new() })
    }

    fn breaking(mut self, breaks: Break) -> Turn {
        self.breaks = Some(breaks);
        self
    }
}

/// Returns the time of a reset in seconds since 1970.
pub(super) fn epoch_after(duration: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
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
