//! The start of a conversation, and the end of a turn with its usage.

use serde::Deserialize;
use windlass_core::agent::{
    AgentEvent, ApiRetry, ApiTrouble, FailureCause, RateLimit, TurnFailure, TurnResult,
};
use windlass_core::usage::Usage;

use super::failure::{self, ServiceError};
use super::reset;

#[derive(Deserialize, Default)]
#[serde(default)]
struct CodexTokens {
    input_tokens: u64,
    cached_input_tokens: u64,
    cache_write_input_tokens: u64,
    output_tokens: u64,
}

impl CodexTokens {
    /// The input includes what the cache read and wrote.
    fn usage(&self) -> Usage {
        let cached = self.cached_input_tokens.saturating_add(self.cache_write_input_tokens);
        Usage {
            input_tokens: self.input_tokens.saturating_sub(cached),
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cached_input_tokens,
            cache_write_tokens: self.cache_write_input_tokens,
            ..Usage::default()
        }
    }
}

pub(super) fn read_thread(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct ThreadLine {
        thread_id: String,
    }
    let ThreadLine { thread_id } = serde_json::from_str(line)?;
    out.push(AgentEvent::SessionInit { session: thread_id, model: String::new(), tools: Vec::new() });
    Ok(())
}

/// Reads the end of a turn. The usage covers the whole conversation, but no subagents.
pub(super) fn read_completed(
    line: &str,
    has_subagents: bool,
    out: &mut Vec<AgentEvent>,
) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct CompletedLine {
        #[serde(default)]
        usage: CodexTokens,
    }
    let CompletedLine { usage } = serde_json::from_str(line)?;
    out.push(AgentEvent::Result(Box::new(TurnResult {
        usage: Usage { is_partial: has_subagents, ..usage.usage() },
        usage_is_cumulative: true,
        num_turns: 1,
        ..TurnResult::default()
    })));
    Ok(())
}

/// Reads the failure of a turn. It has no usage: the next turn of the conversation reports it.
pub(super) fn read_failed(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    #[derive(Deserialize)]
    struct FailedLine {
        #[serde(default)]
        error: ErrorLine,
    }
    let FailedLine { error } = serde_json::from_str(line)?;
    let cause = match failure::of(&error.message) {
        ServiceError::Api(trouble) => FailureCause::Api(trouble),
        ServiceError::Retried { .. } | ServiceError::Other => FailureCause::Other,
    };
    out.push(AgentEvent::Result(Box::new(TurnResult {
        failure: Some(TurnFailure { cause, word: "turn.failed".to_owned(), said: Some(error.message) }),
        ..TurnResult::default()
    })));
    Ok(())
}

#[derive(Deserialize, Default)]
struct ErrorLine {
    #[serde(default)]
    message: String,
}

/// Reads an error of the connection to the model: one that Codex repeats, or the one that ends the turn.
pub(super) fn read_error(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let ErrorLine { message } = serde_json::from_str(line)?;
    match failure::of(&message) {
        ServiceError::Retried { attempt, of } => out.push(AgentEvent::Retry(ApiRetry {
            attempt,
            max_retries: of,
            delay_ms: 0,
            status: failure::status(&message),
            error: message,
        })),
        ServiceError::Api(trouble) => {
            if trouble == ApiTrouble::RateLimit {
                let resets_at = reset::time(&message);
                out.push(AgentEvent::RateLimit(RateLimit { rejected: true, resets_at, limit: None }));
            }
            out.push(AgentEvent::ApiError { trouble, error: String::new(), text: message });
        }
        ServiceError::Other => out.push(AgentEvent::Notice { about: "error".to_owned(), text: message }),
    }
    Ok(())
}
