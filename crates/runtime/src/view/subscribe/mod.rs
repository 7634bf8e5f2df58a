//! Follows runs from a cursor: any number of listeners, in any process, live or long after.
//!
//! The log is the only source. A listener reads what comes after its cursor; being woken only means
//! "look now". So the owner of a run and a stranger follow it by the same path, nothing waits in a queue for a
//! slow listener, and no listener slows a run.
//!
//! - [`RunUpdate`]: one thing that happened. [`FeedCursor`]: where a listener is.
//! - [`Subscription`]: waits for the next update. `reader` finds it in the logs, `log` in one log and its
//!   transcripts, in the order in which things happened (`order`).

mod cursor;
mod log;
mod order;
mod pulse;
mod reader;
mod subscription;
#[cfg(test)]
mod tests;
mod update;

pub use cursor::FeedCursor;
pub(crate) use pulse::Pulse;
pub use subscription::Subscription;
pub use update::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate};
