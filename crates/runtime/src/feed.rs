//! What faces see: the log as it grows, and what the agent says meanwhile.
//!
//! A slow face never holds up a run: the channel is unbounded in the one process that both
//! live in, and items are small because transcripts stay in their files.

use tokio::sync::mpsc;
use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};

/// Something to show.
#[derive(Debug)]
pub enum Item {
    /// A record was committed.
    Record {
        /// Its place in the run's log.
        seq: u64,
        /// What it says.
        record: Box<Record>,
    },
    /// The agent said or did something.
    Agent {
        /// The turn's effect.
        effect: EffectId,
        /// What.
        event: AgentEvent,
    },
    /// A run that was started from this one has something to show.
    Child {
        /// Which.
        run: RunId,
        /// What.
        item: Box<Item>,
    },
}

/// Where items go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feed(Option<mpsc::UnboundedSender<Item>>);

impl Feed {
    /// A feed and the end it is read from.
    pub(crate) fn open() -> (Feed, mpsc::UnboundedReceiver<Item>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Feed(Some(sender)), receiver)
    }

    /// Shows an item to whoever still looks.
    pub(crate) fn send(&self, item: Item) {
        if let Some(sender) = &self.0 {
            // A face that went away does not matter to the run.
            let _ = sender.send(item);
        }
    }
}
