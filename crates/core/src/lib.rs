//! Decides: the vocabulary, events, effects and rules of Windlass, as pure functions.
//!
//! A tour, in the order a run meets them:
//! - [`spec`]: what a run was asked to do, compiled from a workflow and the flags.
//! - [`graph`]: the nodes of a workflow.
//! - [`event`]: facts that happened, [`effect`]: what is to be done about them.
//! - [`run`]: the state of a run, which is the fold of its events.
//! - [`engine`]: `apply(state, event) -> Step`, the one place where a run moves on.
//! - [`looping`]: when a loop ends, what each turn is told.
//! - [`hook`]: what an agent may do, and how its hooks are answered.
//! - [`agent`]: what an agent says, in one form for all of them.
//! - [`entity`]: commands, skills and agents; [`registry`]: all there are, by name.
//! - [`tasks`]: a list of things to do, and which is next.
//! - [`launch`]: what the host is told to run. [`crash`]: where a test asks a process to die.
//!
//! Nothing here does I/O, reads a clock or an environment, or knows a text format of people:
//! time enters as data in an event, text as values made by `forms`.

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
pub mod registry;
pub mod run;
pub mod spec;
pub mod tasks;
pub mod time;
pub mod usage;
mod words;
