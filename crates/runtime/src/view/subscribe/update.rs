//! What a listener asks for, and what it gets.

use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::Outcome;

use super::FeedCursor;

/// Which runs a listener follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedScope {
    /// One run alone.
    Run(RunId),
    /// One run with the runs that it starts, and those that these start.
    Family(RunId),
    /// Every run of this user.
    All,
}

/// Where a listener begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedStart {
    /// With the first record.
    Beginning,
    /// With what happens from now on.
    Now,
    /// With what comes after a cursor.
    After(FeedCursor),
}

/// Whether a listener wants what agents say and do, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentWords {
    /// It does.
    Included,
    /// It wants the log alone.
    Excluded,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunUpdate {
    /// The run.
    pub run: RunId,
    /// The way to it from the run that is followed, itself last; empty for that one, and where all are followed.
    pub path: Arc<[RunId]>,
    /// What happened.
    pub change: RunChange,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunChange {
    /// The run was made, or found.
    Appeared,
    /// A record was committed.
    Record {
        /// Its place in the run's log.
        seq: u64,
        /// What it says.
        record: Box<Record>,
    },
    /// An agent said or did something.
    Agent {
        /// The effect of its turn.
        effect: EffectId,
        /// How far its transcript was read, in bytes.
        offset: u64,
        /// What it said or did.
        event: AgentEvent,
    },
    /// The listener skipped what an agent said and did, to catch up.
    LeftOut {
        /// The effect of its turn.
        effect: EffectId,
        /// How many events.
        count: u64,
    },
    /// The run is over: no record of it follows.
    Ended {
        /// How it ended.
        outcome: Outcome,
    },
}
