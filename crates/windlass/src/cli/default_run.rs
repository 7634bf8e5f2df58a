//! Chooses the run of a command that names none, from the runs of this folder and of the folders above it.
//!
//! Every command that needs a run uses this rule and tells which run it chose. Only `resume` has its own
//! rule, in `runtime::view::NewestRun`: it waits for an owner that is dying.

use std::path::Path;

use windlass_core::id::RunId;
use windlass_core::run::{Ask, FinalStatus};
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{FolderFilter, OriginFilter, RunFilter, RunStatus, RunSummary, StatusFilter};

use super::feed::{gist, naming};
use super::invocation::Invocation;
use super::report::{Report, note};
use super::sanitize::plain_short;

/// The default in the help of a command that shows a run.
pub(super) const NEWEST: &str = "The run's id, or a unique prefix of it [default: the newest of this folder]";
/// The default in the help of a command that acts on a run in progress.
pub(super) const NEWEST_OPEN: &str =
    "The run's id, or a unique prefix of it [default: the newest of this folder that is not over]";
/// The default in the help of a command that answers a run.
pub(super) const WAITING: &str =
    "The run's id, or a unique prefix of it [default: the one of this folder that waits for you]";

/// The most runs in other folders that an error names.
const NAMED: usize = 3;

/// The run that a command takes if it names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultRun {
    /// The newest run.
    Newest,
    /// The newest run whose folder still exists: the worktree of a run may be gone.
    NewestWithFolder,
    /// The newest run that is not over.
    NewestOpen,
    /// The newest run that is not over, else the newest interrupted run.
    NewestOpenOrInterrupted,
    /// The newest run with a live process, else the newest run that is not over.
    NewestOwned,
}

/// Returns the named run, or the default of this folder. Prints which run was chosen.
pub(super) fn choose(
    invocation: &Invocation,
    handle: &Handle,
    named: Option<&str>,
    default: DefaultRun,
) -> Result<RunId, Report> {
    if let Some(prefix) = named {
        return Ok(handle.find(prefix)?);
    }
    let newest = |status| Ok::<_, Report>(handle.page(&here(invocation, status), None, 1)?.runs.pop());
    let open = || handle.runs(&here(invocation, StatusFilter::Open));
    let (chosen, why) = match default {
        DefaultRun::Newest => (newest(StatusFilter::Any)?, "the newest of this folder"),
        DefaultRun::NewestWithFolder => {
            let runs = handle.runs(&here(invocation, StatusFilter::Any))?;
            match runs.iter().position(|run| Path::new(&run.workspace).is_dir()) {
                None | Some(0) => (runs.into_iter().next(), "the newest of this folder"),
                Some(at) => (runs.get(at).cloned(), "the newest of this folder whose files are still there"),
            }
        }
        DefaultRun::NewestOpen => (newest(StatusFilter::Open)?, "the newest of this folder that is not over"),
        DefaultRun::NewestOpenOrInterrupted => match newest(StatusFilter::Open)? {
            Some(open) => (Some(open), "the newest of this folder that is not over"),
            None => {
                let interrupted = StatusFilter::Only(RunStatus::Ended(FinalStatus::Interrupted));
                (newest(interrupted)?, "the newest interrupted one of this folder")
            }
        },
        DefaultRun::NewestOwned => {
            let open = open()?;
            let owned = open.iter().find(|run| run.status.is_owned()).or(open.first()).cloned();
            (owned, "the newest of this folder that is not over")
        }
    };
    let Some(run) = chosen else { return Err(none(handle, newest(StatusFilter::Any)?)) };
    tell(&run, why);
    Ok(run.run)
}

/// Returns the newest run of this folder.
pub(super) fn newest(invocation: &Invocation, handle: &Handle) -> Option<RunId> {
    let page = handle.page(&here(invocation, StatusFilter::Any), None, 1).ok()?;
    page.runs.into_iter().next().map(|run| run.run)
}

