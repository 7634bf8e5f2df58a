//! The options of a subscriber, and the updates it gets.

use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::Outcome;
use windlass_core::time::Moment;

use super::FeedCursor;

/// The runs that a subscriber follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedScope {
    Run(RunId),
    /// One run and its descendants.
    Family(RunId),
    /// Every run of this user.
    All,
}

/// The point at which a subscriber starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedStart {
    /// The first record.
    Beginning,
    /// The first update after this moment.
    Now,
    /// The first update after a cursor.
    After(FeedCursor),
}

/// The choice whether a subscriber also gets agent events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWords {
    Included,
    Excluded,
}

/// An event in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunUpdate {
    pub run: RunId,
    /// The path from the followed run down to this one, which is last. Empty for the followed run itself, and
    /// if all runs are followed.
    pub path: Arc<[RunId]>,
    pub change: RunChange,
}

/// The content of an update.
#[derive(Debug, Clone, PartialEq)]
pub enum RunChange {
    /// The run was created or found.
    Appeared,
    /// A record was committed.
    Record { seq: u64, record: Box<Record> },
    /// An agent event.
    Agent {
        effect: EffectId,
        /// The position in the transcript after the event, in bytes.
        offset: u64,
        event: AgentEvent,
        /// The time of the event, if the transcript has times.
        at: Option<Moment>,
    },
    /// Agent events that the subscriber skipped to catch up.
    LeftOut { effect: EffectId, count: u64 },
    /// The run is over. No record of it follows.
    Ended { outcome: Outcome },
}
