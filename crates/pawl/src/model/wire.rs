//! The APIs that the scripted model speaks. Each has a file, and implements [`WireFormat`].

mod anthropic;
mod chat;
mod gemini;
mod openai;
mod responses;

use serde_json::Value;

use super::RequestKind;
use super::WireRequest;
use super::answer::ScriptedAnswer;
use super::conversation::RequestConversation;
use super::fault::{ApiRefusal, ServiceFault};
use super::http::IncomingRequest;
use super::turn::{ModelTurn, say};

/// An API. The path of a request chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireApi {
    /// Anthropic Messages: Claude Code.
    Messages,
    /// OpenAI Responses: Codex.
    Responses,
    /// OpenAI Chat Completions: OpenCode and Copilot.
    ChatCompletions,
    /// Google Gemini: Gemini CLI.
    Gemini,
}

impl WireApi {
    /// Returns the API of a request for a model's answer.
    pub(super) fn of(method: &str, path: &str) -> Option<WireApi> {
        let path = path.split('?').next().unwrap_or_default();
        match path {
            _ if method != "POST" => None,
            _ if path.ends_with("/messages") => Some(WireApi::Messages),
            _ if path.ends_with("/responses") => Some(WireApi::Responses),
            _ if path.ends_with("/chat/completions") => Some(WireApi::ChatCompletions),
            _ if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") => {
                Some(WireApi::Gemini)
            }
            _ => None,
        }
    }

    pub(super) fn format(self) -> &'static dyn WireFormat {
        match self {
            WireApi::Messages => &anthropic::MessagesApi,
            WireApi::Responses => &responses::ResponsesApi,
            WireApi::ChatCompletions => &chat::ChatCompletionsApi,
            WireApi::Gemini => &gemini::GeminiApi,
        }
    }
}

/// The facts that a format finds in a request.
pub(super) struct RequestReading {
    pub(super) kind: RequestKind,
    pub(super) model: String,
    pub(super) session: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) conversation: RequestConversation,
}

/// The words of an API.
pub(super) trait WireFormat: Sync {
    /// Reads a request.
    fn read(&self, incoming: &IncomingRequest, body: &Value) -> RequestReading;

    /// Decides whether a request wants a stream.
    fn streams(&self, request: &WireRequest) -> bool {
        request.body.get("stream") == Some(&Value::Bool(true))
    }

    /// Returns the events of a streamed answer.
    fn events(&self, answer: &ScriptedAnswer) -> Vec<Value>;

    /// Returns an answer in one piece.
    fn whole(&self, answer: &ScriptedAnswer) -> Value;

    /// Returns an error. Without a message it has the words that the service uses.
    fn refuse(&self, fault: &ServiceFault, message: Option<&str>) -> ApiRefusal;

    /// Returns the answer to a request that is no turn of the script.
    fn aside(&self, _request: &WireRequest) -> ModelTurn {
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

/// Returns an object with these fields set.
pub(super) fn with<const N: usize>(mut object: Value, fields: [(&str, Value); N]) -> Value {
    if let Value::Object(map) = &mut object {
        map.extend(fields.map(|(name, value)| (name.to_owned(), value)));
    }
    object
}

/// Returns the entries of a list, or none.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a request with this body, as the server would understand it.
#[cfg(test)]
fn request_for_tests(wire: WireApi, body: Value) -> WireRequest {
    let path = match wire {
        WireApi::Messages => "/v1/messages",
        WireApi::Responses => "/v1/responses",
        WireApi::ChatCompletions => "/v1/chat/completions",
        WireApi::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
    };
    let body = body.to_string().into_bytes();
    let incoming = IncomingRequest { method: "POST".into(), path: path.into(), headers: Vec::new(), body };
    super::server::understand(incoming)
}

/// Returns the fault of a turn.
#[cfg(test)]
fn fault_of_tests(turn: ModelTurn) -> ServiceFault {
    match turn.what {
        super::turn::TurnContent::Fault { fault, .. } => fault,
        _ => panic!("this turn has no fault"),
    }
}
