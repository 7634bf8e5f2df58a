//! `windlass resume`: goes on with a run whose owner is gone, or lets a paused one go on.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_runtime::handle::{Handle, Listed};

use super::feed::{Face, envelope, words};
use super::here::{Here, block_on, print};
use super::pause::{Wish, wait};
use super::plain::plain_short;
use super::report::{Report, note};
use super::stray;
use super::watch::Watch;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass resume              the newest run of this folder that crashed
  windlass resume k3f9         that run, by the beginning of its id, or one that is paused";

/// Go on with a run that is paused or whose process is gone, where it stood
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: Option<String>,

    #[command(flatten)]
    watch: Watch,

    /// Show nothing (for runs in the background)
    #[arg(long, hide = true)]
    quiet: bool,
}

/// Takes the run over.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    args.watch.check()?;
    let handle = here.open(here.durability())?;
    let run = match &args.run {
        Some(prefix) => handle.find(prefix)?,
        None => newest(&here, &handle)?,
    };
    let view = handle.view(&run)?;
    if view.status == "crashed" {
        handle.find_folders(&run)?;
    }
    if view.state.book.paused && !view.state.is_done() {
        handle.go_on(&run)?;
        if view.status != "crashed" {
            return let_go_on(&handle, &run, args.watch.json);
        }
    }
    block_on(async {
        if args.quiet {
            let running = handle.take_up(&run)?;
            return args.watch.follow_as(&mut Face::Quiet, &here, &handle, running).await;
        }
        let running = handle.resume(&run)?;
        args.watch.follow(&here, &handle, running).await
    })
}

/// Another process has it: it was told, and is waited for.
fn let_go_on(handle: &Handle, run: &RunId, json: bool) -> Result<Exit, Report> {
    let view = wait(handle, run, Wish::GoesOn)?;
    if json {
        let data = json!({"paused": view.state.book.paused, "status": view.status});
        return print(&[envelope("run.goes_on", words::now(), Some(run), data)]);
    }
    match view.state.book.paused {
        true => note(&format!("run {run} was told to go on and has not yet")),
        false => note(&format!("run {run} goes on; `windlass logs -f {run}` follows it")),
    }
    Ok(Exit::Completed)
}

/// How long a killed owner may take to be gone.
const DYING: Duration = Duration::from_millis(300);

/// The newest run of this folder, or of one above it, that has crashed.
fn newest(here: &Here, handle: &Handle) -> Result<RunId, Report> {
    let cwd = here.cwd.canonicalize().unwrap_or_else(|_| here.cwd.clone());
    // A run that another one started goes on with that one.
    let is_here =
        |run: &&Listed| run.row.projection.parent.is_none() && cwd.starts_with(&run.row.projection.workspace);
    let until = Instant::now() + DYING;
    loop {
        let runs = handle.runs()?;
        let crashed = runs.iter().filter(|run| run.status == "crashed");
        // One that this build cannot read is no choice where nobody made it.
        let (other, crashed): (Vec<Listed>, Vec<Listed>) = crashed
            .cloned()
            .partition(|run| handle.other_version(&run.row.id).is_ok_and(|other| other.is_some()));
        if let Some(found) = crashed.iter().find(is_here) {
            return Ok(found.row.id.clone());
        }
        let alive =
            runs.iter().filter(is_here).find(|run| matches!(run.status.as_str(), "running" | "waiting"));
        match alive {
            // An owner that was just killed holds its lock for a moment longer.
            Some(run) if is_paused(handle, run) => return Ok(run.row.id.clone()),
            Some(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Some(run) => {
                return Err(Report::usage(format!("run {} of this folder goes on elsewhere", run.row.id))
                    .hint(format!("`windlass logs -f {}` follows it", run.row.id)));
            }
            None => match other.iter().find(is_here) {
                Some(run) => return Err(unreadable(handle, &run.row.id)),
                None => return Err(nothing(&crashed)),
            },
        }
    }
}

fn is_paused(handle: &Handle, run: &Listed) -> bool {
    handle.view(&run.row.id).is_ok_and(|view| view.state.book.paused)
}

/// The only run of this folder is one that another version recorded.
fn unreadable(handle: &Handle, run: &RunId) -> Report {
    let report = Report::usage(format!(
        "no run of this folder can be resumed by this windlass; another version recorded run {run}"
    ));
    match handle.other_version(run) {
        Ok(Some(other)) => report.hint(stray::binary_hint(run, &other)),
        _ => report.hint("`windlass ps` lists all runs"),
    }
}

fn nothing(elsewhere: &[Listed]) -> Report {
    let report = Report::usage("no run of this folder can be resumed");
    if elsewhere.is_empty() {
        return report.hint("`windlass ps` lists all runs");
    }
    let name = |run: &Listed| format!("{} in {}", run.row.id, plain_short(&run.row.projection.workspace, 60));
    let names: Vec<String> = elsewhere.iter().take(5).map(name).collect();
    report.hint(format!("elsewhere there are: {}", names.join("; ")))
}
