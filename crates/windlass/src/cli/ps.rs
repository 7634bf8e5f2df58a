//! `windlass ps`: lists the runs of this machine, newest first.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::time::Moment;
use windlass_runtime::Durability;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::{Handle, LiveChild, OtherVersion, StrayRun};
use windlass_runtime::view::{FolderFilter, OriginFilter, RunFilter, RunStatus, RunSummary};
use windlass_runtime::without_log;
use windlass_runtime::workspace::{Absence, FolderCheck};

use super::feed::{envelope, rfc3339, words};
use super::invocation::{Invocation, print};
use super::report::{Report, note, warn};
use super::sanitize::{columns, padded, plain_short};
use super::stray::{self, LogState};
use super::terminal::{Terminal, TextTone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass ps
  windlass ps --here           list only runs of this folder
  windlass ps --all            also list runs that other runs started
  windlass ps --json";

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List only runs of this folder and the folders below it
    #[arg(long)]
    here: bool,

    /// Also list runs that other runs started
    #[arg(long)]
    all: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl Args {
    fn filter(&self, cwd: &Path) -> RunFilter {
        let folder = if self.here { FolderFilter::Below(cwd.to_owned()) } else { FolderFilter::Anywhere };
        let origin = if self.all { OriginFilter::Anybody } else { OriginFilter::NoRun };
        RunFilter { folder, origin, ..RunFilter::default() }
    }
}

/// Runs `windlass ps`.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    let cwd = invocation.cwd.canonicalize().unwrap_or_else(|_| invocation.cwd.clone());
    let is_here = |living: &LiveChild| living.workspace.as_ref().is_some_and(|place| place.starts_with(&cwd));
    let is_meant = |stray: &StrayRun| !args.here || stray.living.iter().any(is_here);
    let filter = args.filter(&cwd);
    let (handle, mut strays, runs) = match read(&invocation, &filter) {
        Ok(read) => read,
        Err(error) if error.is_without_log() => {
            let mut strays = without_log::alive(&invocation.home);
            strays.retain(is_meant);
            list_strays(&strays, LogState::Unreadable, args.json)?;
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    };
    strays.retain(is_meant);
    let runs: Vec<ListedRun> = runs.into_iter().map(|run| ListedRun::of(&handle, run)).collect();
    if args.json {
        let strays = strays.iter().map(stray::object);
        return print(&runs.iter().map(object).chain(strays).collect::<Vec<_>>());
    }
    list_strays(&strays, LogState::Silent, false)?;
    if runs.is_empty() {
        note("no runs");
        return Ok(Exit::Completed);
    }
    for (run, other) in runs.iter().filter_map(|shown| Some((&shown.run, shown.other.as_ref()?))) {
        let id = &run.run;
        note(&format!("another version recorded run {id}: {}", stray::binary_hint(id, other)));
    }
    for (run, why) in runs.iter().filter_map(|shown| Some((&shown.run, shown.absence?))) {
        let (id, missing) = (&run.run, words::missing_folder(&run.workspace, why));
        note(&format!("run {id}: {missing}; put it back, then `windlass resume {id}` continues the run"));
    }
    print(&table(invocation.screen, &runs, words::now()))
}

/// Reads the runs of the log, and the folders of runs that are not in it.
fn read(
    invocation: &Invocation,
    filter: &RunFilter,
) -> Result<(Handle, Vec<StrayRun>, Vec<RunSummary>), RunError> {
    let handle = Handle::open(invocation.home.clone(), Durability::Full)?;
    let (strays, runs) = (handle.strays()?, handle.runs(filter)?);
    Ok((handle, strays, runs))
}

fn list_strays(strays: &[StrayRun], log: LogState, json: bool) -> Result<(), Report> {
    if json {
        return print(&strays.iter().map(stray::object).collect::<Vec<_>>()).map(drop);
    }
    stray::lines(strays, log).iter().for_each(|line| warn(line));
    Ok(())
}

/// A run in the list.
struct ListedRun {
    run: RunSummary,
    is_paused: bool,
    /// The version that recorded the run, if this one cannot read it.
    other: Option<OtherVersion>,
    /// The reason why the run's folder cannot be used.
    absence: Option<Absence>,
}

impl ListedRun {
    /// Completes the summary of a run. The stored summary may be old: a run that has not ended may have
    /// crashed or spent more since, so its log is read. A run that has ended needs nothing.
    fn of(handle: &Handle, mut run: RunSummary) -> ListedRun {
        let is_over = run.status.is_over();
        let view = if is_over { None } else { handle.view(&run.run).ok() };
        let Some(view) = view else {
            let other = if is_over { None } else { handle.other_version(&run.run).ok().flatten() };
            return ListedRun { run, is_paused: false, other, absence: None };
        };
        run.status = handle.family(&view).status(view.status);
        run.cost_usd = view.state.spent.usage.cost_usd;
        run.turn = view.state.current_turn();
        let is_paused = view.state.bookkeeping.paused && !view.status.is_crashed();
        ListedRun { run, is_paused, other: None, absence: view.absence(FolderCheck::Brief) }
    }
}

fn object(ListedRun { run, is_paused, other, absence, .. }: &ListedRun) -> String {
    let mut data = json!({
        "status": run.status.word(),
        "resumable": run.status.is_crashed() && other.is_none(),
        "reason": run.reason,
        "workflow": run.workflow,
        "driver": run.driver,
        "workspace": run.workspace,
        "input": run.input,
        "iteration": run.turn,
        "cost_usd": run.cost_usd,
        "started": rfc3339(run.started),
        "updated": rfc3339(run.updated),
    });
    if let Value::Object(map) = &mut data {
        if let Some(other) = other {
            map.insert("record_version".to_owned(), other.found.into());
            map.insert("binary".to_owned(), json!(other.binary));
        }
        let missing = absence.map(|why| words::missing_folder(&run.workspace, why));
        map.extend(missing.map(|text| ("missing_folder".to_owned(), text.into())));
        map.extend(is_paused.then(|| ("paused".to_owned(), true.into())));
        map.extend(run.parent.as_ref().map(|parent| ("parent".to_owned(), parent.as_str().into())));
    }
    envelope("run", run.updated, Some(&run.run), data)
}

const TITLES: [&str; 7] = ["RUN", "STATUS", "WORKFLOW", "DRIVER", "TURN", "COST", "AGE"];

fn table(screen: Terminal, runs: &[ListedRun], now: Moment) -> Vec<String> {
    let rows: Vec<[String; 7]> = runs.iter().map(|run| row(run, now)).collect();
    let mut widths = TITLES.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let join = |cells: &[String; 7], last: &str| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| padded(cell, width)).collect();
        let line = format!("{}  ", cells.join("  "));
        let room = screen.width.saturating_sub(columns(&line)).max(20);
        format!("{line}{}", plain_short(last, room)).trim_end().to_owned()
    };
    let title = join(&TITLES.map(str::to_owned), "INPUT");
    let mut lines = vec![screen.paint(TextTone::Strong, &title)];
    lines.extend(rows.iter().zip(runs).map(|(row, shown)| join(row, &about(&shown.run))));
    lines
}

