//! Puts what the agent said and what was decided about it into the order in which they happened.
//!
//! A hook asks over a socket and is recorded at once; the line it is about comes through a file
//! that is read a little later. Both are needed to see which was first: a tool is asked about
//! after its call stood in the stream, a stop after the last words.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::HookKind;
use windlass_core::id::{EffectId, RunId};

/// How much later than a hook its line may be read.
const PATIENCE: Duration = Duration::from_millis(50);
/// How many lines that no hook has asked about yet are remembered.
const REMEMBERED: usize = 32;
/// A longer text is not remembered, so that they take no more than a little memory.
const REMEMBERED_TEXT: usize = 64 * 1024;

/// Whether a hook asked about this.
pub(super) fn is_about(kind: &HookKind, event: &AgentEvent) -> bool {
    match (event, kind) {
        (
            AgentEvent::ToolUse { name, .. },
            HookKind::Tool { name: asked, .. } | HookKind::Permission { name: asked, .. },
        ) => name == asked,
        (AgentEvent::ToolUse { name, .. }, HookKind::Question { .. }) => name == "AskUserQuestion",
        (AgentEvent::Text { text, .. }, HookKind::Stop { last_message: Some(last), .. }) => text == last,
        _ => false,
    }
}

/// Records of one run that wait for the line they are about, and those behind them.
#[derive(Default)]
pub(super) struct Held {
    records: VecDeque<Waiting>,
    /// Lines that came before the hook that asks about them, and the turn each is of.
    seen: VecDeque<(EffectId, AgentEvent)>,
}

struct Waiting {
    record: Record,
    /// It waits for its line until then; nothing when it only waits for its turn.
    due: Option<Instant>,
}

impl Waiting {
    /// Whether it waits for a line of this turn. A hook that does not say whose it is may be of any.
    fn is_of(&self, effect: &EffectId) -> bool {
        self.due.is_some() && from(&self.record).is_none_or(|from| from == effect)
    }
}

impl Held {
    /// Takes a record; gives back what has nothing to wait for.
    pub(super) fn take(&mut self, record: Record) -> Vec<Record> {
        let is_waiting = asked(&record).is_some() && !self.claim(&record);
        let due = is_waiting.then(|| Instant::now() + PATIENCE);
        // A session ends when its stream was read to the end: no line is still to come.
        if let Event::SessionEnded { effect, .. } = &record.event {
            self.seen.retain(|(of, _)| of != effect);
            let over = self.records.iter_mut().filter(|waiting| waiting.is_of(effect));
            over.for_each(|waiting| waiting.due = None);
        }
        self.records.push_back(Waiting { record, due });
        self.release(|due| due.is_none())
    }

    /// Whether the line a hook asks about was there before it.
    fn claim(&mut self, record: &Record) -> bool {
        let Some(kind) = asked(record) else { return false };
        let is_its = |effect: &EffectId| from(record).is_none_or(|from| from == effect);
        let place = self.seen.iter().position(|(effect, event)| is_its(effect) && is_about(kind, event));
        let Some(place) = place else { return false };
        // Hooks ask in the order of the stream: what stood before was asked about by nobody.
        let mut at = 0;
        self.seen.retain(|(effect, _)| {
            at += 1;
            at > place + 1 || !is_its(effect)
        });
        true
    }

    /// What waits for this line, and what follows from it.
    pub(super) fn release_for(&mut self, effect: &EffectId, event: &AgentEvent) -> Vec<Record> {
        let first = self.records.iter_mut().find(|waiting| waiting.is_of(effect));
        if let Some(first) = first
            && asked(&first.record).is_some_and(|kind| is_about(kind, event))
        {
            first.due = None;
            return self.release(|due| due.is_none());
        }
        let is_kept = match event {
            AgentEvent::ToolUse { .. } => true,
            AgentEvent::Text { text, .. } => text.len() <= REMEMBERED_TEXT,
            _ => false,
        };
        if is_kept {
            self.seen.push_back((effect.clone(), event.clone()));
            self.seen.drain(..self.seen.len().saturating_sub(REMEMBERED));
        }
        Vec::new()
    }

    /// What has waited long enough.
    pub(super) fn release_due(&mut self) -> Vec<Record> {
        let now = Instant::now();
        self.release(|due| due.is_none_or(|due| due <= now))
    }

    /// Everything, in its order.
    pub(super) fn release_all(&mut self) -> Vec<Record> {
        self.release(|_| true)
    }

    /// From the first on, as long as they may pass.
    fn release(&mut self, may_pass: impl Fn(Option<Instant>) -> bool) -> Vec<Record> {
        let stays = self.records.iter().position(|waiting| !may_pass(waiting.due));
        let many = stays.unwrap_or(self.records.len());
        self.records.drain(..many).map(|waiting| waiting.record).collect()
    }

    /// Until when the first record waits.
    fn due(&self) -> Option<Instant> {
        self.records.front().and_then(|first| first.due)
    }
}

