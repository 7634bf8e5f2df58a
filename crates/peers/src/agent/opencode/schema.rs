//! The lines of `opencode run --format json`, as far as Windlass reads them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::usage::Usage;

/// A text that is borrowed from its line where it contains no escapes.
#[derive(Deserialize, Debug, Default, Clone)]
pub(super) struct LineText<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The part of a line that every kind has.
#[derive(Deserialize)]
pub(super) struct LineHead<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(rename = "sessionID", borrow, default)]
    pub(super) session: Option<LineText<'a>>,
}

/// A line with a finished part of a message.
#[derive(Deserialize)]
pub(super) struct PartLine<T> {
    pub(super) part: T,
}

#[derive(Deserialize)]
pub(super) struct TextPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: LineText<'a>,
    #[serde(rename = "messageID", borrow, default)]
    pub(super) message: LineText<'a>,
}

#[derive(Deserialize)]
pub(super) struct ToolPart<'a> {
    #[serde(rename = "callID", borrow, default)]
    pub(super) call: LineText<'a>,
    #[serde(borrow, default)]
    pub(super) tool: LineText<'a>,
    #[serde(borrow)]
    pub(super) state: ToolState<'a>,
}

#[derive(Deserialize)]
pub(super) struct ToolState<'a> {
    #[serde(borrow, default)]
    pub(super) status: LineText<'a>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) output: Option<LineText<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<LineText<'a>>,
}

#[derive(Deserialize)]
pub(super) struct StepPart<'a> {
    #[serde(borrow, default)]
    pub(super) id: LineText<'a>,
    #[serde(borrow, default)]
    pub(super) reason: LineText<'a>,
    #[serde(default)]
    tokens: StepTokens,
    #[serde(default)]
    cost: f64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StepTokens {
    input: f64,
    output: f64,
    reasoning: f64,
    cache: StepCache,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StepCache {
    read: f64,
    write: f64,
}

impl StepPart<'_> {
    /// Returns the usage of one call of the model. OpenCode counts reasoning apart from the output, and reports a cost
    /// of 0 for a model whose price it does not know.
    pub(super) fn usage(&self) -> Usage {
        // Whole and positive in practice; anything else saturates.
        let whole = |tokens: f64| tokens as u64;
        let tokens = &self.tokens;
        Usage {
            input_tokens: whole(tokens.input),
            output_tokens: whole(tokens.output).saturating_add(whole(tokens.reasoning)),
            cache_read_tokens: whole(tokens.cache.read),
            cache_write_tokens: whole(tokens.cache.write),
            cost_usd: (self.cost > 0.0).then_some(self.cost),
            ..Usage::default()
        }
    }
}

/// A line about an error.
#[derive(Deserialize)]
pub(super) struct OpencodeErrorLine {
    #[serde(default)]
    pub(super) timestamp: i64,
    pub(super) error: NamedError,
}

#[derive(Deserialize)]
pub(super) struct NamedError {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) data: ErrorData,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ErrorData {
    pub(super) message: String,
    pub(super) status_code: Option<u16>,
    pub(super) is_retryable: bool,
    pub(super) response_headers: Option<BTreeMap<String, String>>,
}

/// A line of the plugin: the session begins.
#[derive(Deserialize)]
pub(super) struct StartLine {
    #[serde(default)]
    pub(super) model: String,
}

/// A line of the plugin: the agent asks to use a tool.
#[derive(Deserialize)]
pub(super) struct CallLine<'a> {
    #[serde(borrow, default)]
    pub(super) tool: LineText<'a>,
    #[serde(rename = "callID", borrow, default)]
    pub(super) call: LineText<'a>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) side: bool,
}

/// A line of the plugin: OpenCode repeats a request to the model.
#[derive(Deserialize)]
pub(super) struct RetryLine {
    #[serde(default)]
    pub(super) timestamp: i64,
    #[serde(default)]
    pub(super) attempt: u32,
    /// The time of the next attempt.
    #[serde(default)]
    pub(super) next: f64,
    #[serde(default)]
    pub(super) message: String,
    /// The wait is so long that the turn ends instead.
    #[serde(default)]
    pub(super) gives_up: bool,
}

/// A line of the plugin: a part of a subagent's message.
#[derive(Deserialize)]
pub(super) struct SideLine<'a> {
    /// The kind of line that it would be in the main conversation.
    #[serde(borrow, default)]
    pub(super) line: LineText<'a>,
    #[serde(borrow)]
    pub(super) part: &'a RawValue,
}

/// The inputs of tools that tell a person most.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct TellingInput<'a> {
    #[serde(borrow)]
    pub(super) command: Option<LineText<'a>>,
    #[serde(borrow, rename = "filePath")]
    pub(super) file: Option<LineText<'a>>,
    #[serde(borrow)]
    pub(super) pattern: Option<LineText<'a>>,
    #[serde(borrow)]
    pub(super) url: Option<LineText<'a>>,
    #[serde(borrow)]
    pub(super) query: Option<LineText<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<LineText<'a>>,
    #[serde(borrow)]
    pub(super) description: Option<LineText<'a>>,
}
