//! Follows runs from a cursor: any number of subscribers, in any process, live or later.
//!
//! The log is the only source. A subscriber reads the records after its cursor; a wake-up only means "read
//! now". So a run's owner and any other process follow it in the same way, no queue fills up for a slow
//! subscriber, and no subscriber slows a run.
//!
//! - [`RunUpdate`]: one event. [`FeedCursor`]: the position of a subscriber.
//! - [`Subscription`]: waits for the next update. `reader` finds it in the logs, and `log` in one log and its
//!   transcripts, in the order in which things happened (`order`).

mod cursor;
mod log;
mod order;
mod pulse;
mod reader;
mod recent;
mod subscription;
#[cfg(test)]
mod tests;
mod update;

pub use cursor::FeedCursor;
pub(crate) use pulse::Pulse;
pub(crate) use recent::RecentRecords;
pub use subscription::Subscription;
pub use update::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate};
