//! Failures of a prompt: the reasons to stop and the errors of JSON-RPC.

use serde_json::Value;
use windlass_core::agent::{ApiTrouble, FailureCause, TurnFailure};

use super::wire::{PromptResult, RpcError};

/// The error of an agent whose user is not logged in.
const LOGIN_NEEDED: i64 = -32000;
const CANCELLED: i64 = -32800;
const INTERNAL: i64 = -32603;

/// The keys under which agents give the HTTP status of the model's answer.
const STATUS: &[&str] =
    &["status", "statusCode", "httpStatus", "httpStatusCode", "status_code", "http_status_code"];

/// The only agent that is known to call a prompt without any answer of the model a success. It reports the usage of
/// every other prompt.
const HIDES_ERRORS: &str = "Copilot";

/// Returns the failure of a prompt that has a result. `said` is the agent's last message.
pub(super) fn of_result(result: &PromptResult, agent: &str, said: Option<&str>) -> Option<TurnFailure> {
    let failure = of_stop(&result.stop_reason);
    if failure.is_some() || agent != HIDES_ERRORS || result.usage.is_some() {
        return failure;
    }
    let cause = FailureCause::Api(ApiTrouble::Transient);
    Some(TurnFailure { cause, word: "no answer".to_owned(), said: said.map(str::to_owned) })
}

/// Returns the failure that a reason to stop means. Most are the normal end of a prompt.
fn of_stop(reason: &str) -> Option<TurnFailure> {
    let (cause, said) = match reason {
        "max_tokens" => (FailureCause::OwnLimit, "the answer reached the model's limit of tokens"),
        "max_turn_requests" => {
            (FailureCause::OwnLimit, "the agent reached its limit of requests to the model")
        }
        "refusal" => (FailureCause::Api(ApiTrouble::Lasting), "the agent refuses to continue"),
        "cancelled" => (FailureCause::CutOff, "the prompt was cancelled"),
        _ => return None,
    };
    Some(TurnFailure { cause, word: reason.to_owned(), said: Some(said.to_owned()) })
}

/// Returns the failure to open a conversation. An agent that does not find an old one will not find it later.
pub(super) fn of_opening(error: &RpcError) -> TurnFailure {
    let failure = of_error("session", error);
    match error.code {
        INTERNAL if status(error).is_none() => TurnFailure { cause: FailureCause::NoConversation, ..failure },
        _ => failure,
    }
}

/// Returns the failure of a request.
pub(super) fn of_error(method: &str, error: &RpcError) -> TurnFailure {
    let details = error.data.get("details").or_else(|| error.data.get("message")).or(Some(&error.data));
    let details = details.and_then(Value::as_str).filter(|details| !error.message.contains(details));
    let said = match details {
        Some(details) if !details.is_empty() => format!("{}: {details}", error.message),
        _ => error.message.clone(),
    };
    TurnFailure { cause: cause(error), word: method.to_owned(), said: Some(said) }
}

fn cause(error: &RpcError) -> FailureCause {
    match (status(error), error.code) {
        (Some(status), _) => FailureCause::Api(trouble(status)),
        (None, _) if error.data.get("errorName").is_some_and(|name| name == "ProviderAuthError") => {
            FailureCause::Api(ApiTrouble::Login)
        }
        (None, LOGIN_NEEDED) => FailureCause::Api(ApiTrouble::Login),
        (None, CANCELLED) => FailureCause::CutOff,
        (None, INTERNAL) => FailureCause::Api(ApiTrouble::Transient),
        (None, _) => FailureCause::Other,
    }
}

/// Returns the HTTP status of the model's answer: the code of the error, or a field of its data.
fn status(error: &RpcError) -> Option<u64> {
    let is_status = |status: &u64| (400..600).contains(status);
    let of_data = STATUS.iter().find_map(|key| error.data.get(*key)?.as_u64().filter(is_status));
    u64::try_from(error.code).ok().filter(is_status).or(of_data)
}

fn trouble(status: u64) -> ApiTrouble {
    match status {
        429 => ApiTrouble::RateLimit,
        408 | 409 | 425 | 500.. => ApiTrouble::Transient,
        401 | 403 => ApiTrouble::Login,
        404 => ApiTrouble::Model,
        _ => ApiTrouble::Lasting,
    }
}
