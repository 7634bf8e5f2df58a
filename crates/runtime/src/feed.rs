//! The stream that faces show: the log as it grows, and the output of agents.
//!
//! A slow face never blocks hooks, blocks a run only briefly, and uses bounded memory. Agent events may wait
//! for room for a few seconds in total. After that they are dropped and counted, because the transcript has
//! them. Records are few and never dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};

use crate::view::Pulse;

/// The limit of queued items, in bytes.
const ROOM: usize = 2 << 20;
/// The size of an item besides its text.
const ITEM: usize = 256;
/// The total time that agent events wait for a slow face, until it has caught up.
const PATIENCE: Duration = Duration::from_secs(5);

/// An item to show.
#[derive(Debug)]
pub enum FeedItem {
    /// A committed record.
    Record { seq: u64, record: Box<Record> },
    /// An event from the agent.
    Agent { effect: EffectId, event: AgentEvent },
    /// A message from Windlass about a turn. It is neither in the log nor in the transcript.
    Aside { effect: EffectId, event: AgentEvent },
    /// A gap: agent events that were dropped because the face was too slow.
    LeftOut { count: u64 },
    /// An item of a child run.
    Child { run: RunId, item: Box<FeedItem> },
}

impl FeedItem {
    fn size(&self) -> usize {
        match self {
            FeedItem::Record { .. } | FeedItem::LeftOut { .. } => ITEM,
            FeedItem::Agent { event, .. } | FeedItem::Aside { event, .. } => ITEM + text_of(event),
            FeedItem::Child { item, .. } => ITEM + item.size(),
        }
    }

    /// Returns true if the item may be dropped.
    fn is_spoken(&self) -> bool {
        match self {
            FeedItem::Agent { .. } => true,
            FeedItem::Record { .. } | FeedItem::Aside { .. } | FeedItem::LeftOut { .. } => false,
            FeedItem::Child { item, .. } => item.is_spoken(),
        }
    }

    /// Returns the item that takes the place of a dropped one.
    fn left_out(self) -> FeedItem {
        match self {
            FeedItem::Child { run, item } => FeedItem::Child { run, item: Box::new(item.left_out()) },
            FeedItem::Agent { .. }
            | FeedItem::Aside { .. }
            | FeedItem::Record { .. }
            | FeedItem::LeftOut { .. } => FeedItem::LeftOut { count: 1 },
        }
    }

    /// Adds a dropped item to the gap just before it, if both belong to the same run.
    fn count_in(&mut self, other: &FeedItem) -> bool {
        match (self, other) {
            (FeedItem::LeftOut { count }, FeedItem::LeftOut { count: more }) => {
                *count += more;
                true
            }
            (FeedItem::Child { run, item }, FeedItem::Child { run: same, item: other }) if run == same => {
                item.count_in(other)
            }
            _ => false,
        }
    }
}

/// Returns the approximate length of an event's text.
fn text_of(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text { text, .. }
        | AgentEvent::Thinking { text, .. }
        | AgentEvent::ToolResult { text, .. }
        | AgentEvent::ApiError { text, .. }
        | AgentEvent::Notice { text, .. } => text.len(),
        AgentEvent::ToolUse { summary, .. } => summary.len(),
        AgentEvent::SessionInit { tools, .. } => tools.iter().map(|tool| tool.len() + ITEM).sum(),
        // The structured value is not counted: it comes once, at the end of a turn.
        AgentEvent::Result(result) => result.text.as_ref().map_or(0, String::len),
        AgentEvent::Unknown { what } | AgentEvent::Warning { what } => what.len(),
        AgentEvent::Spent { .. }
        | AgentEvent::Retry(_)
        | AgentEvent::RateLimit(_)
        | AgentEvent::Asks(_)
        | AgentEvent::AskWithdrawn { .. } => 0,
    }
}

/// The writing end of a feed.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Inlet>, Pulse);

/// The reading end of a feed.
#[derive(Debug)]
pub(crate) struct Items(Arc<FeedShared>);

/// The shared part of all writers. Dropping the last one ends the feed.
#[derive(Debug)]
struct Inlet(Arc<FeedShared>);

#[derive(Debug, Default)]
struct FeedShared {
    queue: Mutex<Queue>,
    came: Notify,
    went: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    items: VecDeque<FeedItem>,
    size: usize,
    /// The time spent waiting for room since the face last caught up.
    waited: Duration,
    is_over: bool,
    /// The reader is gone.
    is_unread: bool,
}

impl FeedShared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, queue: &mut Queue, item: FeedItem) {
        // A face that disconnected does not matter to the run.
        if queue.is_unread || queue.items.back_mut().is_some_and(|last| last.count_in(&item)) {
            return;
        }
        queue.size += item.size();
        queue.items.push_back(item);
        self.came.notify_one();
    }
}

impl Feed {
    /// Opens a feed. Each item also wakes the subscribers in this process.
    pub(crate) fn open(pulse: Pulse) -> (Feed, Items) {
        let shared = Arc::new(FeedShared::default());
        (Feed(Arc::new(Inlet(Arc::clone(&shared))), pulse), Items(shared))
    }

