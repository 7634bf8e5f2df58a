//! `tasks.json` on the disk: where it lies, and how it is read and changed while people and
//! agents edit it, too.
//!
//! One writer at a time, whole files only. What somebody else wrote meanwhile is picked up, or
//! the change is refused with a text that says why; it is never overwritten unseen.
//!
//! Which task is next is `core::tasks`', what the text means `forms::tasks`'.

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
