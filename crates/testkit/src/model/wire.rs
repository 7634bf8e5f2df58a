//! The APIs that the scripted model speaks. Each has a file, and implements [`WireFormat`].

mod anthropic;
mod chat;
mod gemini;
mod openai;
mod responses;

use serde_json::Value;

use super::Kind;
use super::Request;
use super::answer::Answer;
use super::conversation::Conversation;
use super::fault::{Fault, Refusal};
use super::http::Incoming;
use super::turn::{Turn, say};

/// An API. The path of a request chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Anthropic Messages: Claude Code.
    Messages,
    /// OpenAI Responses: Codex.
    Responses,
    /// OpenAI Chat Completions: OpenCode and Copilot.
    ChatCompletions,
    /// Google Gemini: Gemini CLI.
    Gemini,
}

impl Wire {
    /// Returns the API of a request for a model's answer.
    pub(super) fn of(method: &str, path: &str) -> Option<Wire> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if method != "POST" => None,
            _ if path.ends_with("/messages") => Some(Wire::Messages),
            _ if path.ends_with("/responses") => Some(Wire::Responses),
            _ if path.ends_with("/chat/completions") => Some(Wire::ChatCompletions),
            _ if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") => {
                Some(Wire::Gemini)
            }
            _ => None,
        }
    }

    pub(super) fn format(self) -> &'static dyn WireFormat {
        match self {
            Wire::Messages => &anthropic::Messages,
            Wire::Responses => &responses::Responses,
            Wire::ChatCompletions => &chat::ChatCompletions,
            Wire::Gemini => &gemini::Gemini,
        }
    }
}

/// The facts that a format finds in a request.
pub(super) struct Reading {
    pub(super) kind: Kind,
    pub(super) model: String,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) conversation: Conversation,
}

/// The words of an API.
pub(super) trait WireFormat: Sync {
    /// Reads a request.
    fn read(&self, incoming: &Incoming, body: &Value) -> Reading;

    /// Decides whether a request wants a stream.
    fn streams(&self, request: &Request) -> bool {
        request.body["stream"] == true
    }

    /// Returns the events of a streamed answer.
    fn events(&self, answer: &Answer) -> Vec<Value>;

    /// Returns an answer in one piece.
    fn whole(&self, answer: &Answer) -> Value;

    /// Returns an error. Without a message it has the words that the service uses.
    fn refuse(&self, fault: &Fault, message: Option<&str>) -> Refusal;

    /// Returns the answer to a request that is no turn of the script.
    fn aside(&self, _request: &Request) -> Turn {
        say("ok")
    }

    /// Returns the beginning of the ids of tool calls.
    fn call_prefix(&self) -> &'static str {
        "call"
    }

    /// Returns the bytes of an event.
    fn frame(&self, event: &Value) -> String {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    }

    /// Returns the bytes after the last event.
    fn closing(&self) -> &'static str {
        ""
    }
}

/// Returns the text of a field, or an empty one.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the entries of a list, or none.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a request with this body, as the server would understand it.
#[cfg(test)]
fn request_for_tests(wire: Wire, body: Value) -> Request {
    let path = match wire {
        Wire::Messages => "/v1/messages",
        Wire::Responses => "/v1/responses",
        Wire::ChatCompletions => "/v1/chat/completions",
        Wire::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
    };
    let body = body.to_string().into_bytes();
    let incoming = Incoming { method: "POST".into(), path: path.into(), headers: Vec::new(), body };
    super::server::understand(incoming)
}

/// Returns the fault of a turn.
#[cfg(test)]
fn fault_of_tests(turn: Turn) -> Fault {
    match turn.what {
        super::turn::What::Fault { fault, .. } => fault,
        _ => panic!("this turn has no fault"),
    }
}
