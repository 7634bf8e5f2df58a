//! The file in which the CLI sums up the usage of a conversation.
//!
//! The output has no token counts. The file covers the whole conversation, also its earlier processes. The
//! CLI writes it when it ends, even when a signal ends it, but not when it is killed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use windlass_core::usage::Usage;

use crate::files::read_bounded;

/// The name of the file in the turn's folder.
pub(super) const FILE: &str = "usage.json";
/// The maximum size of the file in bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageFile {
    model_metrics: BTreeMap<String, ModelMetrics>,
}

#[derive(Deserialize)]
struct ModelMetrics {
    usage: CopilotTokens,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct CopilotTokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

/// Returns the usage of the conversation, if the file is there and readable.
pub(super) fn read(path: &Path) -> Option<Usage> {
    parse(&read_bounded(path, LARGEST).ok()?)
}

fn parse(bytes: &[u8]) -> Option<Usage> {
    let file: UsageFile = serde_json::from_slice(bytes).ok()?;
    let mut sum = Usage::default();
    for ModelMetrics { usage } in file.model_metrics.values() {
        // The CLI counts cached tokens as input, too.
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        sum.add(&Usage {
            input_tokens: usage.input_tokens.saturating_sub(cached),
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            cost_usd: None,
            is_partial: false,
        });
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_of_all_models_is_summed_and_cached_input_counts_once() {
        let text = br#"{"totalPremiumRequestCost":1,"modelMetrics":{
            "a":{"requests":{"count":2},"usage":{"inputTokens":2400,"outputTokens":68,"cacheReadTokens":400,"cacheWriteTokens":0}},
            "b":{"usage":{"inputTokens":10,"outputTokens":1,"cacheReadTokens":2,"cacheWriteTokens":3}}}}"#;
        let expected = Usage {
            input_tokens: 2005,
            output_tokens: 69,
            cache_read_tokens: 402,
            cache_write_tokens: 3,
            ..Usage::default()
        };
        assert_eq!(parse(text), Some(expected));
    }

    #[test]
    fn an_unreadable_file_is_no_usage() {
        for text in ["", "{", "{}", r#"{"modelMetrics":{"a":{"usage":{"inputTokens":-1}}}}"#] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read(Path::new("/nowhere/usage.json")), None);
    }
}
