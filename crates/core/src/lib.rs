//! The rules of Windlass as pure functions: events, effects and the decisions between them.
//!
//! A tour, in the order in which a run meets the modules:
//! - [`spec`]: the order for a run, compiled from a workflow and the flags.
//! - [`graph`]: the nodes of a workflow.
//! - [`event`]: what happened. [`effect`]: what to do about it.
//! - [`run`]: the state of a run, folded from its events.
//! - [`engine`]: `apply(state, event) -> Decision`, the only place where a run advances.
//! - [`looping`]: when a loop ends, and the prompt of each turn.
//! - [`hook`]: what an agent may do, and the answers to its hooks.
//! - [`agent`]: the messages of an agent, in one form for all agents.
//! - [`entity`]: commands, skills and agents. [`registry`]: all of them, by name.
//! - [`snapshot`]: the kept states of a folder.
//! - [`tasks`]: a task list, and the choice of the next task.
//! - [`launch`]: the files between Windlass and a host. [`crash`]: crash points for tests.
//!
//! Nothing here does I/O or reads a clock, an environment or a text format. Time enters as data in
//! an event; the `forms` crate turns text into values.

pub mod agent;
pub mod crash;
pub mod digest;
pub mod effect;
pub mod engine;
pub mod entity;
pub mod event;
pub mod graph;
pub mod hook;
pub mod id;
pub mod launch;
pub mod looping;
pub mod price;
pub mod registry;
pub mod run;
pub mod snapshot;
pub mod spec;
pub mod tasks;
pub mod time;
pub mod usage;
mod words;
