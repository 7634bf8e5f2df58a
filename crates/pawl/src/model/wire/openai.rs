//! The errors that both APIs of OpenAI share.

use serde_json::{Value, json};

use crate::model::fault::{ApiRefusal, ServiceFault, header, seconds};

/// Builds an error.
pub(super) fn refuse(fault: &ServiceFault, message: Option<&str>) -> ApiRefusal {
    let limited = |wait: u64| format!("Rate limit reached for requests. Please try again in {wait}s.");
    let (status, kind, code, words, headers) = match fault {
        ServiceFault::Status { status, kind } => {
            (*status, kind.as_str(), json!(kind), String::new(), Vec::new())
        }
        ServiceFault::ServerError => {
            let words = "The server had an error while processing your request. Sorry about that!";
            (500, "server_error", Value::Null, words.to_owned(), Vec::new())
        }
        ServiceFault::Unauthorized => {
            let words = "Incorrect API key provided.".to_owned();
            (401, "invalid_request_error", json!("invalid_api_key"), words, Vec::new())
        }
        ServiceFault::RateLimit { retry_after } => {
            let wait = seconds(*retry_after);
            let headers = vec![
                header("retry-after", wait),
                header("x-ratelimit-remaining-requests", 0),
                header("x-ratelimit-reset-requests", format!("{wait}s")),
            ];
            (429, "requests", json!("rate_limit_exceeded"), limited(wait), headers)
        }
        ServiceFault::UsageLimit { resets_in } => {
            let words = "You exceeded your current quota, please check your plan and billing details.";
            let headers = vec![header("retry-after", seconds(*resets_in))];
            (429, "insufficient_quota", json!("insufficient_quota"), words.to_owned(), headers)
        }
    };
    let message = message.unwrap_or(&words);
    let error = json!({"message": message, "type": kind, "param": null, "code": code});
    ApiRefusal { status, headers, body: json!({"error": error}) }
}
