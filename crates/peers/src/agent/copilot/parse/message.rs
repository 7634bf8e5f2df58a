//! Messages of the agent: text, thinking and tool calls.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::agent::AgentEvent;
use windlass_core::hook::ToolName;
use windlass_core::usage::Usage;

use super::super::tools;
use super::{CopilotLine, CopilotReader};
use crate::agent::lines::shorten;

/// The number of bytes of a tool's input to keep for people.
const SHOWN: usize = 200;

/// The usage of a message or a turn. The tokens are in a file that a killed CLI does not write.
pub(super) const NO_TOKENS: Usage = Usage {
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cost_usd: None,
    is_partial: true,
    is_cost_computed: false,
    is_cost_partial: false,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotMessage<'a> {
    #[serde(borrow, default)]
    message_id: Cow<'a, str>,
    #[serde(default)]
    content: String,
    #[serde(default)]
    reasoning_text: Option<String>,
    #[serde(borrow, default)]
    tool_requests: Vec<ToolRequest<'a>>,
    #[serde(borrow, default)]
    parent_tool_call_id: Option<Cow<'a, str>>,
}

/// A request to use a tool. Its id and name must be there: a list of empty requests would take much more memory
/// than its line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolRequest<'a> {
    tool_call_id: String,
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    mcp_server_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    mcp_tool_name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ToolsUpdated {
    #[serde(default)]
    model: String,
}

impl CopilotReader {
    pub(super) fn read_message(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let line = CopilotLine::<CopilotMessage<'_>>::read(line)?;
        let side = line.is_side() || line.data.parent_tool_call_id.is_some();
        let message = line.data;
        if !side {
            // The turn goes on after an error.
            self.failure = None;
        }
        if let Some(text) = message.reasoning_text.filter(|text| !text.is_empty()) {
            out.push(AgentEvent::Thinking { text, side });
        }
        let message_id = message.message_id.into_owned();
        if !message.content.is_empty() {
            out.push(AgentEvent::Text { text: message.content, message_id: message_id.clone(), side });
        }
        out.extend(message.tool_requests.into_iter().map(|request| request.event(side)));
        out.push(AgentEvent::Spent { message_id, usage: NO_TOKENS });
        Ok(())
    }

    pub(super) fn read_model(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let line = CopilotLine::<ToolsUpdated>::read(line)?;
        let is_new = !line.is_side() && self.model != line.data.model;
        if is_new {
            self.model = line.data.model;
            // The id of the conversation follows at the end, and is the one that Windlass chose.
            let (session, model) = (String::new(), self.model.clone());
            out.push(AgentEvent::SessionInit { session, model, tools: Vec::new() });
        }
        Ok(())
    }
}

impl ToolRequest<'_> {
    fn event(self, side: bool) -> AgentEvent {
        let summary = self.arguments.map(|input| summarise(input.get())).unwrap_or_default();
        let (tool, name) = match (self.mcp_server_name, self.mcp_tool_name) {
            (Some(server), Some(tool)) => (ToolName::Mcp, format!("mcp__{server}__{tool}")),
            _ => (tools::name(&self.name), self.name),
        };
        AgentEvent::ToolUse { id: self.tool_call_id, tool, name, asks: false, summary, side }
    }
}

/// Returns the most informative field of a tool's input, or else the whole input, shortened.
fn summarise(input: &str) -> String {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Telling {
        command: Option<String>,
        path: Option<String>,
        url: Option<String>,
        query: Option<String>,
        pattern: Option<String>,
        skill: Option<String>,
    }
    let told: Telling = serde_json::from_str(input).unwrap_or_default();
    let told = [told.command, told.path, told.url, told.query, told.pattern, told.skill];
    let text = told.into_iter().flatten().find(|text| !text.is_empty());
    // A patch is a text.
    let text = text.or_else(|| serde_json::from_str::<String>(input).ok());
    shorten(text.as_deref().unwrap_or(input), SHOWN)
}
