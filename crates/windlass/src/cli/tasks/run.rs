//! `windlass tasks run`: runs the workflow `tasks` on a task file.

use std::path::PathBuf;

use windlass_runtime::tasks::{TaskFilePath, load, locate};

use super::{report, tell};
use crate::cli::invocation::Invocation;
use crate::cli::report::{Report, note};
use crate::cli::run_flags::{RunFlags, WORK, jobs};
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Instructions for every task, used as they are; `-` reads standard input [default: none]
    #[arg(value_name = "INPUT", allow_hyphen_values = true, default_value = "", hide_default_value = true)]
    pub(super) input: String,

    /// Task file [default: tasks.json or research/tasks.json, in this folder or a folder above it]
    #[arg(long, value_name = "PATH", help_heading = WORK)]
    file: Option<PathBuf>,

    /// Run up to N tasks at once, each in its own worktree [default: 1]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true, help_heading = WORK)]
    jobs: Option<u32>,

    #[command(flatten)]
    pub(super) flags: RunFlags,
}

/// Runs the tasks. Reports errors in the file before it starts a run.
pub(super) fn perform(invocation: &Invocation, mut args: Args) -> Result<Exit, Report> {
    let place = locate(&invocation.cwd, args.file.as_deref()).map_err(report)?;
    let loaded = load(&place).map_err(report)?;
    tell(&loaded.warnings);
    if loaded.document.tasks().tasks.is_empty() {
        note(&format!("{} has no tasks: `windlass tasks add NAME` adds one", place.shown()));
    }
    // Without --file, the workflow finds the same file.
    let file = args.file.as_ref().map(|_| inside(invocation, &place)).transpose()?;
    args.flags.jobs = args.jobs;
    args.flags.carry_out_tasks(&args.input, file, loaded.warnings)
}

/// Returns the path of the task file, which must be inside the folder that the agents work in.
fn inside(invocation: &Invocation, place: &TaskFilePath) -> Result<String, Report> {
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    let outside = || {
        let folder = place.path().parent().unwrap_or(place.path()).display().to_string();
        Report::usage(format!("{} is outside of the folder the agents would work in", place.shown()))
            .hint(format!("change to {folder}, or to a folder above it"))
    };
    if !place.path().starts_with(&cwd) {
        return Err(outside());
    }
    place.path().to_str().map(str::to_owned).ok_or_else(outside)
}
