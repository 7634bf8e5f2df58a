//! Results of the agent's tools.

use serde::Deserialize;
use windlass_core::agent::AgentEvent;

use super::CopilotLine;
use crate::agent::lines::shorten;

/// The number of bytes of a tool's result to keep for people.
const SHOWN: usize = 4 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolComplete {
    tool_call_id: String,
    success: bool,
    #[serde(default)]
    result: Option<ToolOutput>,
    #[serde(default)]
    error: Option<ToolError>,
}

#[derive(Deserialize)]
struct ToolOutput {
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct ToolError {
    #[serde(default)]
    message: String,
}

pub(super) fn read(line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
    let line = CopilotLine::<ToolComplete>::read(line)?;
    let side = line.is_side();
    let complete = line.data;
    let output = complete.result.map(|result| result.content);
    let said = complete.error.map(|error| error.message).or(output).unwrap_or_default();
    out.push(AgentEvent::ToolResult {
        id: complete.tool_call_id,
        is_error: !complete.success,
        text: shorten(&said, SHOWN),
        // The CLI calls the hook even for a tool that it does not have.
        was_decided: true,
        side,
    });
    Ok(())
}
