//! The state of runs as values that every face shows. Faces only format them.
//!
//! - [`RunStatus`]: the status of a run. [`RunSummary`]: a run in a list, selected by [`RunFilter`].
//! - [`RunView`]: one run. [`Family`]: a run with its descendants, and their open requests.
//! - [`OpenAsks`]: the requests that the person at a face has still to answer.
//! - [`Subscription`]: a stream of everything that happens in runs, from a cursor on.
//! - [`LeftBranch`], [`TaskFileTally`]: the leftovers of parallel tasks.
//! - [`NewestRun`]: the run of a folder that `resume` continues.
//! - [`RunSnapshots`]: the states of its folders that a run kept.
//!
//! Everything here comes from the log. `owner.rs` performs and `core::engine` decides.

mod asks;
mod family;
mod leftovers;
mod newest;
mod run;
mod snapshots;
mod status;
mod subscribe;
mod summary;

pub use asks::OpenAsks;
pub use family::Family;
pub(crate) use family::children;
pub(crate) use leftovers::made_by;
pub use leftovers::{LeftBranch, TaskFileTally};
pub use newest::NewestRun;
pub use run::RunView;
pub use snapshots::{KeptSnapshot, NoSuchSnapshot, RunSnapshots};
pub use status::RunStatus;
pub use subscribe::{AgentWords, FeedCursor, FeedScope, FeedStart, RunChange, RunUpdate, Subscription};
pub(crate) use subscribe::{Pulse, RecentRecords};
pub use summary::{FolderFilter, OriginFilter, PageCursor, RunFilter, RunPage, RunSummary, StatusFilter};