/// Returns the run of this folder that waits for a person with such a request. Prints which run was chosen.
///
/// Runs with a live process come before crashed ones. If no run has such a request, the others count.
pub(super) fn waiting(
    invocation: &Invocation,
    handle: &Handle,
    is_meant: impl Fn(&Ask) -> bool,
) -> Result<RunId, Report> {
    let asks = |run: RunSummary| {
        let asks = handle.view(&run.run).map(|view| handle.family(&view).asks()).unwrap_or_default();
        (!asks.is_empty()).then_some(WaitingRun { run, asks })
    };
    let open = handle.runs(&here(invocation, StatusFilter::Open))?;
    let all: Vec<WaitingRun> = open.iter().cloned().filter_map(asks).collect();
    let all = preferred(all, |waiting| waiting.run.status.is_owned());
    let all = preferred(all, |waiting| waiting.asks.iter().any(|(_, ask)| is_meant(ask)));
    match all.as_slice() {
        [] => Err(nobody_waits(open.first())),
        [only] => {
            tell(&only.run, "it waits for you");
            Ok(only.run.run.clone())
        }
        several => Err(several_wait(several)),
    }
}

/// A run with its open requests, and the runs that ask: itself or runs that it started.
struct WaitingRun {
    run: RunSummary,
    asks: Vec<(RunId, Ask)>,
}

/// Keeps the preferred runs, or all if there is none.
fn preferred(all: Vec<WaitingRun>, is_preferred: impl Fn(&WaitingRun) -> bool) -> Vec<WaitingRun> {
    let (preferred, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_preferred);
    if preferred.is_empty() { others } else { preferred }
}

/// Selects the runs of this folder and of the folders above it. Child runs belong to their parents.
fn here(invocation: &Invocation, status: StatusFilter) -> RunFilter {
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    RunFilter {
        status,
        folder: FolderFilter::Around(cwd),
        origin: OriginFilter::NoRun,
        ..RunFilter::default()
    }
}

fn tell(run: &RunSummary, why: &str) {
    let RunSummary { run, workflow, status, .. } = run;
    note(&format!("run {run} ({}, {}): {why}", plain_short(workflow, 20), status.word()));
}

/// Reports that no run of this folder is in progress, or that it has none at all.
fn none(handle: &Handle, newest: Option<RunSummary>) -> Report {
    if let Some(RunSummary { run, status, .. }) = newest {
        let next = match status {
            RunStatus::Ended(end) if !end.is_final() => format!("`windlass resume {run}` continues it"),
            _ => "`windlass ps` lists the runs".to_owned(),
        };
        return Report::usage("no run of this folder is in progress")
            .hint(format!("the newest, {run}, is over: {}; {next}", status.word()));
    }
    let elsewhere = RunFilter { origin: OriginFilter::NoRun, ..RunFilter::default() };
    let elsewhere = handle.page(&elsewhere, None, NAMED).map(|page| page.runs).unwrap_or_default();
    let report = Report::usage("this folder has no runs");
    if elsewhere.is_empty() {
        return report.hint("start one: windlass run INPUT, or windlass loop PROMPT");
    }
    let name = |run: &RunSummary| format!("\n    {} in {}", run.run, plain_short(&run.workspace, 60));
    let names: String = elsewhere.iter().map(name).collect();
    report.hint(format!("name a run; `windlass ps` lists all, and the newest are:{names}"))
}

fn nobody_waits(newest: Option<&RunSummary>) -> Report {
    Report::usage("no run of this folder waits for an answer").hint(match newest {
        Some(RunSummary { run, .. }) => format!("`windlass show {run}` shows what the newest one is doing"),
        None => "`windlass ps` lists the runs of all folders: name one".to_owned(),
    })
}

/// Reports that several runs wait, with the command that answers each request.
fn several_wait(several: &[WaitingRun]) -> Report {
    let line = |(run, ask): &(RunId, Ask)| format!("\n    {}\n      {}", gist(ask), naming(run, ask));
    let lines: String = several.iter().flat_map(|waiting| &waiting.asks).map(line).collect();
    Report::usage(format!("{} runs of this folder wait for you: choose one", several.len()))
        .hint(format!("use one of these commands:{lines}"))
}
