//! A turn for one request: its tool calls name tools that this request offers.

use super::WireRequest;
use super::server::fresh_id;
use super::tools::{ModelToolCall, call};
use super::turn::{ModelTurn, TokenCounts, TurnContent, TurnPart};

/// The number of pieces of a streamed text.
const PIECES: usize = 4;

/// An answer of the model, ready for the words of an API.
#[derive(Debug)]
pub(super) struct ScriptedAnswer {
    pub(super) model: String,
    pub(super) thinking: Option<String>,
    pub(super) parts: Vec<SpokenPart>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: TokenCounts,
}

/// A part of an answer as it is sent.
#[derive(Debug)]
pub(super) enum SpokenPart {
    Text(String),
    Call(ModelToolCall),
}

impl SpokenPart {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            SpokenPart::Text(text) => Some(text),
            SpokenPart::Call(_) => None,
        }
    }

    pub(super) fn call(&self) -> Option<&ModelToolCall> {
        match self {
            SpokenPart::Call(call) => Some(call),
            SpokenPart::Text(_) => None,
        }
    }
}

impl ScriptedAnswer {
    /// Builds the answer to a request, or returns the reason why it offers no fitting tool.
    pub(super) fn new(turn: &ModelTurn, request: &WireRequest) -> Result<ScriptedAnswer, String> {
        let TurnContent::Parts(parts) = &turn.what else { return Err("this turn has no answer".to_owned()) };
        let prefix = request.wire.map_or("call", |wire| wire.format().call_prefix());
        let spoken = |part: &TurnPart| match part {
            TurnPart::Text(text) => Ok(SpokenPart::Text(text.clone())),
            TurnPart::Call(action) => {
                Ok(SpokenPart::Call(call(action, &request.conversation.tools, fresh_id(prefix))?))
            }
        };
        Ok(ScriptedAnswer {
            model: request.model.clone(),
            thinking: turn.thinking.clone(),
            parts: parts.iter().map(spoken).collect::<Result<_, String>>()?,
            stop_reason: turn.stop_reason.clone(),
            usage: turn.usage,
        })
    }

    /// Returns the stop reason: the scripted one, or one of these.
    pub(super) fn reason<'a>(&'a self, calls: &'a str, ends: &'a str) -> &'a str {
        let has_calls = self.parts.iter().any(|part| matches!(part, SpokenPart::Call(_)));
        self.stop_reason.as_deref().unwrap_or(if has_calls { calls } else { ends })
    }
}

impl TokenCounts {
    /// Returns the tokens read, with those from the cache.
    pub(super) fn whole_input(&self) -> u64 {
        self.input + self.cached
    }
}

/// Splits a text for a stream.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(PIECES).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
