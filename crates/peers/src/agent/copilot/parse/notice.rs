//! Messages of the CLI to people.

use serde::Deserialize;
use windlass_core::agent::AgentEvent;

use super::CopilotLine;

/// Messages that say nothing new: the flags of the turn, a file that a tool wrote, what a retry or an interruption says
/// anyway.
const KNOWN: &[&str] = &["configuration", "file_created", "model_retry", "cancellation"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    #[serde(default, alias = "warningType")]
    info_type: String,
    #[serde(default)]
    message: String,
}

pub(super) fn read_info(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Message { info_type, message } = CopilotLine::<Message>::read(line)?.data;
    if !KNOWN.contains(&info_type.as_str()) {
        out.push(AgentEvent::Notice { about: info_type, text: message });
    }
    Ok(())
}

pub(super) fn read_warning(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let Message { info_type, message } = CopilotLine::<Message>::read(line)?.data;
    out.push(AgentEvent::Notice { about: info_type, text: message });
    Ok(())
}
