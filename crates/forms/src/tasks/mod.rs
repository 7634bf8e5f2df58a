//! Reads and edits `tasks.json` as people and agents write it.
//!
//! - [`read()`] parses a text to a [`TaskDocument`] and warns about each lenient reading.
//! - [`TaskDocument`] changes one thing in the text and leaves every other byte as it is.
//! - [`print`](print()) writes a new file; [`migrate()`] converts a `feature-list.json`.
//! - [`claimed`](claimed()) finds the status that an agent claims in its last message.
//! - [`draw`] draws the tasks as a graph, for Mermaid and Graphviz.
//!
//! `core::tasks` chooses the next task. The runtime decides where the file is and who may write it.

mod claimed;
pub mod draw;
mod edit;
mod fields;
mod find;
mod migrate;
mod print;
mod read;
mod span;
mod stories;
mod surrounding_text;

pub use claimed::claimed;
pub use edit::{EditError, TaskDocument};
pub use migrate::migrate;
pub use print::{print, starter};
pub use read::{ParsedTasks, read};

#[cfg(test)]
mod tests;
