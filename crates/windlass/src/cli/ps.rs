//! `windlass ps`: lists the runs of this machine, newest first.

use std::path::Path;

use serde_json::{Value, json};
use windlass_core::spec::ForkOrigin;
use windlass_core::time::Moment;
use windlass_runtime::Durability;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::{Handle, LiveChild, OtherVersion, StrayRun};
use windlass_runtime::view::{FolderFilter, OriginFilter, RunFilter, RunStatus, RunSummary};
use windlass_runtime::without_log;
use windlass_runtime::workspace::{Absence, FolderCheck};

use super::feed::{envelope, rfc3339, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::report::{Report, note, warn};
use super::sanitize::{columns, plain_line, plain_short};
use super::stray::{self, LogState};
use super::terminal::{Terminal, TextTone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass ps
  windlass ps --here           list only runs of this folder
  windlass ps --limit 5        list only the newest five
  windlass ps --all            list all, also runs that other runs started
  windlass ps --json";

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// List only runs of this folder and the folders below it
    #[arg(long)]
    here: bool,

    /// Also list runs that other runs started, and all older runs
    #[arg(long)]
    all: bool,

    /// List only the newest N runs; 0 means all [default: 20 on a terminal, else all]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    limit: Option<usize>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

/// The runs that a terminal shows by default.
const LISTED: usize = 20;

/// Parses a number of runs: zero or more.
fn limit(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number, and 0 means all".to_owned())
}

impl Args {
    /// Returns the number of runs to list.
    fn most(&self, screen: Terminal) -> usize {
        match self.limit {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None if screen.is_terminal && !self.all && !self.json => LISTED,
            None => usize::MAX,
        }
    }

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
    let most = args.most(invocation.screen);
    let older = runs.len().saturating_sub(most);
    let runs: Vec<ListedRun> = runs.into_iter().take(most).map(|run| ListedRun::of(&handle, run)).collect();
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
    let printed = print(&table(invocation.screen, &runs, words::now()))?;
    if older > 0 {
        note(&format!("and {older} older: --all, or --limit N"));
    }
    Ok(printed)
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
    /// The run and node from which it was forked.
    fork_of: Option<ForkOrigin>,
}

impl ListedRun {
    /// Completes the summary of a run. The stored summary may be old: a run that has not ended may have
    /// crashed or spent more since, so its log is read. A run that has ended needs nothing.
    fn of(handle: &Handle, mut run: RunSummary) -> ListedRun {
        let fork_of = handle.fork_of(&run.run);
        let is_over = run.status.is_over();
        let view = if is_over { None } else { handle.view(&run.run).ok() };
        let Some(view) = view else {
            let other = if is_over { None } else { handle.other_version(&run.run).ok().flatten() };
            return ListedRun { run, is_paused: false, other, absence: None, fork_of };
        };
        run.status = handle.family(&view).status(view.status);
        run.cost = view.state.own_spent().usage.cost();
        run.turn = view.state.current_turn();
        let is_paused = view.state.bookkeeping.paused && !view.status.is_crashed();
        ListedRun { run, is_paused, other: None, absence: view.absence(FolderCheck::Brief), fork_of }
    }
}

fn object(ListedRun { run, is_paused, other, absence, fork_of }: &ListedRun) -> String {
    let mut data = json!({
        "status": run.status.word(),
        "resumable": run.is_resumable() && other.is_none(),
        "reason": run.reason,
        "workflow": run.workflow,
        "driver": run.driver,
        "workspace": run.workspace,
        "input": run.input,
        "iteration": run.turn,
        "cost_usd": run.cost.usd,
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
        map.extend(run.cost.is_computed.then(|| ("cost_is_computed".to_owned(), true.into())));
        map.extend(run.cost.is_partial.then(|| ("cost_is_partial".to_owned(), true.into())));
        map.extend(is_paused.then(|| ("paused".to_owned(), true.into())));
        map.extend(fork_of.as_ref().map(|fork| ("fork_of".to_owned(), words::fork_object(fork))));
        map.extend(run.parent.as_ref().map(|parent| ("parent".to_owned(), parent.as_str().into())));
    }
    envelope("run", run.updated, Some(&run.run), data)
}

const TITLES: [&str; 8] = ["RUN", "STATUS", "WORKFLOW", "DRIVER", "TURN", "COST", "AGE", "INPUT"];
/// The column that takes the rest of a line.
const INPUT: usize = 7;
/// The columns that a narrow terminal leaves out, the least important first: driver, turn, cost, workflow.
const LEFT_OUT: [usize; 4] = [3, 4, 5, 2];
/// The columns that the input needs to be recognised.
const RECOGNISED: usize = 20;

fn table(screen: Terminal, runs: &[ListedRun], now: Moment) -> Vec<String> {
    let mut rows = vec![TITLES.map(str::to_owned)];
    rows.extend(runs.iter().map(|run| row(run, now)));
    for column in LEFT_OUT {
        if screen.limit().is_some_and(|limit| fixed(&rows) + RECOGNISED > limit) {
            rows.iter_mut().filter_map(|row| row.get_mut(column)).for_each(String::clear);
        }
    }
    let mut lines = fit::table(&rows, INPUT, screen.limit());
    if let Some(title) = lines.first_mut() {
        *title = screen.paint(TextTone::Strong, title);
    }
    lines
}

/// Returns the width of all columns before the input.
fn fixed(rows: &[[String; 8]]) -> usize {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell)).max();
    let widths = (0..INPUT).filter_map(width).filter(|width| *width > 0);
    widths.map(|width| width + 2).sum()
}

/// Returns the input of a run, and the run that started it or that it was forked from.
fn about(run: &RunSummary, fork_of: Option<&ForkOrigin>) -> String {
    match (&run.parent, fork_of) {
        (Some(parent), _) => format!("of {parent}: {}", run.input),
        (None, Some(fork)) => format!("fork of {}: {}", fork.run, run.input),
        (None, None) => run.input.clone(),
    }
}

fn row(ListedRun { run, is_paused, other, absence, fork_of }: &ListedRun, now: Moment) -> [String; 8] {
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
        words::cost_cell(run.cost),
        words::ago(now.since(run.started)),
        plain_line(&about(run, fork_of.as_ref())),
    ]
}
