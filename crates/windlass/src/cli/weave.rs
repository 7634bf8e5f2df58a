//! Puts what the agent said and what was decided about it into the order in which they happened.
//!
//! A hook asks over a socket and is recorded at once; the line it is about comes through a file
//! that is read a little later. Both are needed to see which was first: a tool is asked about
//! after its call stood in the stream, a stop after the last words.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::HookKind;

/// How much later than a hook its line may be read.
const PATIENCE: Duration = Duration::from_millis(50);
/// How many lines that no hook has asked about yet are remembered.
const REMEMBERED: usize = 32;

/// Whether a hook asked about this.
pub(super) fn is_about(kind: &HookKind, event: &AgentEvent) -> bool {
    match (event, kind) {
        (AgentEvent::ToolUse { name, .. }, HookKind::Tool { name: asked, .. }) => name == asked,
        (AgentEvent::ToolUse { name, .. }, HookKind::Question { .. }) => name == "AskUserQuestion",
        (AgentEvent::Text { text, .. }, HookKind::Stop { last_message: Some(last), .. }) => text == last,
        _ => false,
    }
}

/// Records that wait for the line they are about, and those behind them.
#[derive(Default)]
pub(super) struct Held {
    records: VecDeque<Waiting>,
    /// Lines that came before the hook that asks about them.
    seen: VecDeque<AgentEvent>,
}

struct Waiting {
    record: Record,
    /// It waits for its line until then; nothing when it only waits for its turn.
    due: Option<Instant>,
}

impl Held {
    /// Takes a record; gives back what has nothing to wait for.
    pub(super) fn take(&mut self, record: Record) -> Vec<Record> {
        // A session ends when its stream was read to the end: no line is still to come.
        let is_end = matches!(record.event, Event::SessionEnded { .. });
        let due = asked(&record).filter(|kind| !self.claim(kind)).map(|_| Instant::now() + PATIENCE);
        let may_pass = self.records.is_empty() && due.is_none();
        self.records.push_back(Waiting { record, due });
        if is_end {
            self.seen.clear();
        }
        if is_end || may_pass { self.release_all() } else { Vec::new() }
    }

    /// Whether the line a hook asks about was there before it.
    fn claim(&mut self, kind: &HookKind) -> bool {
        let place = self.seen.iter().position(|event| is_about(kind, event));
        // Hooks ask in the order of the stream: what stood before was asked about by nobody.
        self.seen.drain(..place.map_or(0, |place| place + 1));
        place.is_some()
    }

    /// The first record and what follows from it, when this is the line it waits for.
    pub(super) fn release_for(&mut self, event: &AgentEvent) -> Vec<Record> {
        let first = self.records.front().and_then(|first| asked(&first.record));
        if first.is_some_and(|kind| is_about(kind, event)) {
            return self.release_first();
        }
        if matches!(event, AgentEvent::ToolUse { .. } | AgentEvent::Text { .. }) {
            self.seen.push_back(event.clone());
            self.seen.drain(..self.seen.len().saturating_sub(REMEMBERED));
        }
        Vec::new()
    }

    /// What has waited long enough.
    pub(super) fn release_due(&mut self) -> Vec<Record> {
        let now = Instant::now();
        let mut released = Vec::new();
        while self.records.front().is_some_and(|first| first.due.is_none_or(|due| due <= now)) {
            released.extend(self.release_first());
        }
        released
    }

    /// Everything, in its order.
    pub(super) fn release_all(&mut self) -> Vec<Record> {
        self.records.drain(..).map(|waiting| waiting.record).collect()
    }

    /// Up to the next record that waits for a line of its own.
    fn release_first(&mut self) -> Vec<Record> {
        let next = self.records.iter().skip(1).position(|waiting| waiting.due.is_some());
        let many = next.map_or(self.records.len(), |next| next + 1);
        self.records.drain(..many).map(|waiting| waiting.record).collect()
    }

    /// Waits until the first record has waited long enough; for ever when there is none.
    pub(super) async fn due(&self) {
        match self.records.front() {
            Some(first) => tokio::time::sleep_until(first.due.unwrap_or_else(Instant::now)).await,
            None => std::future::pending().await,
        }
    }
}

/// What a record's hook asked, when its line is in the stream.
fn asked(record: &Record) -> Option<&HookKind> {
    match &record.event {
        Event::HookAsked { call } => match &call.kind {
            HookKind::Other { .. } => None,
            kind => Some(kind),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::event::{RECORD_VERSION, SessionEnd, SessionVerdict};
    use windlass_core::hook::HookCall;
    use windlass_core::id::{EffectId, HookId, NodeId, Verb};
    use windlass_core::time::Moment;
    use windlass_core::usage::Usage;

    use super::*;

    fn record(event: Event) -> Record {
        Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news: Vec::new() }
    }

    fn tool_hook(name: &str) -> Record {
        let kind = HookKind::Tool { name: name.to_owned(), input: serde_json::Value::Null };
        record(Event::HookAsked { call: HookCall { id: HookId::new("h"), kind } })
    }

    fn tool_use(name: &str) -> AgentEvent {
        AgentEvent::ToolUse { id: "t".to_owned(), name: name.to_owned(), summary: String::new(), side: false }
    }

    #[test]
    fn a_decision_whose_call_was_seen_waits_for_nothing() {
        let mut held = Held::default();
        assert!(held.release_for(&tool_use("Bash")).is_empty());
        assert_eq!(held.take(tool_hook("Bash")).len(), 1);
        assert!(held.take(tool_hook("Bash")).is_empty());
    }

    #[test]
    fn the_end_of_a_session_waits_for_nothing() {
        let mut held = Held::default();
        assert!(held.take(tool_hook("Bash")).is_empty());
        let effect = EffectId { node: NodeId::new("loop"), iteration: 1, attempt: 1, verb: Verb::Session };
        let end = SessionEnd {
            verdict: SessionVerdict::Done,
            last_message: None,
            usage: Usage::default(),
            tool_calls: 0,
            spoke: true,
            offset: 0,
        };
        assert_eq!(held.take(record(Event::SessionEnded { effect, end })).len(), 2);
    }

    #[test]
    fn a_decision_waits_for_the_call_it_is_about_and_holds_up_what_follows() {
        let mut held = Held::default();
        assert_eq!(held.take(record(Event::OwnerChanged)).len(), 1);
        assert!(held.take(tool_hook("Bash")).is_empty());
        assert!(held.take(record(Event::CleanedUp)).is_empty());
        assert!(held.take(tool_hook("Edit")).is_empty());
        assert!(held.release_for(&tool_use("Edit")).is_empty());
        assert_eq!(held.release_for(&tool_use("Bash")).len(), 2);
        assert_eq!(held.release_for(&tool_use("Edit")).len(), 1);
        assert_eq!(held.take(record(Event::CleanedUp)).len(), 1);
    }
}
