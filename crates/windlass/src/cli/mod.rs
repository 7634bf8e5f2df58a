//! The command line: what a person types, and what they are shown.
//!
//! One file a verb; its `Args` are what was typed, and their comments the help text. What is
//! typed for `run` and `loop` becomes a `runtime::plan::Request`, which is what it means.

mod answer;
mod approve;
mod asks;
mod cancel;
mod command;
mod complete;
mod completions;
mod config;
mod demo;
mod doctor;
mod draw;
mod drive;
mod entities;
mod fast_help;
mod feed;
mod fork;
mod hint;
mod home;
mod invocation;
mod keyboard;
mod logs;
mod r#loop;
mod mcp;
mod output;
mod pause;
mod plugin;
mod ps;
mod replay;
mod report;
mod resume;
mod run;
mod run_flags;
mod sanitize;
mod send;
mod show;
mod stray;
mod tasks;
mod terminal;
mod terminal_prompt;
mod typing;
mod typo;
mod watch;
mod workflow;

pub(crate) use command::main;
