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
mod feed;
mod fork;
mod here;
mod hint;
mod home;
mod inline;
mod keyboard;
mod logs;
mod r#loop;
mod mcp;
mod orders;
mod output;
mod pause;
mod plain;
mod plugin;
mod ps;
mod quick;
mod replay;
mod report;
mod resume;
mod run;
mod screen;
mod send;
mod show;
mod slip;
mod stray;
mod tasks;
mod typing;
mod watch;
mod workflow;

pub(crate) use command::main;
