//! The lines of the plugin: what `opencode run` does not print.

use windlass_core::agent::{AgentEvent, ApiRetry, ApiTrouble, FailureCause, RateLimit};
use windlass_core::time::Moment;

use super::super::schema::{CallLine, RetryLine, SideLine, StartLine, StepPart, TextPart, ToolPart};
use super::{OpencodeReader, part};

/// The number of times that OpenCode repeats a request.
const MAX_RETRIES: u32 = 5;

/// Returns the model of the session.
pub(super) fn model(line: &str) -> serde_json::Result<String> {
    serde_json::from_str::<StartLine>(line).map(|start| start.model)
}

impl OpencodeReader {
    /// Reads a call that Windlass is about to be asked about.
    pub(super) fn read_call(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let call: CallLine<'_> = serde_json::from_str(line)?;
        if self.called.insert(call.call.0.as_ref().to_owned()) {
            out.push(part::call(&call.call.0, &call.tool.0, call.input, call.side));
        }
        Ok(())
    }

    pub(super) fn read_retry(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let retry: RetryLine = serde_json::from_str(line)?;
        // Whole milliseconds; an absurd time saturates.
        let next = retry.next as i64;
        out.push(AgentEvent::Retry(ApiRetry {
            attempt: retry.attempt,
            max_retries: MAX_RETRIES,
            delay_ms: u64::try_from(next.saturating_sub(retry.timestamp)).unwrap_or_default(),
            status: None,
            error: retry.message.clone(),
        }));
        if retry.gives_up {
            let resets_at = Some(Moment(next));
            out.push(AgentEvent::RateLimit(RateLimit { rejected: true, resets_at, limit: None }));
            // OpenCode ends without an error, and with code 0.
            self.fail(FailureCause::Api(ApiTrouble::RateLimit), "retry-after", Some(retry.message), out);
        }
        Ok(())
    }

    /// Reads a part of a subagent's message.
    pub(super) fn read_side(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let SideLine { line, part } = serde_json::from_str(line)?;
        match line.0.as_ref() {
            "text" => out.push(serde_json::from_str::<TextPart<'_>>(part.get())?.text(true)),
            "reasoning" => {
                let text = serde_json::from_str::<TextPart<'_>>(part.get())?.text.0.into_owned();
                out.push(AgentEvent::Thinking { text, side: true });
            }
            "tool_use" => self.finish_call(serde_json::from_str::<ToolPart<'_>>(part.get())?, true, out),
            "step_finish" => {
                let step: StepPart<'_> = serde_json::from_str(part.get())?;
                let usage = step.usage();
                self.open.add(&usage);
                out.push(AgentEvent::Spent { message_id: step.id.0.into_owned(), usage });
            }
            "step_start" => {}
            other => out.push(AgentEvent::Unknown { what: format!("side/{other}") }),
        }
        Ok(())
    }
}
