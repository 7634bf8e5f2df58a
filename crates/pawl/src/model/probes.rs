//! Answers requests that ask no model: token counts, lists of models, probes.

use serde_json::{Value, json};

/// Returns the body for such a request.
pub(super) fn body(path: &str, size: usize) -> Value {
    let tokens = (size / 4).max(1);
    match path {
        _ if path.ends_with("/count_tokens") || path.ends_with("/input_tokens") => {
            json!({"input_tokens": tokens})
        }
        _ if path.ends_with(":countTokens") => json!({"totalTokens": tokens}),
        // An empty list in the words of each API.
        _ if path.ends_with("/models") => {
            json!({"object": "list", "data": [], "models": [], "has_more": false})
        }
        _ => json!({}),
    }
}
