//! `windlass tasks run`: the workflow `tasks` on a file of tasks.

use std::path::PathBuf;

use windlass_runtime::tasks::{TaskFilePath, load, locate};

use super::{report, tell};
use crate::cli::invocation::Invocation;
use crate::cli::report::{Report, note};
use crate::cli::run_flags::{RunFlags, jobs};
use crate::exit::Exit;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What holds for every task, taken as it is; `-` reads standard input
    #[arg(value_name = "INPUT", allow_hyphen_values = true, default_value = "", hide_default_value = true)]
    pub(super) input: String,

    /// The file; without it, tasks.json or research/tasks.json of this folder or of one above it
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// How many tasks at once, each in a worktree of its own
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<u32>,

    #[command(flatten)]
    pub(super) flags: RunFlags,
}

/// Runs them. A file that cannot be used is found out before there is a run.
pub(super) fn perform(invocation: &Invocation, mut args: Args) -> Result<Exit, Report> {
    let place = locate(&invocation.cwd, args.file.as_deref()).map_err(report)?;
    let loaded = load(&place).map_err(report)?;
    tell(&loaded.warnings);
    if loaded.document.tasks().tasks.is_empty() {
        note(&format!("{} has no tasks: `windlass tasks add NAME` adds one", place.shown()));
    }
    // Where nobody names a file, the workflow finds it as we did.
    let file = args.file.as_ref().map(|_| inside(invocation, &place)).transpose()?;
    args.flags.jobs = args.jobs;
    args.flags.carry_out_tasks(&args.input, file)
}

/// The path as a run may use it: its tasks lie below the folder it works in.
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
