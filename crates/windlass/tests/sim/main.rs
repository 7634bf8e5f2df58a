//! The binary as people use it, with the `sim` driver in the place of an agent.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test stops where it stands")]

mod bad_input;
mod bad_state;
mod beside;
mod broken;
mod command_rules;
mod continue_sweep;
mod continuing;
mod crash_sweep;
mod docs_workflows;
mod dry_run;
mod entities;
mod entities_cli;
mod examples;
mod faults;
mod floods;
mod followed;
mod formats;
mod git_faults;
mod graph;
mod graph_sweep;
mod impostor;
mod input;
mod jobs;
mod kill_sweep;
mod left_behind;
mod links;
mod log_gone;
mod lost;
mod marker;
mod modes;
mod moments;
mod night;
mod notify;
mod order;
mod own_worktree;
mod owner;
mod people;
mod place;
mod plugin_mode;
mod stub;
mod subscribers;
mod tasks;
mod tasks_cli;
mod time_travel;
mod trust;
mod undo;
mod unstartable;
mod within;
mod workflow_check;
mod workflow_documents;
