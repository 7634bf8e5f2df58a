//! `windlass pause`: makes a run start no new nodes until somebody resumes it.
//!
//! The nodes in progress finish: Windlass does not stop an agent in the middle of its turn.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_core::run::RunState;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::RunView;

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::feed::{envelope, words};
use super::invocation::{Invocation, print, wait_for};
use super::report::{Report, note};
use super::sanitize::plain_line;
use crate::exit::Exit;

/// The longest wait for the owner of a run to react.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

const EXAMPLES: &str = "\
Examples:
  windlass pause               the newest run of this folder that is not over
  windlass pause k3f9
  windlass resume k3f9         continue it";

/// Finish the sessions in progress and start nothing new
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST_OPEN, add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass pause`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let handle = invocation.open_to_ask()?;
    let run = default_run::choose(&invocation, &handle, args.run.as_deref(), DefaultRun::NewestOwned)?;
    let view = handle.view(&run)?;
    if view.status.is_crashed() {
        return Err(Report::usage(format!("run {run} has no live process, so there is nothing to pause"))
            .hint(format!("`windlass resume {run}` continues it")));
    }
    if !view.state.bookkeeping.paused {
        wait_for(handle.pause(&run))?;
    }
    let view = wait(&handle, &run, PauseChange::Paused)?;
    tell(&view, args.json)
}

/// The change that a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PauseChange {
    Paused,
    GoesOn,
}

/// Waits until the owner has made the change, the run ends, or patience ends.
pub(super) fn wait(handle: &Handle, run: &RunId, wish: PauseChange) -> Result<RunView, Report> {
    let begun = Instant::now();
    loop {
        let view = handle.view(run)?;
        let is_so = view.state.bookkeeping.paused == (wish == PauseChange::Paused);
        let is_over = view.state.is_done() || view.status.is_crashed();
        if is_so || is_over || begun.elapsed() > PATIENCE {
            return Ok(view);
        }
        std::thread::sleep(POLL);
    }
}

fn tell(view: &RunView, json: bool) -> Result<Exit, Report> {
    let (run, state) = (&view.run, &view.state);
    let busy = busy(state);
    if json {
        let data =
            json!({"paused": state.bookkeeping.paused, "status": view.status.word(), "under_way": busy});
        return print(&[envelope("run.paused", words::now(), Some(run), data)]);
    }
    let go_on = format!("`windlass resume {run}` continues it");
    if state.is_done() {
        note(&format!("run {run} has already ended: {}", view.status.word()));
    } else if !state.bookkeeping.paused {
        note(&format!("run {run} was asked to pause, but has not paused yet"));
    } else if busy.is_empty() {
        note(&format!("run {run} is paused; {go_on}"));
    } else {
        let busy = busy.join("`, `");
        note(&format!(
            "run {run} is pausing: the work in progress on `{busy}` will finish, then nothing new starts; \
             {go_on}"
        ));
    }
    Ok(Exit::Completed)
}

/// Returns the nodes that run until they end, in spite of the pause.
fn busy(state: &RunState) -> Vec<String> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let is_held = |active: &&&windlass_core::run::ActiveNode| {
        state.bookkeeping.deferred.iter().any(|id| id.node == active.instance)
    };
    let busy = actives.iter().filter(|active| active.activity.lanes().is_empty());
    busy.filter(|active| !is_held(active)).map(|active| plain_line(active.instance.as_str())).collect()
}
