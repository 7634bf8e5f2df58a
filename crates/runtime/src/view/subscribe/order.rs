//! Finds the line of a transcript that a hook asked about.
//!
//! A hook call comes through a socket and is recorded at once; the line about it comes through a file. Both
//! are needed to put them in order: the tool call is in the stream before its hook asks, and the agent's last
//! message is there before the stop hook asks.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use windlass_core::agent::AgentEvent;
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::EffectId;

use crate::transcript::TranscriptReader;

/// The limit for searching ahead in a transcript, in bytes.
const LOOK_AHEAD: u64 = 16 << 20;
/// The number of lines to remember for hooks that have not asked yet.
const REMEMBERED: usize = 32;
/// The length limit of a remembered text, to bound memory.
const REMEMBERED_TEXT: usize = 64 * 1024;

/// Decides whether a hook asked about this event.
fn is_about(kind: &HookKind, event: &AgentEvent) -> bool {
    match (event, kind) {
        (AgentEvent::ToolUse { name, .. }, HookKind::Tool(call) | HookKind::Permission(call)) => {
            *name == call.name
        }
        (AgentEvent::ToolUse { asks, .. }, HookKind::Question { .. }) => *asks,
        (AgentEvent::Text { text, .. }, HookKind::Stop { last_message: Some(last), .. }) => text == last,
        _ => false,
    }
}

/// The position of the line that a hook asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineAhead {
    /// The number of events up to and including the line.
    Found(usize),
    /// The line was not found. The number of events that come before its place.
    Missing(usize),
}

/// Searches ahead for the line that a hook asked about.
pub(super) fn find_line(transcript: &TranscriptReader, kind: &HookKind) -> LineAhead {
    let (mut count, mut found, mut spoken) = (0, None, None);
    transcript.look_ahead(LOOK_AHEAD, |event| {
        if matches!(event, AgentEvent::Text { .. }) {
            spoken = spoken.or(Some(count));
        }
        count += 1;
        if is_about(kind, event) {
            found = Some(count);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    match (found, kind) {
        (Some(count), _) => LineAhead::Found(count),
        // A stop comes after all events except the messages of the next iteration.
        (None, HookKind::Stop { .. }) => LineAhead::Missing(spoken.unwrap_or(0)),
        (None, _) => LineAhead::Missing(0),
    }
}

/// Lines that were reported before the hook call about them, each with its turn.
#[derive(Debug, Default)]
pub(super) struct ToldLines(VecDeque<(EffectId, AgentEvent)>);

impl ToldLines {
    /// Remembers a line that a hook may still ask about.
    pub(super) fn add(&mut self, effect: &EffectId, event: &AgentEvent) {
        let is_kept = match event {
            AgentEvent::ToolUse { .. } => true,
            AgentEvent::Text { text, .. } => text.len() <= REMEMBERED_TEXT,
            _ => false,
        };
        if is_kept {
            self.0.push_back((effect.clone(), event.clone()));
            self.0.drain(..self.0.len().saturating_sub(REMEMBERED));
        }
    }

    /// Decides whether the line that a hook asks about was already reported, and forgets it. A hook without a
    /// session may belong to any turn.
    pub(super) fn claim(&mut self, call: &HookCall) -> bool {
        let is_its = |effect: &EffectId| call.from.as_ref().is_none_or(|from| from == effect);
        let is_asked =
            |(effect, event): &(EffectId, AgentEvent)| is_its(effect) && is_about(&call.kind, event);
        let Some(place) = self.0.iter().position(is_asked) else { return false };
        // Hooks ask in the order of the stream, so no hook will ask about the earlier lines any more.
        let mut at = 0;
        self.0.retain(|(effect, _)| {
            at += 1;
            at > place + 1 || !is_its(effect)
        });
        true
    }

    /// Forgets the lines of a finished turn.
    pub(super) fn forget(&mut self, effect: &EffectId) {
        self.0.retain(|(of, _)| of != effect);
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::{ToolCall, ToolName};
    use windlass_core::id::{HookId, NodeId, Verb};

    use super::*;

    fn tool_hook(name: &str, from: Option<EffectId>) -> HookCall {
        let (tool, input) = (ToolName::Other, serde_json::Value::Null);
        let kind = HookKind::Tool(ToolCall { tool, name: name.to_owned(), input });
        HookCall { id: HookId::new("h"), from, kind, unanswered: Vec::new(), real: None }
    }

    fn tool_use(name: &str) -> AgentEvent {
        AgentEvent::ToolUse {
            id: "t".to_owned(),
            tool: ToolName::Other,
            name: name.to_owned(),
            asks: false,
            summary: String::new(),
            side: false,
        }
    }

    fn turn(node: &str) -> EffectId {
        EffectId { node: NodeId::new(node), iteration: 1, attempt: 1, verb: Verb::Session }
    }

    #[test]
    fn a_call_that_was_told_is_asked_about_once() {
        let mut told = ToldLines::default();
        told.add(&turn("loop"), &tool_use("Bash"));
        assert!(told.claim(&tool_hook("Bash", None)));
        assert!(!told.claim(&tool_hook("Bash", None)));
    }

    #[test]
    fn a_call_before_the_one_that_is_asked_about_was_asked_about_by_nobody() {
        let mut told = ToldLines::default();
        told.add(&turn("loop"), &tool_use("Read"));
        told.add(&turn("loop"), &tool_use("Bash"));
        assert!(told.claim(&tool_hook("Bash", None)));
        assert!(!told.claim(&tool_hook("Read", None)));
    }

    #[test]
    fn the_lines_of_one_session_are_not_those_of_another() {
        let mut told = ToldLines::default();
        told.add(&turn("two"), &tool_use("Bash"));
        assert!(!told.claim(&tool_hook("Bash", Some(turn("one")))), "the other one called it");
        assert!(told.claim(&tool_hook("Bash", Some(turn("two")))));
        told.add(&turn("two"), &tool_use("Bash"));
        told.forget(&turn("two"));
        assert!(!told.claim(&tool_hook("Bash", None)));
    }
}
