//! The outcome and the cost of a turn.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::agent::{AgentEvent, FailureCause, TurnFailure, TurnResult};

use windlass_core::usage::Usage;

use super::content::{Blocks, ClaudeTokens};
use super::trouble;

/// The maximum size of a structured value in bytes: its parsed form takes many times as much.
const VALUE_MAX: usize = 1 << 20;
/// The maximum size of the usage by model in bytes.
const MODELS_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
struct ResultLine<'a> {
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
    #[serde(borrow, default)]
    structured_output: Option<&'a RawValue>,
    #[serde(default)]
    errors: Option<Blocks<String>>,
    #[serde(default)]
    usage: Option<ClaudeTokens>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
    #[serde(borrow, default)]
    model_usage_since_last_result: Option<&'a RawValue>,
    #[serde(default)]
    num_turns: u32,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ClaudeModelUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    #[serde(rename = "costUSD")]
    cost_usd: f64,
}

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line: ResultLine<'_> = serde_json::from_str(line)?;
    let (usage, cost_is_cumulative) = result_usage(&line)?;
    let structured: Option<Value> = match line.structured_output.map(RawValue::get) {
        Some(text) if text.len() > VALUE_MAX => {
            let what =
                format!("left out the value: it has {} bytes, at most {VALUE_MAX} are allowed", text.len());
            out.push(AgentEvent::Warning { what });
            None
        }
        Some(text) => serde_json::from_str(text)?,
        None => None,
    };
    out.push(AgentEvent::Result(Box::new(TurnResult {
        failure: line.is_error.then(|| failure(&line)),
        text: line.result,
        structured,
        usage,
        cost_is_cumulative,
        usage_is_cumulative: false,
        models: Vec::new(),
        num_turns: line.num_turns,
    })));
    Ok(())
}

/// The beginning of the error about a conversation to resume that the CLI does not have.
const NO_CONVERSATION: &str = "No conversation found";

/// Describes the failure of a turn. `subtype` is `success` even for an API error.
fn failure(line: &ResultLine<'_>) -> TurnFailure {
    let reason = line.terminal_reason.as_deref().unwrap_or_default();
    let errors = line.errors.as_ref().map(|errors| errors.0.as_slice()).unwrap_or_default();
    let is_lost = line.num_turns == 0 && errors.iter().any(|error| error.starts_with(NO_CONVERSATION));
    let cause = match reason {
        "api_error" => FailureCause::Api(trouble(line.api_error_status, "")),
        "aborted_tools" | "aborted_streaming" => FailureCause::CutOff,
        _ if line.subtype.starts_with("error_max_") => FailureCause::OwnLimit,
        _ if is_lost => FailureCause::NoConversation,
        _ => FailureCause::Other,
    };
    let word = match line.subtype.as_str() {
        "success" | "" => reason,
        subtype => subtype,
    };
    TurnFailure { cause, word: word.to_owned(), said: errors.first().or(line.result.as_ref()).cloned() }
}

/// Returns the usage of the turn and whether its cost is cumulative.
///
/// The usage by model since the last result includes subagents and covers only this process. A CLI that
/// lacks it reports `usage` (the main conversation alone) and the total cost, which in a resumed
/// conversation includes earlier turns.
fn result_usage(line: &ResultLine<'_>) -> serde_json::Result<(Usage, bool)> {
    let said = line.model_usage_since_last_result.map(RawValue::get).filter(|said| said.len() <= MODELS_MAX);
    let models: Option<BTreeMap<String, ClaudeModelUsage>> = match said {
        Some(said) => serde_json::from_str(said)?,
        None => None,
    };
    let Some(models) = models.filter(|models| !models.is_empty()) else {
        let tokens = line.usage.unwrap_or_default().usage();
        return Ok((Usage { cost_usd: line.total_cost_usd, ..tokens }, true));
    };
    let mut sum = Usage::default();
    for model in models.values() {
        sum.add(&Usage {
            input_tokens: model.input_tokens,
            output_tokens: model.output_tokens,
            cache_read_tokens: model.cache_read_input_tokens,
            cache_write_tokens: model.cache_creation_input_tokens,
            cost_usd: Some(model.cost_usd),
            ..Usage::default()
        });
    }
    Ok((sum, false))
}
