//! `tasks.json` on the disk: where it lies, and how it is read and changed while people and
//! agents edit it, too.
//!
//! One writer at a time, whole files only. What somebody else wrote meanwhile is picked up, or
//! the change is refused with a text that says why; it is never overwritten unseen.
//!
//! Which task is next is `core::tasks`', what the text means `forms::tasks`'.

mod change;
mod error;
mod hold;
mod lock;
pub(crate) mod overtaken;
mod place;
pub(crate) mod vouched;

pub use change::{ChangedTasks, LoadedTasks, NewTask, TaskChange, change, create, inspect, load, migrate};
pub use error::TasksError;
pub(crate) use hold::TaskFileClaim;
pub use place::{TaskFilePath, locate, locate_inside};
pub use vouched::{take_back, vouch_for};
pub use windlass_forms::tasks::{ParsedTasks, TaskDocument, draw, print, starter};

#[cfg(test)]
mod tests;
