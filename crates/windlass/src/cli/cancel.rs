//! `windlass cancel`: ends a run from anywhere.
//!
//! If the run has an owner, `cancel` asks the owner and waits. Otherwise it takes the run over and closes it,
//! because no other process would end what the run left behind. If the log does not know the run, or this
//! build cannot read the log, `cancel` finds the live processes by the run's folder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_core::run::{FinalStatus, Lifecycle};
use windlass_runtime::children::EndedChildren;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{Family, RunStatus};
use windlass_runtime::without_log;

use super::complete::{self, OfferedRuns};
use super::default_run::{self, DefaultRun};
use super::drive::{RunKeeping, Viewer, drive};
use super::feed::{Face, envelope, words};
use super::invocation::{Invocation, block_on, print, wait_for};
use super::output::OutputWriter;
use super::report::{Report, note};
use super::stray;
use crate::exit::Exit;

/// The longest wait for the end of a run.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// The time after which `cancel` says that it waits for `finally`. Most take less.
const SAYS_FINALLY: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  windlass cancel              the newest run of this folder that is not over,
                               or else the newest interrupted one
  windlass cancel k3f9";

/// Stop a run and everything it started
///
/// Ends the agents, the commands and the runs that the run started, also if its own process is gone.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[arg(value_name = "RUN", help = default_run::NEWEST_OPEN, add = complete::runs(OfferedRuns::Open))]
    run: Option<String>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// Runs `windlass cancel`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let (handle, run) = match find(&invocation, args.run.as_deref())? {
        CancelTarget::Known(handle, run) => (*handle, run),
        CancelTarget::Folder(run, dir) => return end_folder(&invocation, &run, &dir, args.json),
    };
    if handle.other_version(&run)?.is_some() {
        return end_other_version(&handle, &run, args.json);
    }
    if handle.owner(&run).is_none() && handle.has_diverged(&run)? {
        return end_other_version(&handle, &run, args.json);
    }
    wait_for(handle.cancel(&run))?;
    let status = wait(&handle, &run, args.json)?;
    tell(&handle, &run, status, args.json)
}

/// A run to end.
enum CancelTarget {
    /// A run that the log knows.
    Known(Box<Handle>, RunId),
    /// A run that only has a folder: the log does not know it, or cannot be read.
    Folder(RunId, PathBuf),
}

