//! The tokens and the money of a prompt, which each agent counts in its own way.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::usage::Usage;

use super::wire::PromptResult;

/// The tokens of a prompt.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: Option<u64>,
    thought_tokens: u64,
    cached_read_tokens: u64,
    cached_write_tokens: u64,
}

/// The only agent that is known to report the last step of a prompt in place of the whole.
const REPORTS_LAST_STEP: &str = "OpenCode";

/// The only agent that is known to count all prompts of its process.
const COUNTS_PROCESS: &str = "Copilot";

/// The usage of the prompts of a conversation.
#[derive(Debug, Default)]
pub(super) struct PromptUsage {
    /// The usage that the agent reported for the last prompt.
    last: Usage,
}

impl PromptUsage {
    /// Returns the usage of a prompt, given its result.
    pub(super) fn of(&mut self, result: &PromptResult, agent: &str, cost_usd: Option<f64>) -> Usage {
        let reported = read(result, agent);
        let before = std::mem::replace(&mut self.last, reported);
        let own = if agent == COUNTS_PROCESS { reported.since(&before) } else { reported };
        Usage { cost_usd, ..own }
    }
}

/// Returns the usage in the result of a prompt. It is partial where the agent does not report all of it.
fn read(result: &PromptResult, agent: &str) -> Usage {
    let tokens = result.usage.as_ref().and_then(|usage| Tokens::deserialize(usage).ok());
    match tokens {
        Some(tokens) => Usage { is_partial: agent == REPORTS_LAST_STEP, ..tokens.usage() },
        None => quota(&result.meta),
    }
}

impl Tokens {
    /// Separates the tokens from a cache, and adds those of thoughts. Some agents count them in the input and in the
    /// output, and others beside them; the total tells which.
    fn usage(self) -> Usage {
        let Tokens { input_tokens, output_tokens, thought_tokens, .. } = self;
        let (read, written) = (self.cached_read_tokens, self.cached_write_tokens);
        let cached = read.saturating_add(written);
        let both = input_tokens.saturating_add(output_tokens);
        let beside = self.total_tokens.map_or(cached, |total| total.saturating_sub(both));
        let has_cached_beside = beside >= cached;
        let thoughts_beside = beside.saturating_sub(if has_cached_beside { cached } else { 0 });
        let input = if has_cached_beside { input_tokens } else { input_tokens.saturating_sub(cached) };
        let output = output_tokens.saturating_add(thoughts_beside.min(thought_tokens));
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            ..Usage::default()
        }
    }
}

/// Reads the form of Gemini, whose input includes what came from a cache and whose output leaves out thoughts.
fn quota(meta: &Value) -> Usage {
    let count = |key: &str| meta.pointer("/quota/token_count")?.get(key)?.as_u64();
    Usage {
        input_tokens: count("input_tokens").unwrap_or_default(),
        output_tokens: count("output_tokens").unwrap_or_default(),
        is_partial: true,
        ..Usage::default()
    }
}
