//! Failed requests to the model, and the error that ends a turn.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::agent::{AgentEvent, ApiRetry, ApiTrouble, FailureCause, RateLimit, TurnFailure};

use super::quota::exhausted;
use super::{CopilotLine, CopilotReader};

/// A failed request to the model.
#[derive(Debug, Clone)]
pub(super) struct FailedCall {
    status: Option<u16>,
    /// The attempt, counted from 1.
    attempt: u32,
    /// The answer had no error in it: it may come from a proxy.
    is_bodyless: bool,
    /// The limit of the account that is used up.
    limit: Option<RateLimit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFailure<'a> {
    #[serde(default)]
    status_code: Option<u16>,
    #[serde(default)]
    retry_attempt: u32,
    #[serde(borrow, default)]
    bad_request_kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    quota_snapshots: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TurnRetry {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionError<'a> {
    #[serde(default)]
    error_type: String,
    #[serde(borrow, default)]
    error_code: Option<Cow<'a, str>>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    status_code: Option<u16>,
}

impl CopilotReader {
    pub(super) fn read_failed_call(&mut self, line: &str, _: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let call = CopilotLine::<CallFailure<'_>>::read(line)?.data;
        self.failed = Some(FailedCall {
            status: call.status_code,
            attempt: call.retry_attempt.saturating_add(1),
            is_bodyless: call.bad_request_kind.as_deref() == Some("bodyless"),
            limit: call.quota_snapshots.and_then(|snapshots| exhausted(snapshots.get())),
        });
        Ok(())
    }

    pub(super) fn read_retry(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let error = CopilotLine::<TurnRetry>::read(line)?.data.reason;
        let (attempt, status) = self.failed.as_ref().map_or((1, None), |call| (call.attempt, call.status));
        out.push(AgentEvent::Retry(ApiRetry { attempt, max_retries: 0, delay_ms: 0, status, error }));
        Ok(())
    }

    pub(super) fn read_error(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let line = CopilotLine::<SessionError<'_>>::read(line)?;
        let is_side = line.is_side();
        let error = line.data;
        if is_side {
            out.push(AgentEvent::Notice { about: error.error_type, text: error.message });
            return Ok(());
        }
        let is_bodyless = self.failed.as_ref().is_some_and(|call| call.is_bodyless);
        let trouble = trouble(error.status_code, &error.error_type, is_bodyless);
        if trouble == ApiTrouble::RateLimit {
            out.extend(self.failed.take().and_then(|call| call.limit).map(AgentEvent::RateLimit));
        }
        let word = error.error_code.map_or(error.error_type, Cow::into_owned);
        out.push(AgentEvent::ApiError { trouble, error: word.clone(), text: error.message.clone() });
        let said = Some(error.message);
        self.failure = Some(TurnFailure { cause: FailureCause::Api(trouble), word, said });
        Ok(())
    }
}

/// Classifies an error by its HTTP status and the CLI's name for it.
fn trouble(status: Option<u16>, word: &str, is_bodyless: bool) -> ApiTrouble {
    match (status, word) {
        // The premium requests or the credits of the account are used up.
        (_, "quota" | "rate_limit") | (Some(429), _) => ApiTrouble::RateLimit,
        (_, "authentication" | "authorization") | (Some(401 | 403), _) => ApiTrouble::Login,
        (Some(404), _) => ApiTrouble::Model,
        (Some(408 | 409 | 425 | 500..), _) => ApiTrouble::Transient,
        // No answer at all.
        (None, "query") => ApiTrouble::Transient,
        (Some(400), "query") if is_bodyless => ApiTrouble::Transient,
        _ => ApiTrouble::Lasting,
    }
}
