//! Reads and changes `tasks.json` on disk while people and agents edit it, too.
//!
//! There is one writer at a time, and it replaces whole files. A change either includes what somebody else
//! wrote meanwhile or fails with a reason; it never overwrites unseen text.
//!
//! `core::tasks` chooses the next task, `forms::tasks` parses the text.

mod change;
mod claim;
mod error;
mod lock;
mod path;
pub(crate) mod superseded;
pub(crate) mod vouched;

pub use change::{ChangedTasks, LoadedTasks, NewTask, TaskChange, change, create, inspect, load, migrate};
pub(crate) use claim::TaskFileClaim;
pub use error::TasksError;
pub use path::{TaskFilePath, locate, locate_inside};
pub use vouched::{take_back, vouch_for};
pub use windlass_forms::tasks::{ParsedTasks, TaskDocument, draw, print, starter};

#[cfg(test)]
mod tests;