/// Returns the input of a run, and the run that started it.
fn about(run: &RunSummary) -> String {
    match &run.parent {
        Some(parent) => format!("of {parent}: {}", run.input),
        None => run.input.clone(),
    }
}

fn row(ListedRun { run, is_paused, other, absence }: &ListedRun, now: Moment) -> [String; 7] {
    let word = run.status.word();
    let status = match (run.status, &run.reason) {
        (RunStatus::Crashed, _) if other.is_some() => "of another version".to_owned(),
        _ if other.is_some() => format!("{word}, of another version"),
        // The word that `show` uses.
        (RunStatus::Paused, _) => "paused".to_owned(),
        _ if *is_paused => format!("{word} (paused)"),
        (RunStatus::Crashed, _) if absence.is_some() => format!("{word} (folder missing)"),
        (RunStatus::Crashed, _) => format!("{word} (resumable)"),
        (RunStatus::Running, _) | (_, None) => word.to_owned(),
        (RunStatus::Waiting | RunStatus::Ended(_) | RunStatus::Unknown, Some(reason)) => {
            format!("{word} ({})", plain_short(reason, 20))
        }
    };
    [
        run.run.to_string(),
        status,
        plain_short(&run.workflow, 20),
        plain_short(&run.driver, 12),
        run.turn.to_string(),
        run.cost_usd.map_or("-".to_owned(), |usd| words::cost(Some(usd))),
        words::ago(now.since(run.started)),
    ]
}
