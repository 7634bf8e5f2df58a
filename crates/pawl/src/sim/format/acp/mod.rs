//! An agent of the Agent Client Protocol: a conversation in lines of JSON-RPC.

mod opening;
mod tools;
mod wire;

use std::io;

use serde_json::{Value, json};

use super::{FormatAbilities, LaunchRefusal, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{Failure, MessagePart, SessionSummary, SimCall, SimEvent, SimMessage, UsageTally};
use crate::sim::hook_call::{HookMeaning, HookMoment};
use crate::sim::lines::EventLines;
use crate::sim::play::PlayCut;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, SimInput};
use opening::usage_update;
use wire::{ClientLines, NO_METHOD};

/// The exit code of an agent that nobody wants anything from.
const DONE: u8 = 0;

/// A conversation.
#[derive(Default)]
pub(super) struct AcpFormat {
    client: Option<ClientLines>,
    /// The id of the prompt that the agent works on.
    prompt: Option<Value>,
    /// The usage since the prompt, and the money since the process started.
    since: UsageTally,
    cost_usd: f64,
    counted: String,
    /// The number of requests to the client.
    requests: u64,
    has_failed: bool,
}

impl SimFormat for AcpFormat {
    fn version(&self) -> &'static str {
        "acp 1"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        if matches!(inputs.input, SimInput::Nothing) {
            let text = "error: an agent of the Agent Client Protocol reads requests from its standard input, not from a terminal\n  \
                        hint: windlass run \"Say hello\" --driver acp --agent-bin \"windlass sim --as acp\"\n";
            return Err(LaunchRefusal { text: text.to_owned(), code: 2 });
        }
        let client = ClientLines::of(inputs.input.take());
        // A client ends its agent by a signal at any time.
        (inputs.ready)();
        let (launch, prompt) = opening::open(inputs, &client)?;
        self.client = Some(client);
        let Some(prompt) = prompt else { return Err(LaunchRefusal { text: String::new(), code: DONE }) };
        self.prompt = Some(prompt.id);
        Ok(launch)
    }

    fn abilities(&self) -> FormatAbilities {
        FormatAbilities { tells_stops: true, ..FormatAbilities::default() }
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Answered(message, part) => self.answer(message, part, lines),
            SimEvent::Started(call) => {
                let id = &call.id;
                let update =
                    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "in_progress"});
                tell(lines, update)
            }
            SimEvent::Returned(call, result) => {
                tell(lines, tools::ended(call, result))?;
                if call.name == "TodoWrite" { tell(lines, tools::plan(&call.input)) } else { Ok(()) }
            }
            SimEvent::Failed(failure) => {
                self.has_failed = true;
                let id = self.prompt.take().unwrap_or_default();
                lines.text(&wire::error(&id, i64::from(failure.status), &failure.words()))
            }
            SimEvent::Ended(summary) => self.end(summary, lines),
            SimEvent::Opened(_)
            | SimEvent::Interrupted
            | SimEvent::StopBlocked { .. }
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        match call.event {
            "PreToolUse" if tools::needs_permission(call.subject) => self.permission(call, lines),
            "Stop" => {
                self.result("end_turn", lines)?;
                self.next_prompt(lines)
            }
            _ => Ok(HookMeaning::default()),
        }
    }

    fn refusal(&self, _: &str, _: Option<&str>) -> String {
        "The user rejected permission to use this specific tool call.".to_owned()
    }

    fn sample_line(&self) -> String {
        let content = json!({"type": "text", "text": "half a line"});
        wire::update("sim", json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    fn exit_code(&self, _: Option<&Failure>, is_error: bool) -> u8 {
        // A failed prompt is an answer, and not the end of the agent.
        if self.has_failed { DONE } else { u8::from(is_error) }
    }

    /// A client that cancels gets the result of its prompt. A signal ends the agent at once.
    fn signalled(
        &mut self,
        asked: StopRequest,
        _: bool,
        lines: &mut EventLines<'_>,
    ) -> io::Result<SignalEnd> {
        match asked {
            StopRequest::Terminate(code) => Ok(SignalEnd::Code(code)),
            StopRequest::Interrupt => {
                self.result("cancelled", lines)?;
                self.wait_for_end();
                Ok(SignalEnd::Code(DONE))
            }
        }
    }

    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal> {
        Some(LaunchRefusal::from(format!("Session not found: {id}")))
    }
}

impl AcpFormat {
    fn answer(
        &mut self,
        message: &SimMessage,
        part: MessagePart<'_>,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        if self.counted != message.id {
            self.counted.clone_from(&message.id);
            self.since.add(message.usage, message.cost_usd);
            self.cost_usd += message.cost_usd;
        }
        let chunk = |kind: &str, text: &str| {
            let content = json!({"type": "text", "text": text});
            json!({"sessionUpdate": kind, "messageId": message.id, "content": content})
        };
        match part {
            MessagePart::Said(text) => tell(lines, chunk("agent_message_chunk", text)),
            MessagePart::Thought(text) => tell(lines, chunk("agent_thought_chunk", text)),
            MessagePart::Called(call) => {
                let mut update = tools::described(call);
                if let Some(update) = update.as_object_mut() {
                    update.insert("sessionUpdate".to_owned(), json!("tool_call"));
                    update.insert("status".to_owned(), json!("pending"));
                }
                tell(lines, update)
            }
        }
    }

    /// Asks the client for a permission, and waits for the answer.
    fn permission(
        &mut self,
        call: &HookMoment<'_>,
        lines: &mut EventLines<'_>,
    ) -> Result<HookMeaning, PlayCut> {
        let described = tools::described(&SimCall {
            id: call.fact("tool_use_id").as_str().unwrap_or_default().to_owned(),
            name: call.subject.to_owned(),
            input: call.fact("tool_input"),
        });
        let id = self.requests;
        self.requests += 1;
        let option = |id: &str, kind: &str, name: &str| json!({"optionId": id, "kind": kind, "name": name});
        let options = [
            option("once", "allow_once", "Allow once"),
            option("always", "allow_always", "Always allow"),
            option("reject", "reject_once", "Reject"),
        ];
        let params = json!({"sessionId": lines.session, "toolCall": described, "options": options});
        lines.text(&wire::request(id, "session/request_permission", params))?;
        let Some(client) = &self.client else { return Ok(HookMeaning::refuse("nobody answers")) };
        loop {
            let Some(line) = client.next()? else { return Ok(HookMeaning::refuse("nobody answers")) };
            if line.method.is_empty() && line.id == json!(id) {
                let chosen = line.result.pointer("/outcome/optionId").and_then(Value::as_str);
                let is_allowed = matches!(chosen, Some("once" | "always"));
                return Ok(if is_allowed { HookMeaning::allow() } else { HookMeaning::refuse("rejected") });
            }
        }
    }

    /// Waits for another prompt. Without one, the agent may stop.
    fn next_prompt(&mut self, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let Some(client) = &self.client else { return Ok(HookMeaning::default()) };
        loop {
            let Some(line) = client.next()? else { return Ok(HookMeaning::default()) };
            if line.method == "session/prompt" {
                let open = opening::prompt(line);
                self.prompt = Some(open.id);
                return Ok(HookMeaning::refuse(open.prompt));
            }
            if !line.method.is_empty() && !line.id.is_null() {
                lines.text(&wire::error(&line.id, NO_METHOD, "\"Method not found\""))?;
            }
        }
    }

    /// Writes the result of the prompt, with its usage.
    fn result(&mut self, reason: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        let Some(id) = self.prompt.take() else { return Ok(()) };
        let usage = std::mem::take(&mut self.since).usage;
        let total = usage.whole_input() + usage.output_tokens;
        tell(lines, usage_update(total, self.cost_usd))?;
        let usage = json!({
            "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens, "totalTokens": total,
            "cachedReadTokens": usage.cache_read_input_tokens,
            "cachedWriteTokens": usage.cache_creation_input_tokens,
        });
        lines.text(&wire::result(&id, json!({"stopReason": reason, "usage": usage})))
    }

    fn end(&mut self, summary: &SessionSummary<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        let reason = if summary.is_error() { "refusal" } else { "end_turn" };
        self.result(reason, lines)?;
        self.wait_for_end();
        Ok(())
    }

    fn wait_for_end(&self) {
        if let Some(client) = &self.client {
            client.drain();
        }
    }
}

/// Writes an update of the session.
fn tell(lines: &mut EventLines<'_>, update: Value) -> io::Result<()> {
    lines.text(&wire::update(&lines.session, update))
}