    /// Queues an item at once. The item is never dropped.
    pub(crate) fn send(&self, item: FeedItem) {
        let shared = &self.0.0;
        shared.push(&mut shared.lock(), item);
        self.1.beat();
    }

    /// Queues an item. An agent event waits for room, and is dropped if there is none in time.
    pub(crate) async fn offer(&self, item: FeedItem) {
        let shared = &self.0.0;
        self.1.beat();
        loop {
            let patience = {
                let mut queue = shared.lock();
                if queue.size < ROOM || queue.is_unread || !item.is_spoken() {
                    return shared.push(&mut queue, item);
                }
                let patience = PATIENCE.saturating_sub(queue.waited);
                if patience.is_zero() {
                    return shared.push(&mut queue, item.left_out());
                }
                patience
            };
            let begun = Instant::now();
            let _ = tokio::time::timeout(patience, shared.went.notified()).await;
            shared.lock().waited += begun.elapsed();
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.came.notify_one();
    }
}

impl Items {
    /// Returns the next item, or `None` when the feed is over.
    pub(crate) async fn next(&mut self) -> Option<FeedItem> {
        loop {
            {
                let mut queue = self.0.lock();
                if let Some(item) = queue.items.pop_front() {
                    queue.size = queue.size.saturating_sub(item.size());
                    if queue.items.is_empty() {
                        queue.waited = Duration::ZERO;
                    }
                    self.0.went.notify_one();
                    return Some(item);
                }
                if queue.is_over {
                    return None;
                }
            }
            self.0.came.notified().await;
        }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.is_unread = true;
        queue.items.clear();
        queue.size = 0;
        drop(queue);
        self.0.went.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::event::{Event, RECORD_VERSION};
    use windlass_core::id::{NodeId, Verb};
    use windlass_core::time::Moment;

    use super::*;

    fn said(text: &str) -> FeedItem {
        let effect = EffectId { node: NodeId::new("loop"), iteration: 1, attempt: 1, verb: Verb::Session };
        FeedItem::Agent { effect, event: AgentEvent::Thinking { text: text.to_owned(), side: false } }
    }

    fn below(item: FeedItem) -> FeedItem {
        FeedItem::Child { run: RunId::new("below"), item: Box::new(item) }
    }

    fn record(seq: u64) -> FeedItem {
        let event = Event::OwnerChanged;
        let record =
            Record { v: RECORD_VERSION, at: Moment(0), event, effects: Vec::new(), news: Vec::new() };
        FeedItem::Record { seq, record: Box::new(record) }
    }

    /// Summarises an item: the length of a text, the number of a record, the bytes left out.
    fn short(item: &FeedItem) -> String {
        match item {
            FeedItem::Agent { event, .. } => format!("said {}", text_of(event)),
            FeedItem::Aside { event, .. } => format!("aside {}", text_of(event)),
            FeedItem::Record { seq, .. } => format!("record {seq}"),
            FeedItem::LeftOut { count } => format!("left out {count}"),
            FeedItem::Child { item, .. } => format!("below {}", short(item)),
        }
    }

    async fn all(items: &mut Items) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(item) = items.next().await {
            seen.push(short(&item));
        }
        seen
    }

    #[tokio::test]
    async fn a_face_that_does_not_read_costs_a_few_seconds_in_all_and_no_record() {
        let (feed, mut items) = Feed::open(Pulse::default());
        let text = "x".repeat(ROOM);
        feed.offer(said(&text)).await;
        items.0.lock().waited = PATIENCE - Duration::from_millis(20);
        let begun = Instant::now();
        for seq in 1..=2 {
            for _ in 0..1000 {
                feed.offer(said(&text)).await;
            }
            feed.send(record(seq));
            feed.offer(below(said("x"))).await;
            feed.offer(below(record(7))).await;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        assert!(items.0.lock().size < 2 * ROOM);
        drop(feed);
        let mut expected = vec![format!("said {ROOM}")];
        for seq in 1..=2 {
            let record = format!("record {seq}");
            expected
                .extend(["left out 1000", &record, "below left out 1", "below record 7"].map(str::to_owned));
        }
        assert_eq!(all(&mut items).await, expected);
    }

    #[tokio::test]
    async fn a_face_that_reads_gets_everything() {
        let (feed, mut items) = Feed::open(Pulse::default());
        let text = "x".repeat(ROOM / 10);
        let sending = tokio::spawn(async move {
            for _ in 0..100 {
                feed.offer(said(&text)).await;
            }
        });
        assert_eq!(all(&mut items).await, vec![format!("said {}", ROOM / 10); 100]);
        sending.await.unwrap();
    }

    #[tokio::test]
    async fn a_face_that_is_gone_takes_no_memory() {
        let (feed, items) = Feed::open(Pulse::default());
        let shared = Arc::clone(&items.0);
        drop(items);
        for _ in 0..100 {
            feed.offer(said(&"x".repeat(ROOM))).await;
            feed.send(record(1));
        }
        assert!(shared.lock().items.is_empty());
    }
}
