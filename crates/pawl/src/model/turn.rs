//! The turns of a scripted model.
//!
//! Only their content: [`super::script`] assigns turns to requests, [`super::wire`] puts them into the words
//! of an API. [`super::fault`] makes turns that fail.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::fault::ServiceFault;
use super::tools::ModelAction;
use super::{ModelGate, WireRequest};

/// One answer of the model.
#[derive(Clone)]
pub struct ModelTurn {
    pub(super) what: TurnContent,
    pub(super) thinking: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: TokenCounts,
    pub(super) delay: Duration,
    pub(super) breaks: Option<StreamBreak>,
    pub(super) gate: Option<ModelGate>,
}

#[derive(Clone)]
pub(super) enum TurnContent {
    Parts(Vec<TurnPart>),
    Fault { fault: ServiceFault, message: Option<String>, headers: Vec<(String, String)> },
    Depends(Arc<dyn Fn(&WireRequest) -> ModelTurn + Send + Sync>),
}

/// A part of an answer.
#[derive(Debug, Clone)]
pub(super) enum TurnPart {
    Text(String),
    Call(ModelAction),
}

/// The tokens of a turn. Each API adds them up in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenCounts {
    /// The tokens read, except the cached ones.
    pub(super) input: u64,
    pub(super) cached: u64,
    /// The tokens written, with those of the reasoning.
    pub(super) output: u64,
    pub(super) reasoning: u64,
}

/// A stream that does not come to its end, after so many events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamBreak {
    /// The connection ends.
    Cut(usize),
    /// The connection stays, and nothing more comes.
    Stall(usize),
}

/// Makes a turn in which the model says something and stops.
pub fn say(text: impl Into<String>) -> ModelTurn {
    ModelTurn::of(TurnContent::Parts(vec![TurnPart::Text(text.into())]))
}

/// Makes a turn in which the model calls a tool by its name in the CLI.
pub fn tool(name: &str, input: Value) -> ModelTurn {
    tools([(name, input)])
}

/// Makes a turn in which the model calls several tools at once.
pub fn tools<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> ModelTurn {
    let call =
        |(name, input): (&str, Value)| TurnPart::Call(ModelAction::Tool { name: name.to_owned(), input });
    ModelTurn::of(TurnContent::Parts(calls.into_iter().map(call).collect()))
}

/// Makes a turn in which the model runs a command in the CLI's shell tool.
pub fn shell(command: impl Into<String>) -> ModelTurn {
    ModelTurn::of(TurnContent::Parts(vec![TurnPart::Call(ModelAction::Shell(command.into()))]))
}

/// Makes a turn in which the model writes a file with the CLI's tool for that. Some tools want an absolute
/// path.
pub fn write(path: impl Into<String>, text: impl Into<String>) -> ModelTurn {
    ModelTurn::of(TurnContent::Parts(vec![TurnPart::Call(ModelAction::Write {
        path: path.into(),
        text: text.into(),
    })]))
}

/// Makes a turn in which the model reads a file with the CLI's tool for that.
pub fn read(path: impl Into<String>) -> ModelTurn {
    ModelTurn::of(TurnContent::Parts(vec![TurnPart::Call(ModelAction::Read(path.into()))]))
}

/// Makes a turn that depends on the request.
pub fn reply(answer: impl Fn(&WireRequest) -> ModelTurn + Send + Sync + 'static) -> ModelTurn {
    ModelTurn::of(TurnContent::Depends(Arc::new(answer)))
}

impl ModelTurn {
    pub(super) fn of(what: TurnContent) -> ModelTurn {
        ModelTurn {
            what,
            thinking: None,
            stop_reason: None,
            usage: TokenCounts { input: 100, cached: 0, output: 20, reasoning: 0 },
            delay: Duration::ZERO,
            breaks: None,
            gate: None,
        }
    }

    /// Adds a tool call.
    pub fn and_tool(self, name: &str, input: Value) -> ModelTurn {
        self.and(tool(name, input))
    }

    /// Adds the texts and the tool calls of another turn.
    pub fn and(mut self, other: ModelTurn) -> ModelTurn {
        if let (TurnContent::Parts(parts), TurnContent::Parts(more)) = (&mut self.what, other.what) {
            parts.extend(more);
        }
        self
    }

    /// Adds a thinking block before everything else.
    pub fn thinking(mut self, text: &str) -> ModelTurn {
        self.thinking = Some(text.to_owned());
        self
    }

    /// Sets another stop reason than the usual one, in the words of the API.
    pub fn stop_reason(mut self, reason: &str) -> ModelTurn {
        self.stop_reason = Some(reason.to_owned());
        self
    }

    /// Sets the reported tokens: those read without the cached ones, and those written. The default is 100 in
    /// and 20 out.
    pub fn tokens(mut self, input: u64, output: u64) -> ModelTurn {
        (self.usage.input, self.usage.output) = (input, output);
        self
    }

    /// Sets the tokens that were read from the cache, beside those of [`ModelTurn::tokens`].
    pub fn cached(mut self, tokens: u64) -> ModelTurn {
        self.usage.cached = tokens;
        self
    }

    /// Sets how many of the written tokens were reasoning. The Messages API does not report it.
    pub fn reasoning(mut self, tokens: u64) -> ModelTurn {
        self.usage.reasoning = tokens;
        self
    }

    /// Delays the answer.
    pub fn after(mut self, delay: Duration) -> ModelTurn {
        self.delay = delay;
        self
    }

    /// Sends nothing before the gate is open.
    pub fn behind(mut self, gate: &ModelGate) -> ModelTurn {
        self.gate = Some(gate.clone());
        self
    }

    /// Adds a header to an error, for example `retry-after`.
    pub fn header(mut self, name: &str, value: &str) -> ModelTurn {
        if let TurnContent::Fault { headers, .. } = &mut self.what {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets the message of an error.
    pub fn message(mut self, text: &str) -> ModelTurn {
        if let TurnContent::Fault { message, .. } = &mut self.what {
            *message = Some(text.to_owned());
        }
        self
    }

    /// Returns the turn for a request: calls closures until one returns a plain turn. The delay and the gate
    /// of the outer turn still apply.
    pub(super) fn settle(&self, request: &WireRequest) -> ModelTurn {
        let TurnContent::Depends(answer) = &self.what else { return self.clone() };
        let mut settled = answer(request).settle(request);
        settled.delay = settled.delay.max(self.delay);
        settled.gate = settled.gate.or_else(|| self.gate.clone());
        settled
    }
}
