//! The lines of the protocol: what an agent writes, as far as Windlass uses it, and what Windlass writes.
//!
//! Parsing is tolerant: a field of an unexpected type that Windlass does not need never makes a line unreadable.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_core::launch::END_OF_INPUT;

/// The ids of the requests that Windlass sends.
pub(super) const INITIALIZE: &str = "windlass-initialize";
pub(super) const SESSION: &str = "windlass-session";
pub(super) const SET_MODE: &str = "windlass-set-mode";
pub(super) const SET_MODEL: &str = "windlass-set-model";
pub(super) const SET_EFFORT: &str = "windlass-set-effort";
/// The id of the only prompt of a turn. The host ends the agent's input when the response arrives.
pub(super) const LAST: &str = "windlass-last";
/// The beginning of the ids of prompts that others may follow.
const PROMPT: &str = "windlass-prompt-";

/// The version of the protocol.
pub(super) const VERSION: u64 = 1;
/// JSON-RPC's code for a method that the receiver does not have.
const NO_METHOD: i64 = -32601;
/// JSON-RPC's code for a request that the sender cancelled.
const CANCELLED: i64 = -32800;

/// A line from the agent.
#[derive(Debug, Deserialize)]
pub(super) struct RpcMessage<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) method: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    pub(super) error: Option<RpcError>,
}

/// An error in place of a result.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UpdateParams<'a> {
    #[serde(borrow, default)]
    pub(super) session_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) update: Update<'a>,
}

/// A `session/update`, or the tool call of a permission request. The kind says which fields it has.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Update<'a> {
    #[serde(borrow)]
    pub(super) session_update: Cow<'a, str>,
    pub(super) message_id: Option<String>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) entries: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cost: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_call_id: Cow<'a, str>,
    pub(super) title: Option<String>,
    pub(super) name: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) status: Option<String>,
    #[serde(borrow)]
    pub(super) raw_input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) raw_output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) locations: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    pub(super) meta: Option<&'a RawValue>,
}

/// The result of `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Initialized {
    pub(super) protocol_version: u64,
    pub(super) agent_capabilities: AgentCapabilities,
    pub(super) agent_info: Option<AgentInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AgentCapabilities {
    pub(super) load_session: bool,
    pub(super) session_capabilities: SessionCapabilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionCapabilities {
    /// Present if the agent continues a conversation without repeating it.
    pub(super) resume: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentInfo {
    pub(super) name: String,
}

/// The params of `session/request_permission`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionParams<'a> {
    #[serde(borrow, default)]
    pub(super) session_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool_call: Update<'a>,
    #[serde(default)]
    pub(super) options: Vec<PermissionOption>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub(super) option_id: String,
    #[serde(default)]
    pub(super) kind: String,
}

/// The result of `session/prompt`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PromptResult {
    pub(super) stop_reason: String,
    pub(super) usage: Option<Value>,
    #[serde(rename = "_meta")]
    pub(super) meta: Value,
}

/// Returns the id of a prompt, counted from 1.
pub(super) fn prompt_id(number: u32) -> String {
    format!("{PROMPT}{number}")
}

/// Returns the number of the prompt with this id.
pub(super) fn prompt_number(id: &str) -> Option<u32> {
    match id {
        LAST => Some(1),
        _ => id.strip_prefix(PROMPT)?.parse().ok(),
    }
}

/// Writes the first line of a conversation. Windlass offers no files and no terminals: the agent uses its own.
pub(super) fn initialize() -> Vec<u8> {
    let files = json!({ "readTextFile": false, "writeTextFile": false });
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": { "fs": files, "terminal": false },
        "clientInfo": { "name": "windlass", "title": "Windlass", "version": env!("CARGO_PKG_VERSION") },
    });
    request(INITIALIZE, "initialize", &params)
}

/// Writes a request.
pub(super) fn request(id: &str, method: &str, params: &Value) -> Vec<u8> {
    let id = Value::from(id).to_string();
    line(&format!(r#"{}"method":{},"params":{params}}}"#, beginning(&id), Value::from(method)))
}

/// Writes the result of a request of the agent. `id` is JSON.
pub(super) fn result(id: &str, result: &Value) -> Vec<u8> {
    line(&format!(r#"{}"result":{result}}}"#, beginning(id)))
}

/// Refuses a request for something that Windlass did not offer.
pub(super) fn no_method(id: &str) -> Vec<u8> {
    error(id, NO_METHOD, "Windlass does not offer this")
}

/// Ends a request that the agent cancelled.
pub(super) fn cancelled(id: &str) -> Vec<u8> {
    error(id, CANCELLED, "cancelled")
}

/// A prompt in an input.
#[derive(Debug, Deserialize)]
struct SentPrompt {
    id: String,
    params: PromptParams,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams {
    session_id: String,
}

/// Returns the number and the conversation of the last prompt of an input.
fn last_sent(input: &[u8]) -> Option<(u32, String)> {
    input.split(|byte| *byte == b'\n').rev().find_map(|line| {
        let sent: SentPrompt = serde_json::from_slice(line).ok()?;
        Some((prompt_number(&sent.id)?, sent.params.session_id))
    })
}

/// Returns the number of the last prompt of an input.
pub(super) fn last_prompt(input: &[u8]) -> Option<u32> {
    last_sent(input).map(|(number, _)| number)
}

/// Cancels the last prompt of an input, and ends the input.
pub(super) fn cancel(input: &[u8]) -> Vec<u8> {
    let mut written = last_sent(input).map_or_else(Vec::new, |(_, session)| {
        let params = json!({ "sessionId": session });
        line(&format!(r#"{{"jsonrpc":"2.0","method":"session/cancel","params":{params}}}"#))
    });
    written.push(END_OF_INPUT);
    written
}

fn error(id: &str, code: i64, message: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": message });
    line(&format!(r#"{}"error":{error}}}"#, beginning(id)))
}

/// Returns the beginning of the line with this id. `id` is JSON.
pub(super) fn beginning(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"#)
}

/// Decides whether an input has a whole line with this beginning. A former owner may have been killed in a line.
pub(super) fn has_line(input: &[u8], beginning: &str) -> bool {
    let is_it = |line: &[u8]| {
        line.starts_with(beginning.as_bytes()) && serde_json::from_slice::<IgnoredAny>(line).is_ok()
    };
    input.split(|byte| *byte == b'\n').any(is_it)
}

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}
