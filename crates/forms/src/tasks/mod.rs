//! `tasks.json`, as people and agents write it.
//!
//! - [`read()`]: text to a [`Document`], with every liberty its author took as a warning.
//! - [`Document`]: changes one thing in the text and leaves every other byte as it is.
//! - [`print`](print()): a new file. [`migrate()`]: one made from a `feature-list.json`.
//! - [`claimed`](claimed()): how far a task is by the last words of its agent.
//! - [`draw`]: the tasks as a graph, for Mermaid and Graphviz.
//!
//! Which task is next is `core::tasks`'; where the file lies, and who may write it, the runtime's.

mod claimed;
pub mod draw;
mod edit;
mod fields;
mod find;
mod migrate;
mod print;
mod read;
mod span;
mod surrounding_text;

pub use claimed::claimed;
pub use edit::{EditError, TaskDocument};
pub use migrate::migrate;
pub use print::{print, starter};
pub use read::{ParsedTasks, read};

#[cfg(test)]
mod tests;
