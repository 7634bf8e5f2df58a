//! The command line: parses what a person types and shows the results.
//!
//! Each verb has one file. The doc comments of its `Args` are the help text. The flags of `run` and `loop`
//! become a `runtime::plan::RunRequest`.

mod alert;
mod answer;
mod approve;
mod asks;
mod attach;
mod budget;
mod cancel;
mod command;
mod complete;
mod completions;
mod config;
mod default_run;
mod demo;
mod diff;
mod doctor;
mod draw;
mod drive;
mod entities;
mod export;
mod fast_help;
mod feed;
mod fit;
mod fork;
mod gc;
mod help;
mod hint;
mod home;
mod invocation;
mod keyboard;
mod logs;
mod r#loop;
mod mistake;
mod next_command;
mod output;
mod overview;
mod own_worktree;
mod pause;
mod plugin;
mod ps;
mod rehearsal;
mod replay;
mod report;
mod resume;
mod run;
mod run_flags;
mod sanitize;
mod send;
mod show;
mod sim;
mod sim_script;
mod stray;
mod task_watch;
mod tasks;
mod temporary_folder;
mod terminal;
mod terminal_prompt;
mod trust;
mod typing;
mod typo;
mod undo;
mod watch;
mod workflow;

pub(crate) use command::main;
