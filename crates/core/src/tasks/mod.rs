//! Tasks: what there is to do, in which order, and when all of it is done.
//!
//! - [`task`]: a [`Task`], its [`Status`] and [`TaskId`], a file of them ([`Tasks`]).
//! - [`select`]: which task is [`next`], all that are [`ready`], what a crash left behind.
//! - [`Claim`]: what a run takes; [`settle`]: how far a task is after work on it.
//! - [`deadlock`]: why nothing can go on. [`flaw`]: what is wrong with a list before it is run.
//!
//! Pure. Reading and writing `tasks.json` is `forms`', its place on the disk the runtime's; who
//! counts attempts, and who may call a task passing, is the engine's.

mod claim;
mod cycles;
pub mod deadlock;
pub mod list_error;
pub mod select;
pub mod task;

pub use claim::{Claim, StatusWriter, settle};
pub use deadlock::Deadlock;
pub use list_error::{TaskListError, list_errors};
pub use select::{Attempts, NextTask, TaskTally, is_done, next, ready, recover, tally, waits};
pub use task::{BadId, Priority, Task, TaskId, TaskStatus, Tasks, VERSION};
