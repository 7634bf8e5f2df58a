//! Classifies the errors of the model's service.
//!
//! Codex reports them as sentences of its own, with the HTTP status at a fixed place. Only these lines are read,
//! never what a tool or the agent says.

use windlass_core::agent::ApiTrouble;

/// The meaning of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceError {
    Api(ApiTrouble),
    /// Codex repeats the request.
    Retried {
        attempt: u32,
        of: u32,
    },
    Other,
}

/// The words before an HTTP status.
const STATUS: [&str; 2] = ["unexpected status ", "exceeded retry limit, last status: "];
/// The beginning of a notice that Codex repeats a request: `Reconnecting... 2/5`.
const RETRY: &str = "Reconnecting... ";

/// The beginnings of Codex's sentences without a status.
const SENTENCES: &[(&str, ApiTrouble)] = &[
    ("You've hit your usage limit", ApiTrouble::RateLimit),
    ("You’ve hit your usage limit", ApiTrouble::RateLimit),
    ("You hit your spend cap", ApiTrouble::Lasting),
    ("Your workspace is out of credits", ApiTrouble::Lasting),
    ("Quota exceeded", ApiTrouble::Lasting),
    ("To use Codex with your ChatGPT plan", ApiTrouble::Lasting),
    ("Selected model is at capacity", ApiTrouble::Transient),
    ("We're currently experiencing high demand", ApiTrouble::Transient),
    ("We’re currently experiencing high demand", ApiTrouble::Transient),
    ("stream disconnected before completion", ApiTrouble::Transient),
    ("Connection failed", ApiTrouble::Transient),
    ("Error while reading the server response", ApiTrouble::Transient),
    ("error sending request", ApiTrouble::Transient),
    ("request timed out", ApiTrouble::Transient),
    ("timeout waiting for", ApiTrouble::Transient),
    ("Missing environment variable", ApiTrouble::Login),
    ("Your access token could not be refreshed", ApiTrouble::Login),
    ("Your session has ended", ApiTrouble::Login),
];

/// Classifies an error by its message.
pub(super) fn of(message: &str) -> ServiceError {
    if let Some(retry) = message.strip_prefix(RETRY).and_then(retried) {
        return retry;
    }
    if let Some(status) = status(message).filter(|_| STATUS.iter().any(|words| message.starts_with(words))) {
        return ServiceError::Api(trouble(status));
    }
    let known = SENTENCES.iter().find(|(sentence, _)| message.starts_with(sentence));
    known.map_or(ServiceError::Other, |(_, trouble)| ServiceError::Api(*trouble))
}

/// Returns the HTTP status of an error, if the message has one.
pub(super) fn status(message: &str) -> Option<u16> {
    let after = STATUS.iter().find_map(|words| Some(message.split_once(words)?.1))?;
    after.get(..3)?.parse().ok()
}

fn retried(counts: &str) -> Option<ServiceError> {
    let (attempt, rest) = counts.split_once('/')?;
    let of = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some(ServiceError::Retried { attempt: attempt.parse().ok()?, of: of.parse().ok()? })
}

fn trouble(status: u16) -> ApiTrouble {
    match status {
        429 => ApiTrouble::RateLimit,
        408 | 409 | 425 | 500.. => ApiTrouble::Transient,
        401 | 403 => ApiTrouble::Login,
        404 => ApiTrouble::Model,
        _ => ApiTrouble::Lasting,
    }
}
