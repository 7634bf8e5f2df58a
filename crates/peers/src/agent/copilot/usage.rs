//! The file in which the CLI sums up the usage of a conversation.
//!
//! The output has no token counts. The file covers the whole conversation, also its earlier processes. The
//! CLI writes it when it ends, even when a signal ends it, but not when it is killed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use windlass_core::usage::{ModelUsage, Usage};

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

/// Returns the usage of the conversation by model, if the file is there and readable.
pub(super) fn read(path: &Path) -> Option<Vec<ModelUsage>> {
    parse(&read_bounded(path, LARGEST).ok()?)
}

fn parse(bytes: &[u8]) -> Option<Vec<ModelUsage>> {
    let file: UsageFile = serde_json::from_slice(bytes).ok()?;
    let of_model = |(model, ModelMetrics { usage })| ModelUsage { model, usage: usage.usage() };
    Some(file.model_metrics.into_iter().map(of_model).collect())
}

impl CopilotTokens {
    /// The CLI counts cached tokens as input, too.
    fn usage(&self) -> Usage {
        let cached = self.cache_read_tokens.saturating_add(self.cache_write_tokens);
        Usage {
            input_tokens: self.input_tokens.saturating_sub(cached),
            output_tokens: self.output_tokens,
            cache_read_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            ..Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_has_its_usage_and_cached_input_counts_once() {
        let text = br#"{"totalPremiumRequestCost":1,"modelMetrics":{
            "a":{"requests":{"count":2},"usage":{"inputTokens":2400,"outputTokens":68,"cacheReadTokens":400,"cacheWriteTokens":0}},
            "b":{"usage":{"inputTokens":10,"outputTokens":1,"cacheReadTokens":2,"cacheWriteTokens":3}}}}"#;
        let usage = |input_tokens, output_tokens, cache_read_tokens, cache_write_tokens| Usage {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            ..Usage::default()
        };
        let of_model = |model: &str, usage| ModelUsage { model: model.to_owned(), usage };
        let expected = vec![of_model("a", usage(2000, 68, 400, 0)), of_model("b", usage(5, 1, 2, 3))];
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
