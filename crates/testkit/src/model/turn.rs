//! The turns of a scripted model.
//!
//! Only their content: [`super::script`] assigns turns to requests, [`super::sse`] sends them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Gate, Request};

/// One answer of the model.
#[derive(Clone)]
pub struct Turn {
    pub(super) what: What,
    pub(super) thinking: Option<String>,
    pub(super) stop_reason: Option<String>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) delay: Duration,
    pub(super) drop_after: Option<usize>,
    pub(super) gate: Option<Gate>,
}

#[derive(Clone)]
pub(super) enum What {
    Blocks(Vec<Value>),
    Error { status: u16, kind: String, message: String, headers: Vec<(String, String)> },
    Depends(Arc<dyn Fn(&Request) -> Turn + Send + Sync>),
}

/// Makes a turn in which the model says something and stops.
pub fn say(text: impl Into<String>) -> Turn {
    Turn::of(What::Blocks(vec![json!({"type": "text", "text": text.into()})]))
}

/// Makes a turn in which the model calls a tool.
pub fn tool(name: &str, input: Value) -> Turn {
    tools([(name, input)])
}

/// Makes a turn in which the model calls several tools at once.
pub fn tools<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Turn {
    Turn::of(What::Blocks(calls.into_iter().map(tool_use).collect()))
}

/// Makes an API error, as `{"type":"error","error":{"type":KIND,…}}`.
pub fn fail(status: u16, kind: &str) -> Turn {
    let message = "scripted".to_owned();
    Turn::of(What::Error { status, kind: kind.to_owned(), message, headers: Vec::new() })
}

/// Makes a turn that cuts the connection after `after_events` events of the stream.
pub fn cut(after_events: usize) -> Turn {
    let mut turn = say("this sentence is never heard to its end");
    turn.drop_after = Some(after_events);
    turn
}

/// Makes a turn that depends on the request.
pub fn reply(answer: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Turn {
    Turn::of(What::Depends(Arc::new(answer)))
}

impl Turn {
    fn of(what: What) -> Turn {
        Turn {
            what,
            thinking: None,
            stop_reason: None,
            input_tokens: 100,
            output_tokens: 20,
            delay: Duration::ZERO,
            drop_after: None,
            gate: None,
        }
    }

    /// Adds a tool call.
    pub fn and_tool(mut self, name: &str, input: Value) -> Turn {
        if let What::Blocks(blocks) = &mut self.what {
            blocks.push(tool_use((name, input)));
        }
        self
    }

    /// Adds a thinking block before everything else.
    pub fn thinking(mut self, text: &str) -> Turn {
        self.thinking = Some(text.to_owned());
        self
    }

    /// Sets another stop reason than `end_turn` or `tool_use`.
    pub fn stop_reason(mut self, reason: &str) -> Turn {
        self.stop_reason = Some(reason.to_owned());
        self
    }

    /// Sets the reported tokens. The default is 100 in and 20 out.
    pub fn tokens(mut self, input: u64, output: u64) -> Turn {
        self.input_tokens = input;
        self.output_tokens = output;
        self
    }

    /// Delays the answer.
    pub fn after(mut self, delay: Duration) -> Turn {
        self.delay = delay;
        self
    }

    /// Sends nothing before the gate is open.
    pub fn behind(mut self, gate: &Gate) -> Turn {
        self.gate = Some(gate.clone());
        self
    }

    /// Adds a header to an error, for example `retry-after`.
    pub fn header(mut self, name: &str, value: &str) -> Turn {
        if let What::Error { headers, .. } = &mut self.what {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets the message of an error.
    pub fn message(mut self, text: &str) -> Turn {
        if let What::Error { message, .. } = &mut self.what {
            *message = text.to_owned();
        }
        self
    }

    /// Returns the turn for a request: calls closures until one returns a plain turn. The delay and the gate
    /// of the outer turn still apply.
    pub(super) fn settle(&self, request: &Request) -> Turn {
        let What::Depends(answer) = &self.what else { return self.clone() };
        let mut settled = answer(request).settle(request);
        settled.delay = settled.delay.max(self.delay);
        settled.gate = settled.gate.or_else(|| self.gate.clone());
        settled
    }

    /// Returns the content blocks.
    pub(super) fn blocks(&self) -> Vec<Value> {
        let thinking = self.thinking.as_ref();
        let mut blocks: Vec<Value> = thinking
            .map(|text| json!({"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}))
            .into_iter()
            .collect();
        if let What::Blocks(said) = &self.what {
            blocks.extend(said.iter().cloned());
        }
        blocks
    }

    pub(super) fn reason(&self) -> &str {
        let calls = |block: &Value| block["type"] == "tool_use";
        match (&self.stop_reason, &self.what) {
            (Some(reason), _) => reason,
            (None, What::Blocks(blocks)) if blocks.iter().any(calls) => "tool_use",
            (None, _) => "end_turn",
        }
    }

    pub(super) fn usage(&self, output_tokens: u64) -> Value {
        json!({
            "input_tokens": self.input_tokens,
            "output_tokens": output_tokens,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        })
    }
}

fn tool_use((name, input): (&str, Value)) -> Value {
    json!({"type": "tool_use", "id": super::server::fresh_id("toolu"), "name": name, "input": input})
}
