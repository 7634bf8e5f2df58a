//! The work of an agent during a prompt: `session/update` as events.
//!
//! Texts arrive in pieces of a few letters, and become one event when the message is complete. A tool call is shown
//! once its input is known.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::agent::AgentEvent;

use super::super::lines::{TEXT_MAX, cut_text, shorten};
use super::tools::{self, KnownCall};
use super::wire::Update;

/// The number of tool calls under way that are remembered.
const OPEN_CALLS: usize = 256;
/// The number of bytes to show of a tool's output.
const OUTPUT_SHOWN: usize = 2000;

/// The unfinished messages and tool calls of a conversation.
#[derive(Debug, Default)]
pub(super) struct Updates {
    message: GrowingMessage,
    calls: Vec<OpenCall>,
    /// The last complete message of the main conversation.
    last_message: Option<String>,
    /// The money that the conversation has cost so far.
    cost: Option<f64>,
}

/// The message that the agent is writing.
#[derive(Debug, Default)]
struct GrowingMessage {
    text: String,
    is_thought: bool,
    message_id: String,
    side: bool,
}

#[derive(Debug)]
struct OpenCall {
    call: KnownCall,
    is_shown: bool,
    /// The agent asked for a permission.
    was_asked: bool,
    side: bool,
}

impl Updates {
    /// Adds the events of an update. `side` marks a conversation of a subagent.
    pub(super) fn read(&mut self, update: &Update<'_>, side: bool, out: &mut Vec<AgentEvent>) {
        match update.session_update.as_ref() {
            "agent_message_chunk" => self.add_text(update, false, side, out),
            "agent_thought_chunk" => self.add_text(update, true, side, out),
            "tool_call" | "tool_call_update" => self.add_call(update, side, out),
            "plan" => {
                self.end_message(out);
                let text = plan(update);
                out.push(AgentEvent::Notice { about: "plan".to_owned(), text });
            }
            "usage_update" => self.cost = cost(update).or(self.cost),
            "user_message_chunk" => self.end_message(out),
            other => out.push(AgentEvent::Unknown { what: shorten(other, OUTPUT_SHOWN) }),
        }
    }

    /// Notes that the agent asks for a permission, and returns the call as far as it is known.
    pub(super) fn ask(&mut self, update: &Update<'_>, side: bool, out: &mut Vec<AgentEvent>) -> KnownCall {
        self.end_message(out);
        let open = self.call(update, side);
        open.was_asked = true;
        open.show(out);
        open.call.clone()
    }

    /// Ends the message that the agent is writing.
    pub(super) fn end_message(&mut self, out: &mut Vec<AgentEvent>) {
        let GrowingMessage { mut text, is_thought, message_id, side } = std::mem::take(&mut self.message);
        if text.trim().is_empty() {
            return;
        }
        cut_text(&mut text);
        if !is_thought && !side {
            self.last_message = Some(text.clone());
        }
        out.push(match is_thought {
            true => AgentEvent::Thinking { text, side },
            false => AgentEvent::Text { text, message_id, side },
        });
    }

    /// Returns the last complete message since the prompt began.
    pub(super) fn take_last_message(&mut self) -> Option<String> {
        self.last_message.take()
    }

    pub(super) fn cost(&self) -> Option<f64> {
        self.cost
    }

    fn add_text(&mut self, update: &Update<'_>, is_thought: bool, side: bool, out: &mut Vec<AgentEvent>) {
        #[derive(Deserialize)]
        struct TextContent {
            text: String,
        }
        let content =
            update.content.and_then(|content| serde_json::from_str::<TextContent>(content.get()).ok());
        let Some(TextContent { text }) = content else { return };
        let message_id = update.message_id.as_deref().unwrap_or_default();
        let is_same = self.message.is_thought == is_thought
            && self.message.side == side
            && self.message.message_id == message_id;
        if !is_same {
            self.end_message(out);
            self.message =
                GrowingMessage { text: String::new(), is_thought, message_id: message_id.to_owned(), side };
        }
        self.message.text.push_str(&text);
        if self.message.text.len() > 2 * TEXT_MAX {
            cut_text(&mut self.message.text);
        }
    }

    fn add_call(&mut self, update: &Update<'_>, side: bool, out: &mut Vec<AgentEvent>) {
        let status = update.status.as_deref().unwrap_or_default();
        let is_over = matches!(status, "completed" | "failed");
        let open = self.call(update, side);
        let is_due = !open.is_shown && (is_over || open.call.has_input());
        if is_due {
            self.end_message(out);
        }
        let open = self.call(update, side);
        if is_due {
            open.show(out);
        }
        if is_over {
            out.push(open.result(update, status == "failed"));
            let id = open.call.id.clone();
            self.calls.retain(|open| open.call.id != id);
        }
    }

    /// Finds a call, and adds what the update says about it.
    fn call(&mut self, update: &Update<'_>, side: bool) -> &mut OpenCall {
        let new = KnownCall::new(&update.tool_call_id);
        let at = self.calls.iter().position(|open| open.call.id == new.id);
        // The last call is the newest one, so that a flood of calls forgets the oldest.
        let mut open = match at {
            Some(at) => self.calls.remove(at),
            None => OpenCall { call: new, is_shown: false, was_asked: false, side },
        };
        open.call.add(update);
        if self.calls.len() >= OPEN_CALLS {
            self.calls.remove(0);
        }
        self.calls.push_mut(open)
    }
}

impl OpenCall {
    fn show(&mut self, out: &mut Vec<AgentEvent>) {
        if std::mem::replace(&mut self.is_shown, true) {
            return;
        }
        let KnownCall { id, .. } = &self.call;
        out.push(AgentEvent::ToolUse {
            id: id.clone(),
            tool: self.call.tool(),
            name: self.call.name(),
            asks: false,
            summary: self.call.summary(),
            side: self.side,
        });
    }

    fn result(&self, update: &Update<'_>, is_error: bool) -> AgentEvent {
        AgentEvent::ToolResult {
            id: self.call.id.clone(),
            is_error,
            text: shorten(&tools::output(update), OUTPUT_SHOWN),
            was_decided: self.was_asked,
            side: self.side,
        }
    }
}

/// Returns the entries of a plan, one a line.
fn plan(update: &Update<'_>) -> String {
    let entries: Value =
        update.entries.and_then(|entries| serde_json::from_str(entries.get()).ok()).unwrap_or_default();
    let text =
        |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |entry| {
        let mark = match text(entry, "status").as_str() {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        format!("{mark} {}", text(entry, "content"))
    };
    entries.as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the cost of the conversation so far, if it is in dollars.
fn cost(update: &Update<'_>) -> Option<f64> {
    #[derive(Deserialize)]
    struct Cost {
        amount: f64,
        currency: String,
    }
    let cost: Cost = serde_json::from_str(update.cost?.get()).ok()?;
    (cost.currency == "USD" && cost.amount.is_finite() && cost.amount >= 0.0).then_some(cost.amount)
}
