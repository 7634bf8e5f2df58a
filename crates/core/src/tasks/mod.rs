//! Tasks: what there is to do, in which order, and when it is done.
//!
//! - [`task`]: a [`Task`], its [`TaskStatus`] and [`TaskId`], and a file of them ([`Tasks`]).
//! - [`select`]: the [`next`] task, all [`ready`] tasks, and recovery after a crash.
//! - [`Claim`]: the task that a run takes. [`settle`]: its status after the work.
//! - [`deadlock`]: the reason why no task can start. [`list_error`]: errors in a list before it runs.
//!
//! Pure. `forms` reads and writes the content of `tasks.json`, and the runtime the file on disk. The engine
//! counts attempts and decides whose word makes a task passing.

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
