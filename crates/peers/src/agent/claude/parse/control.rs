//! Reads the requests with which the CLI asks for a permission.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::agent::{AgentEvent, AgentRequest};

use super::super::hook;

/// The only request that the CLI sends without being asked to.
const PERMISSION: &str = "can_use_tool";

#[derive(Deserialize)]
struct Control {
    request_id: String,
    #[serde(default)]
    request: Value,
}

pub(super) fn read_request(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Control { request_id: id, request: payload } = serde_json::from_str(line)?;
    let subtype = payload.get("subtype").and_then(Value::as_str).unwrap_or_default();
    out.push(match subtype {
        PERMISSION => AgentEvent::Asks(AgentRequest { id, event: hook::PROMPT.to_owned(), payload }),
        other => AgentEvent::Unknown { what: format!("control_request/{other}") },
    });
    Ok(())
}

pub(super) fn read_cancel(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Control { request_id: id, .. } = serde_json::from_str(line)?;
    out.push(AgentEvent::AskWithdrawn { id });
    Ok(())
}
