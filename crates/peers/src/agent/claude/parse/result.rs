//! How a turn ended and what it cost.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::agent::{AgentEvent, ResultEvent};
use windlass_core::usage::Usage;

use super::content::Tokens;

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    subtype: String,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    terminal_reason: Option<String>,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    structured_output: Option<Value>,
    #[serde(default)]
    errors: Option<Vec<String>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
    #[serde(default)]
    model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    #[serde(default)]
    num_turns: u32,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line: Line = serde_json::from_str(line)?;
    let (usage, cost_is_cumulative) = result_usage(&line);
    out.push(AgentEvent::Result(Box::new(ResultEvent {
        subtype: line.subtype,
        is_error: line.is_error,
        terminal_reason: line.terminal_reason,
        api_error_status: line.api_error_status,
        text: line.result,
        structured: line.structured_output,
        errors: line.errors.unwrap_or_default(),
        usage,
        cost_is_cumulative,
        num_turns: line.num_turns,
    })));
    Ok(())
}

/// The usage by model since the last result counts subagents and only this process. Where a CLI
/// does not say it, there is `usage` (the main conversation alone) and the cost so far, which in
/// a resumed conversation includes what was paid before.
fn result_usage(line: &Line) -> (Usage, bool) {
    let Some(models) = line.model_usage_since_last_result.as_ref().filter(|models| !models.is_empty()) else {
        let tokens = line.usage.unwrap_or_default().usage();
        return (Usage { cost_usd: line.total_cost_usd, ..tokens }, true);
    };
    let mut sum = Usage::default();
    for model in models.values() {
        sum.add(&Usage {
            input_tokens: model.input_tokens,
            output_tokens: model.output_tokens,
            cache_read_tokens: model.cache_read_input_tokens,
            cache_write_tokens: model.cache_creation_input_tokens,
            cost_usd: Some(model.cost_usd),
        });
    }
    (sum, false)
}
