//! Errors that end a turn.

use std::collections::BTreeMap;

use windlass_core::agent::{AgentEvent, ApiTrouble, FailureCause, RateLimit, TurnFailure, TurnResult};
use windlass_core::time::Moment;

use super::super::schema::{NamedError, OpencodeErrorLine};
use super::OpencodeReader;

impl OpencodeReader {
    pub(super) fn read_error(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let OpencodeErrorLine { timestamp, error } = serde_json::from_str(line)?;
        // The plugin's line comes first and knows the cause; OpenCode's may be `Unexpected server error`.
        if self.has_failed {
            return Ok(());
        }
        let cause = cause(&error);
        if cause == FailureCause::Api(ApiTrouble::RateLimit) {
            let headers = error.data.response_headers.as_ref();
            let resets_at = headers.and_then(retry_after).map(|wait| Moment(timestamp.saturating_add(wait)));
            out.push(AgentEvent::RateLimit(RateLimit { rejected: true, resets_at, limit: None }));
        }
        let said = Some(error.data.message).filter(|message| !message.is_empty());
        self.fail(cause, &error.name, said, out);
        Ok(())
    }

    /// Reports that the turn failed.
    pub(super) fn fail(
        &mut self,
        cause: FailureCause,
        word: &str,
        said: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        self.has_failed = true;
        let failure = Some(TurnFailure { cause, word: word.to_owned(), said });
        let usage = std::mem::take(&mut self.open);
        out.push(AgentEvent::Result(Box::new(TurnResult { failure, usage, ..TurnResult::default() })));
    }
}

/// Returns the cause of an error by its name, and for an error of the model's API by its HTTP status.
fn cause(error: &NamedError) -> FailureCause {
    let data = &error.data;
    let trouble = match (error.name.as_str(), data.status_code) {
        ("MessageAbortedError", _) => return FailureCause::CutOff,
        ("ProviderAuthError", _) | ("APIError", Some(401 | 403)) => ApiTrouble::Login,
        ("ProviderModelNotFoundError", _) | ("APIError", Some(404)) => ApiTrouble::Model,
        // OpenCode's own sentence; this error has no other mark.
        ("UnknownError", None) if data.message.starts_with("Model not found: ") => ApiTrouble::Model,
        ("APIError", Some(429)) => ApiTrouble::RateLimit,
        ("APIError", Some(408 | 409 | 425 | 500..)) => ApiTrouble::Transient,
        ("APIError", _) if data.is_retryable => ApiTrouble::Transient,
        ("APIError" | "ContextOverflowError" | "ContentFilterError", _) => ApiTrouble::Lasting,
        _ => return FailureCause::Other,
    };
    FailureCause::Api(trouble)
}

/// Returns the milliseconds to wait that the service named.
fn retry_after(headers: &BTreeMap<String, String>) -> Option<i64> {
    let number = |name: &str| headers.get(name)?.trim().parse::<f64>().ok();
    // A number that is absurd saturates.
    number("retry-after-ms").or_else(|| Some(number("retry-after")? * 1000.0)).map(|wait| wait as i64)
}
