//! What every face needs to know about runs, as values: faces only format.
//!
//! - [`RunStatus`]: how a run is doing. [`RunSummary`]: a run in a list, by [`RunFilter`] and page.
//! - [`View`]: one run. [`Family`]: that run with the runs it started, and what they ask.
//! - [`OpenAsks`]: what the person at a face has still to answer.
//! - [`Subscription`]: everything that happens in runs, from a cursor on.
//! - [`NewestRun`]: the run of a folder that `resume` means.
//!
//! The log decides what is true here. Performing and deciding are `owner.rs` and `core::engine`.

mod asks;
mod family;
mod newest;
mod run;
mod status;
mod subscribe;
mod summary;

pub use asks::OpenAsks;
pub use family::Family;
pub(crate) use family::children;
pub use newest::NewestRun;
pub use run::RunView;
pub use status::RunStatus;
pub(crate) use subscribe::Pulse;
pub use subscribe::{AgentWords, FeedCursor, FeedScope, FeedStart, RunChange, RunUpdate, Subscription};
pub use summary::{FolderFilter, OriginFilter, PageCursor, RunFilter, RunPage, RunSummary, StatusFilter};
