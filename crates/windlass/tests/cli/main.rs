//! The command line, with the real binary: help, mistakes and their exit codes, what is printed
//! where, and what people do to a run from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "test code"
)]

mod default_run;
mod demo;
mod doctor;
mod errors;
mod help;
mod output;
mod people;
mod signals;
mod stage;
mod terminal;
mod undo;
