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
    records: VecDeque<Box<Record>>,
    due: Option<Instant>,
}

impl Held {
    /// Takes a record; gives it back when nothing has to be waited for.
    pub(super) fn take(&mut self, record: Box<Record>) -> Option<Box<Record>> {
        if self.records.is_empty() && asked(&record).is_none() {
            return Some(record);
        }
        self.due.get_or_insert_with(|| Instant::now() + PATIENCE);
        self.records.push_back(record);
        None
    }

    /// Whether this is the line the first record waits for.
    pub(super) fn waits_for(&self, event: &AgentEvent) -> bool {
        self.records.front().and_then(|record| asked(record)).is_some_and(|kind| is_about(kind, event))
    }

    /// Everything, in its order.
    pub(super) fn release(&mut self) -> VecDeque<Box<Record>> {
        self.due = None;
        std::mem::take(&mut self.records)
    }

    /// Waits until the records have waited long enough; for ever when there are none.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => tokio::time::sleep_until(due).await,
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
    use windlass_core::event::RECORD_VERSION;
    use windlass_core::hook::HookCall;
    use windlass_core::id::HookId;
    use windlass_core::time::Moment;

    use super::*;

    fn record(event: Event) -> Box<Record> {
        Box::new(Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news: Vec::new() })
    }

    fn tool_hook(name: &str) -> Box<Record> {
        let kind = HookKind::Tool { name: name.to_owned(), input: serde_json::Value::Null };
        record(Event::HookAsked { call: HookCall { id: HookId::new("h"), kind } })
    }

    fn tool_use(name: &str) -> AgentEvent {
        AgentEvent::ToolUse { id: "t".to_owned(), name: name.to_owned(), summary: String::new(), side: false }
    }

    #[test]
    fn a_decision_waits_for_the_call_it_is_about_and_holds_up_what_follows() {
        let mut held = Held::default();
        assert!(held.take(record(Event::OwnerChanged)).is_some());
        assert!(held.take(tool_hook("Bash")).is_none());
        assert!(held.take(record(Event::CleanedUp)).is_none());
        assert!(!held.waits_for(&tool_use("Edit")));
        assert!(held.waits_for(&tool_use("Bash")));
        assert_eq!(held.release().len(), 2);
        assert!(held.take(record(Event::CleanedUp)).is_some());
    }
}
