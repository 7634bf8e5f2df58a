//! The lines of Gemini CLI's `stream-json`, typed and borrowed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::usage::{ModelUsage, Usage};

#[derive(Deserialize)]
pub(super) struct GeminiKind<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GeminiInit {
    pub(super) session_id: String,
    pub(super) model: String,
}

/// A part of a message of the agent, or the prompt.
#[derive(Deserialize)]
pub(super) struct GeminiMessage<'a> {
    #[serde(borrow, default)]
    pub(super) role: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) content: Cow<'a, str>,
    /// The content is only a part of the message.
    #[serde(default)]
    pub(super) delta: bool,
}

#[derive(Deserialize)]
pub(super) struct GeminiToolUse<'a> {
    #[serde(default)]
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_id: String,
    #[serde(borrow, default)]
    pub(super) parameters: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct GeminiToolResult<'a> {
    #[serde(default)]
    pub(super) tool_id: String,
    #[serde(borrow, default)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) output: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) error: Option<GeminiFault<'a>>,
}

#[derive(Deserialize)]
pub(super) struct GeminiError<'a> {
    #[serde(borrow, default)]
    pub(super) severity: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct GeminiResult<'a> {
    #[serde(borrow, default)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) error: Option<GeminiFault<'a>>,
    #[serde(borrow, default)]
    pub(super) stats: GeminiStats<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GeminiFault<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) message: Cow<'a, str>,
}

/// The tokens of this process, of all models together.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GeminiStats<'a> {
    total_tokens: u64,
    /// Includes those from the cache.
    input_tokens: u64,
    /// Without those for thinking, which only the total includes.
    output_tokens: u64,
    cached: u64,
    /// The same by model.
    #[serde(borrow)]
    models: Option<&'a RawValue>,
}

/// The maximum size of the usage by model in bytes.
const MODELS_MAX: usize = 64 * 1024;

impl GeminiStats<'_> {
    /// Returns the usage of each model that has any.
    pub(super) fn models(&self) -> serde_json::Result<Vec<ModelUsage>> {
        let Some(text) = self.models.map(RawValue::get).filter(|text| text.len() <= MODELS_MAX) else {
            return Ok(Vec::new());
        };
        let models: BTreeMap<String, GeminiStats<'_>> = serde_json::from_str(text)?;
        let all = models.into_iter().map(|(model, stats)| ModelUsage { model, usage: stats.usage() });
        Ok(all.filter(|part| part.usage.may_cost()).collect())
    }

    pub(super) fn usage(&self) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_sub(self.cached),
            output_tokens: self.output_tokens.max(self.total_tokens.saturating_sub(self.input_tokens)),
            cache_read_tokens: self.cached,
            ..Usage::default()
        }
    }
}

/// The inputs of a tool that tell people most.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GeminiInput {
    pub(super) command: Option<String>,
    pub(super) file_path: Option<String>,
    pub(super) dir_path: Option<String>,
    pub(super) query: Option<String>,
    pub(super) pattern: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) name: Option<String>,
}
