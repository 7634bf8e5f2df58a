//! The finished parts of a message: text, thinking, tool calls and steps.

use serde_json::value::RawValue;
use windlass_core::agent::{AgentEvent, TurnResult};

use super::super::schema::{LineText, PartLine, StepPart, TellingInput, TextPart, ToolPart};
use super::super::tools;
use super::OpencodeReader;
use crate::agent::lines::shorten;

/// The number of bytes of a tool's input to keep for people.
const INPUT_SHOWN: usize = 200;
/// The number of bytes of a tool's output to keep for people.
const OUTPUT_SHOWN: usize = 4 * 1024;
/// The reasons of a step after which OpenCode asks the model again.
const GOES_ON: [&str; 2] = ["tool-calls", "unknown"];

impl OpencodeReader {
    pub(super) fn read_text(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let PartLine { part, .. } = serde_json::from_str::<PartLine<TextPart<'_>>>(line)?;
        out.push(part.text(false));
        Ok(())
    }

    pub(super) fn read_reasoning(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let PartLine { part, .. } = serde_json::from_str::<PartLine<TextPart<'_>>>(line)?;
        out.push(AgentEvent::Thinking { text: part.text.0.into_owned(), side: false });
        Ok(())
    }

    pub(super) fn read_tool(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let PartLine { part, .. } = serde_json::from_str::<PartLine<ToolPart<'_>>>(line)?;
        self.finish_call(part, false, out);
        Ok(())
    }

    /// Reports the result of a call, and the call itself unless the plugin did.
    pub(super) fn finish_call(&mut self, part: ToolPart<'_>, side: bool, out: &mut Vec<AgentEvent>) {
        let id = part.call.0.as_ref();
        if !self.finished.insert(id.to_owned()) {
            return;
        }
        let was_asked = self.called.remove(id);
        if !was_asked {
            out.push(call(id, part.tool.0.as_ref(), part.state.input, side));
        }
        let is_error = part.state.status.0 != "completed";
        let text = if is_error { part.state.error } else { part.state.output };
        out.push(AgentEvent::ToolResult {
            id: id.to_owned(),
            is_error,
            text: text.map(|text| shorten(&text.0, OUTPUT_SHOWN)).unwrap_or_default(),
            // A call that ran although nobody was asked must be noticed.
            was_decided: was_asked || !is_error,
            side,
        });
    }

    pub(super) fn read_step_finish(
        &mut self,
        line: &str,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        let PartLine { part, .. } = serde_json::from_str::<PartLine<StepPart<'_>>>(line)?;
        let usage = part.usage();
        self.open.add(&usage);
        let reason = part.reason.0.as_ref();
        if GOES_ON.contains(&reason) {
            out.push(AgentEvent::Spent { message_id: part.id.0.into_owned(), usage });
            return Ok(());
        }
        if reason == "length" {
            let text = "the model's answer reached its largest length and is cut off".to_owned();
            out.push(AgentEvent::Notice { about: "length".to_owned(), text });
        }
        // An error has its own line.
        if reason != "error" {
            let usage = std::mem::take(&mut self.open);
            out.push(AgentEvent::Result(Box::new(TurnResult {
                usage,
                num_turns: 1,
                ..TurnResult::default()
            })));
        }
        Ok(())
    }
}

impl TextPart<'_> {
    pub(super) fn text(self, side: bool) -> AgentEvent {
        AgentEvent::Text { text: self.text.0.into_owned(), message_id: self.message.0.into_owned(), side }
    }
}

/// Builds the event for a call.
pub(super) fn call(id: &str, tool: &str, input: Option<&RawValue>, side: bool) -> AgentEvent {
    AgentEvent::ToolUse {
        id: id.to_owned(),
        tool: tools::name(tool),
        name: tool.to_owned(),
        asks: false,
        summary: input.map(summarise).unwrap_or_default(),
        side,
    }
}

/// Returns the most informative field of a tool's input, or else the whole input, shortened.
fn summarise(input: &RawValue) -> String {
    let told: TellingInput<'_> = serde_json::from_str(input.get()).unwrap_or_default();
    let told = [told.command, told.file, told.pattern, told.url, told.query, told.name, told.description];
    let text = told.into_iter().flatten().find(|LineText(text)| !text.is_empty());
    shorten(text.as_ref().map_or(input.get(), |LineText(text)| text), INPUT_SHOWN)
}
