//! The ways in which Gemini CLI reports a refusal of the model's service: a sentence, an exit code, and sometimes
//! a line on standard error.

use serde_json::json;

use crate::sim::event::Failure;
use crate::sim::ids::now_ms;

/// The words after an error about a limit.
const ADVICE: &str = "\nPlease wait and try again later. To increase your limits, request a quota increase through AI \
    Studio, or switch to another /auth method";

/// Returns the message of a failure.
pub(super) fn message(failure: &Failure) -> String {
    if failure.limit.is_some() {
        let wait = failure.resets_at().map(|at| at.saturating_sub(now_ms().div_euclid(1000)).max(0));
        let wait = wait.map(|seconds| format!("\nSuggested retry after {seconds}s.")).unwrap_or_default();
        return format!("[API Error: You exceeded your current quota.{wait}]{ADVICE}");
    }
    let words = failure.words();
    let advice = if failure.status == 429 { ADVICE } else { "" };
    if failure.status == 404 {
        return format!("[API Error: {words}]");
    }
    let code = failure.status.to_string();
    let error = json!({"type": "error", "error": {"type": "api_error", "code": code, "message": words}});
    format!("[API Error: {error}]{advice}")
}

/// Returns the exit code: the status, of which only eight bits remain. An unknown model has none.
pub(super) fn exit_code(failure: &Failure) -> u8 {
    match failure.status {
        404 => 1,
        status => u8::try_from(status % 256).unwrap_or(1).max(1),
    }
}

/// Returns the line on standard error about an unknown model.
pub(super) fn report(failure: &Failure) -> Option<String> {
    let file = "/tmp/gemini-client-error-Turn.run-sendMessageStream-sim.json";
    (failure.status == 404).then(|| {
        format!(
            "Error when talking to Gemini API Full report available at: {file} ModelNotFoundError: {}\n",
            failure.words()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::event::LimitReset;

    #[test]
    fn a_limit_says_how_long_to_wait_and_the_exit_code_is_the_status() {
        let at = now_ms() / 1000 + 3600;
        let failure = Failure { status: 429, message: String::new(), limit: Some(LimitReset::At(at)) };
        let said = message(&failure);
        assert!(said.contains("\nSuggested retry after 36") || said.contains("after 35"), "{said}");
        assert_eq!(exit_code(&failure), 173);
        let unknown = Failure { limit: Some(LimitReset::Unknown), ..failure };
        assert!(!message(&unknown).contains("Suggested"));
    }
}