/// What is held of a run and of those that were started from it, by the way to each.
#[derive(Default)]
pub(super) struct Weave(BTreeMap<Vec<RunId>, Held>);

impl Weave {
    /// What is held of one.
    pub(super) fn of(&mut self, from: &[RunId]) -> &mut Held {
        self.0.entry(from.to_vec()).or_default()
    }

    /// What has waited long enough, and of which run it is.
    pub(super) fn release_due(&mut self) -> Vec<(Vec<RunId>, Vec<Record>)> {
        self.0.iter_mut().map(|(from, held)| (from.clone(), held.release_due())).collect()
    }

    /// Everything, and of which run it is.
    pub(super) fn release_all(&mut self) -> Vec<(Vec<RunId>, Vec<Record>)> {
        self.0.iter_mut().map(|(from, held)| (from.clone(), held.release_all())).collect()
    }

    /// Waits until a record has waited long enough; for ever when there is none.
    pub(super) async fn due(&self) {
        match self.0.values().filter_map(Held::due).min() {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }
}

/// The turn a record's hook comes from, where it says so.
fn from(record: &Record) -> Option<&EffectId> {
    match &record.event {
        Event::HookAsked { call } => call.from.as_ref(),
        _ => None,
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
    use windlass_core::id::{HookId, NodeId, Verb};
    use windlass_core::time::Moment;
    use windlass_core::usage::Usage;

    use super::*;

    fn record(event: Event) -> Record {
        Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news: Vec::new() }
    }

    fn tool_hook(name: &str, from: Option<EffectId>) -> Record {
        let kind = HookKind::Tool { name: name.to_owned(), input: serde_json::Value::Null };
        record(Event::HookAsked {
            call: HookCall { id: HookId::new("h"), from, kind, unanswered: Vec::new(), real: None },
        })
    }

    fn tool_use(name: &str) -> AgentEvent {
        AgentEvent::ToolUse { id: "t".to_owned(), name: name.to_owned(), summary: String::new(), side: false }
    }

    fn turn(node: &str) -> EffectId {
        EffectId { node: NodeId::new(node), iteration: 1, attempt: 1, verb: Verb::Session }
    }

    fn ended(node: &str) -> Record {
        let end = SessionEnd {
            verdict: SessionVerdict::Done,
            last_message: None,
            value: None,
            usage: Usage::default(),
            tool_calls: 0,
            spoke: true,
            offset: 0,
            unanswered: Vec::new(),
        };
        record(Event::SessionEnded { effect: turn(node), end })
    }

    #[test]
    fn a_decision_whose_call_was_seen_waits_for_nothing() {
        let mut held = Held::default();
        assert!(held.release_for(&turn("loop"), &tool_use("Bash")).is_empty());
        assert_eq!(held.take(tool_hook("Bash", None)).len(), 1);
        assert!(held.take(tool_hook("Bash", None)).is_empty());
    }

    #[test]
    fn the_end_of_a_session_waits_for_nothing() {
        let mut held = Held::default();
        assert!(held.take(tool_hook("Bash", None)).is_empty());
        assert_eq!(held.take(ended("loop")).len(), 2);
    }

    #[test]
    fn a_decision_waits_for_the_call_it_is_about_and_holds_up_what_follows() {
        let (mut held, turn) = (Held::default(), turn("loop"));
        assert_eq!(held.take(record(Event::OwnerChanged)).len(), 1);
        assert!(held.take(tool_hook("Bash", None)).is_empty());
        assert!(held.take(record(Event::RunTimedOut)).is_empty());
        assert!(held.take(tool_hook("Edit", None)).is_empty());
        assert!(held.release_for(&turn, &tool_use("Edit")).is_empty());
        assert_eq!(held.release_for(&turn, &tool_use("Bash")).len(), 2);
        assert_eq!(held.release_for(&turn, &tool_use("Edit")).len(), 1);
        assert_eq!(held.take(record(Event::RunTimedOut)).len(), 1);
    }

    #[test]
    fn the_lines_of_one_session_are_not_those_of_another() {
        let mut held = Held::default();
        let (one, two) = (turn("one"), turn("two"));
        assert!(held.release_for(&two, &tool_use("Bash")).is_empty());
        assert!(held.take(tool_hook("Bash", Some(one.clone()))).is_empty(), "the other one called it");
        assert!(held.take(tool_hook("Edit", Some(two.clone()))).is_empty());
        assert!(held.release_for(&two, &tool_use("Edit")).is_empty(), "it has its turn behind the first");
        assert_eq!(held.release_for(&one, &tool_use("Bash")).len(), 2);
        assert!(held.take(tool_hook("Read", Some(two))).is_empty());
        assert!(held.take(ended("one")).is_empty(), "the other session goes on");
        assert_eq!(held.take(ended("two")).len(), 3);
    }
}