fn find(invocation: &Invocation, named: Option<&str>) -> Result<CancelTarget, Report> {
    let Some(prefix) = named else {
        let handle = invocation.open(invocation.durability())?;
        let run = default_run::choose(invocation, &handle, None, DefaultRun::NewestOpenOrInterrupted)?;
        return Ok(CancelTarget::Known(Box::new(handle), run));
    };
    let handle = Handle::open(invocation.home.clone(), invocation.durability());
    let found = handle.and_then(|handle| Ok((handle.find(prefix)?, Box::new(handle))));
    match found {
        Ok((run, handle)) => Ok(CancelTarget::Known(handle, run)),
        Err(RunError::NotInLog { run, dir }) => Ok(CancelTarget::Folder(run, dir)),
        Err(error) if error.is_without_log() => match without_log::find(&invocation.home, prefix) {
            Some(stray) => Ok(CancelTarget::Folder(stray.run, stray.dir)),
            None => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// Reports how the run ended, or which process still runs it.
fn tell(handle: &Handle, run: &RunId, status: RunStatus, json: bool) -> Result<Exit, Report> {
    let is_over = status.is_over();
    let owner = handle.owner(run).filter(|_| !is_over);
    if json {
        let kind = match status {
            RunStatus::Ended(FinalStatus::Cancelled) => "run.cancelled",
            // The run was faster than the request.
            _ if is_over => "run.already_over",
            _ => "run.cancelling",
        };
        let mut data = json!({"status": status.word()});
        if let (Some(owner), serde_json::Value::Object(map)) = (owner, &mut data) {
            map.insert("waits_for".to_owned(), json!({"process": owner.pid, "stopped": owner.is_stopped}));
        }
        return print(&[envelope(kind, words::now(), Some(run), data)]);
    }
    note(&match (is_over, owner) {
        (true, _) if status != RunStatus::Ended(FinalStatus::Cancelled) => {
            format!("run {run} ended before it could be cancelled: {}", status.word())
        }
        (true, _) => format!("run {run}: {}", status.word()),
        (false, Some(owner)) => {
            format!("run {run} has not ended yet: process {} still runs it", owner.pid)
        }
        (false, None) => format!("run {run} has not ended yet"),
    });
    Ok(Exit::Completed)
}

/// Ends the live processes of a run that the log does not know.
fn end_folder(invocation: &Invocation, run: &RunId, dir: &Path, json: bool) -> Result<Exit, Report> {
    let (ended, owner) = without_log::end(&invocation.home, run)?;
    if let Some(owner) = owner {
        let text = format!("process {} still runs {run}, and may start its agent again", owner.pid);
        return Err(Report::new(Exit::Agent, text).hint(format!("`kill {}` ends it", owner.pid)));
    }
    if json {
        let data = json!({"status": "unknown", "ended": counted(&ended), "folder": dir});
        return print(&[envelope("run.cancelled", words::now(), Some(run), data)]);
    }
    note(&format!(
        "run {run} is in no readable log: {}; Windlass kept its folder {}",
        stray::ended(&ended),
        dir.display()
    ));
    Ok(Exit::Completed)
}

/// Ends a run that another version recorded.
fn end_other_version(handle: &Handle, run: &RunId, json: bool) -> Result<Exit, Report> {
    let begun = Instant::now();
    let ended = loop {
        match block_on(async { Ok(handle.cancel_other_version(run).await) })? {
            Ok(Some(ended)) => break ended,
            // Its owner was quicker.
            Err(RunError::Over(_)) if begun.elapsed() > POLL => break EndedChildren::default(),
            Err(error) => return Err(error.into()),
            Ok(None) if begun.elapsed() < PATIENCE => std::thread::sleep(POLL),
            Ok(None) => return tell(handle, run, RunStatus::Running, json),
        }
    };
    if json {
        let data = json!({"status": "cancelled", "ended": counted(&ended)});
        return print(&[envelope("run.cancelled", words::now(), Some(run), data)]);
    }
    note(&format!(
        "cancelled run {run}, which another version of windlass recorded: {}; its log is unchanged",
        stray::ended(&ended)
    ));
    Ok(Exit::Completed)
}

fn counted(ended: &EndedChildren) -> serde_json::Value {
    json!({"children": ended.children, "processes": ended.processes, "left": ended.left})
}

/// Takes the run over until it has ended.
pub(super) fn close_run(handle: &Handle, family: Family) -> Result<(), Report> {
    block_on(async {
        let running = match handle.close_family(family).await {
            Ok(running) => running,
            // It ended, or another process took it over, since we read its state.
            Err(RunError::Over(_) | RunError::Lease { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let viewer = Viewer {
            face: &mut Face::Quiet,
            out: &mut OutputWriter::stdout(),
            inline: None,
            alert: None,
            tasks: None,
        };
        drive(running, None, viewer, RunKeeping::Kept).await.map(|_| ())
    })
}

fn wait(handle: &Handle, run: &RunId, json: bool) -> Result<RunStatus, Report> {
    let begun = Instant::now();
    let mut may_say = !json;
    loop {
        let view = handle.view(run)?;
        if view.state.is_done() || begun.elapsed() > PATIENCE {
            return Ok(view.status);
        }
        let completes = matches!(view.state.lifecycle, Lifecycle::Finally { .. });
        if completes && begun.elapsed() > SAYS_FINALLY && std::mem::take(&mut may_say) {
            note(&format!(
                "run {run} is being cancelled, and completes its `finally` first; `windlass cancel {run}` stops that as well"
            ));
        }
        // It has no owner, or its owner is dying right now: this process closes it.
        if view.status.is_crashed() {
            close_run(handle, handle.family(&view))?;
        }
        std::thread::sleep(POLL);
    }
}
