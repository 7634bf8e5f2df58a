//! `windlass cancel`: ends a run from anywhere.
//!
//! A run with an owner is asked and waited for. One without is taken over just to be put away:
//! nobody else would end what it left running.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;

use super::drive::{OnHangup, Viewer, drive};
use super::feed::{Face, envelope, words};
use super::here::{Here, block_on, print};
use super::output::Out;
use super::report::{Report, note};
use crate::exit::Exit;

/// How long the end of a run is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "\
Examples:
  windlass cancel k3f9";

/// End a run: its agent, its children, its armed state
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Ends it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let handle = here.open(here.durability())?;
    let run = handle.find(&args.run)?;
    handle.cancel(&run)?;
    let status = wait(&handle, &run)?;
    if args.json {
        return print(&[envelope("run.cancelled", words::now(), Some(&run), json!({"status": status}))]);
    }
    match status.as_str() {
        "running" | "waiting" | "crashed" => note(&format!("run {run} was asked to end and is still ending")),
        status => note(&format!("run {run}: {status}")),
    }
    Ok(Exit::Completed)
}

/// Owns the run until it has ended itself.
fn put_away(handle: &Handle, run: &RunId) -> Result<(), Report> {
    block_on(async {
        let running = match handle.put_away(run) {
            Ok(running) => running,
            // It ended, or somebody else took it over, since it was looked at.
            Err(RunError::Over(_) | RunError::Lease { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let viewer = Viewer { face: &mut Face::Quiet, out: &mut Out::stdout(), inline: None };
        drive(running, viewer, OnHangup::Leave).await.map(|_| ())
    })
}

fn wait(handle: &Handle, run: &RunId) -> Result<String, Report> {
    let begun = Instant::now();
    loop {
        let view = handle.view(run)?;
        if view.state.is_done() || begun.elapsed() > PATIENCE {
            return Ok(view.status);
        }
        // Nobody owns it, or its owner dies at this very moment: then it is ours to put away.
        if view.status == "crashed" {
            put_away(handle, run)?;
        }
        std::thread::sleep(POLL);
    }
}
