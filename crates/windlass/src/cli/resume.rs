//! `windlass resume`: continues a run whose owner is gone, or a paused run.

use serde_json::json;
use windlass_core::id::RunId;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{NewestRun, RunSummary};

use super::feed::{Face, envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for};
use super::pause::{PauseChange, wait};
use super::report::{Report, note};
use super::sanitize::plain_short;
use super::stray;
use super::watch::WatchFlags;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass resume              continue the newest crashed run of this folder, else a paused one
  windlass resume k3f9         continue this run";

/// Continue a run that is paused or whose process is gone
///
/// The run continues after its last recorded step: Windlass repeats nothing that has finished.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run's id, or a unique prefix of it [default: the newest run of this folder, or of a folder above
    /// it, that crashed, else one that is paused]
    #[arg(value_name = "RUN")]
    run: Option<String>,

    #[command(flatten)]
    watch: WatchFlags,

    /// Show nothing; for runs in the background
    #[arg(long, hide = true)]
    quiet: bool,
}

/// Runs `windlass resume`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    args.watch.check()?;
    let handle = invocation.open(invocation.durability())?;
    let run = match &args.run {
        Some(prefix) => handle.find(prefix)?,
        None => newest(&invocation, &handle)?,
    };
    let view = handle.view(&run)?;
    let family = handle.family(&view);
    if view.state.bookkeeping.paused && !view.state.is_done() {
        if view.status.is_crashed() {
            handle.check_folders(&family)?;
        }
        wait_for(handle.unpause(&run))?;
        if !view.status.is_crashed() {
            return let_go_on(&handle, &run, args.watch.json);
        }
    }
    block_on(async {
        if args.quiet {
            let running = handle.take_up(family).await?;
            return args.watch.follow_as(&mut Face::Quiet, &invocation, &handle, running).await;
        }
        let running = handle.resume(family).await?;
        args.watch.follow(&invocation, &handle, running).await
    })
}

/// Waits until the process that owns the run continues it.
fn let_go_on(handle: &Handle, run: &RunId, json: bool) -> Result<Exit, Report> {
    let view = wait(handle, run, PauseChange::GoesOn)?;
    if json {
        let data = json!({"paused": view.state.bookkeeping.paused, "status": view.status.word()});
        return print(&[envelope("run.goes_on", words::now(), Some(run), data)]);
    }
    match view.state.bookkeeping.paused {
        true => note(&format!("run {run} was asked to continue, but has not continued yet")),
        false => note(&format!("run {run} continues; `windlass logs -f {run}` follows it")),
    }
    Ok(Exit::Completed)
}

/// Finds the newest run of this folder, or of a folder above it, whose process is gone.
fn newest(invocation: &Invocation, handle: &Handle) -> Result<RunId, Report> {
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    match wait_for(handle.newest_run(&cwd))? {
        NewestRun::Resumable(run) => Ok(run),
        NewestRun::Owned(run) => Err(Report::usage(format!("another process runs run {run} of this folder"))
            .hint(format!("`windlass logs -f {run}` follows it"))),
        NewestRun::OtherVersion(run) => Err(unreadable(handle, &run)),
        NewestRun::Elsewhere(runs) => Err(nothing(&runs)),
    }
}

/// Reports that another version recorded the only run of this folder.
fn unreadable(handle: &Handle, run: &RunId) -> Report {
    let report = Report::usage(format!(
        "this windlass can resume no run of this folder; another version recorded run {run}"
    ));
    match handle.other_version(run) {
        Ok(Some(other)) => report.hint(stray::binary_hint(run, &other)),
        _ => report.hint("`windlass ps` lists all runs"),
    }
}

fn nothing(elsewhere: &[RunSummary]) -> Report {
    let report = Report::usage("no run of this folder can be resumed");
    if elsewhere.is_empty() {
        return report.hint("`windlass ps` lists all runs");
    }
    let name = |run: &RunSummary| format!("{} in {}", run.run, plain_short(&run.workspace, 60));
    let names: Vec<String> = elsewhere.iter().take(5).map(name).collect();
    report.hint(format!("runs in other folders: {}", names.join("; ")))
}
