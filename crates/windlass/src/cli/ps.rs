//! `windlass ps`: the runs of this machine, newest first.

use serde_json::{Value, json};
use windlass_core::run::{Standing, Waiting};
use windlass_core::time::Moment;
use windlass_runtime::Durability;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::{Handle, Listed, Living, OtherVersion, Stray};
use windlass_runtime::without_log;
use windlass_runtime::workspace::{Absence, Look};

use super::asks::below;
use super::feed::{envelope, rfc3339, words};
use super::here::{Here, print};
use super::plain::{columns, padded, plain_short};
use super::report::{Report, note, warn};
use super::screen::{Screen, Tone};
use super::standing::status;
use super::stray::{self, Log};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass ps
  windlass ps --here           only runs of this folder
  windlass ps --all            with the runs that runs have started
  windlass ps --json";

/// List the runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only runs of this folder and of those below it
    #[arg(long)]
    here: bool,

    /// The runs that other runs have started, too
    #[arg(long)]
    all: bool,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Lists them.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let cwd = here.cwd.canonicalize().unwrap_or_else(|_| here.cwd.clone());
    let is_here = |living: &Living| living.workspace.as_ref().is_some_and(|place| place.starts_with(&cwd));
    let is_meant = |stray: &Stray| !args.here || stray.living.iter().any(is_here);
    let (handle, mut strays, mut runs) = match read(&here) {
        Ok(read) => read,
        Err(error) if error.is_without_log() => {
            let mut strays = without_log::alive(&here.home);
            strays.retain(is_meant);
            list_strays(&strays, Log::Unreadable, args.json)?;
            return Err(error.into());
        }
        Err(error) => return Err(error.into()),
    };
    strays.retain(is_meant);
    runs.retain(|run| args.all || run.row.projection.parent.is_none());
    runs.retain(|run| !args.here || std::path::Path::new(&run.row.projection.workspace).starts_with(&cwd));
    let runs: Vec<Shown> = runs.into_iter().map(|run| Shown::of(&handle, run)).collect();
    if args.json {
        let strays = strays.iter().map(stray::object);
        return print(&runs.iter().map(object).chain(strays).collect::<Vec<_>>());
    }
    list_strays(&strays, Log::Silent, false)?;
    if runs.is_empty() {
        note("no runs");
        return Ok(Exit::Completed);
    }
    for (run, other) in runs.iter().filter_map(|shown| Some((&shown.run, shown.other.as_ref()?))) {
        let id = &run.row.id;
        note(&format!("another version recorded run {id}: {}", stray::binary_hint(id, other)));
    }
    for (run, why) in runs.iter().filter_map(|shown| Some((&shown.run.row, shown.absence?))) {
        let (id, missing) = (&run.id, words::missing_folder(&run.projection.workspace, why));
        note(&format!("run {id}: {missing}; put it back, then `windlass resume {id}` continues the run"));
    }
    print(&table(here.screen, &runs, words::now()))
}

/// What the log and the folders say.
fn read(here: &Here) -> Result<(Handle, Vec<Stray>, Vec<Listed>), RunError> {
    let handle = Handle::open(here.home.clone(), Durability::Full)?;
    let (strays, runs) = (handle.strays()?, handle.runs()?);
    Ok((handle, strays, runs))
}

fn list_strays(strays: &[Stray], log: Log, json: bool) -> Result<(), Report> {
    if json {
        return print(&strays.iter().map(stray::object).collect::<Vec<_>>()).map(drop);
    }
    stray::lines(strays, log).iter().for_each(|line| warn(line));
    Ok(())
}

/// A run in the list, and whether it begins nothing new.
struct Shown {
    run: Listed,
    is_paused: bool,
    /// It waits for nothing but the end of the pause.
    stands_still: bool,
    /// Another version recorded it, and this one cannot read it.
    other: Option<OtherVersion>,
    /// Why the folder it works in cannot be used.
    absence: Option<Absence>,
}

impl Shown {
    /// The list is written when people are told something. A run that is not over may stand still
    /// since, or have spent more; the others need no second look.
    fn of(handle: &Handle, mut run: Listed) -> Shown {
        let is_over = !matches!(run.status.as_str(), "running" | "waiting" | "crashed");
        let view = if is_over { None } else { handle.view(&run.row.id).ok() };
        let Some(view) = view else {
            let other = if is_over { None } else { handle.other_version(&run.row.id).ok().flatten() };
            return Shown { run, is_paused: false, stands_still: false, other, absence: None };
        };
        run.status = status(&view, &below(handle, &view.state));
        run.row.projection.cost_usd = view.state.spent.usage.cost_usd;
        run.row.projection.iteration = view.state.current_turn();
        let stands_still = matches!(view.state.standing(), Standing::Waiting(Waiting::Paused));
        let is_paused = view.state.book.paused && view.status != "crashed";
        Shown { run, is_paused, stands_still, other: None, absence: view.absence(Look::Brief) }
    }
}

fn object(Shown { run, is_paused, other, absence, .. }: &Shown) -> String {
    let shown = &run.row.projection;
    let mut data = json!({
        "status": run.status,
        "resumable": run.status == "crashed" && other.is_none(),
        "reason": shown.reason,
        "workflow": shown.workflow,
        "driver": shown.driver,
        "workspace": shown.workspace,
        "input": shown.input,
        "iteration": shown.iteration,
        "cost_usd": shown.cost_usd,
        "started": rfc3339(Moment(shown.started_ms)),
        "updated": rfc3339(Moment(shown.updated_ms)),
    });
    if let Value::Object(map) = &mut data {
        if let Some(other) = other {
            map.insert("record_version".to_owned(), other.found.into());
            map.insert("binary".to_owned(), json!(other.binary));
        }
        let missing = absence.map(|why| words::missing_folder(&shown.workspace, why));
        map.extend(missing.map(|text| ("missing_folder".to_owned(), text.into())));
        map.extend(is_paused.then(|| ("paused".to_owned(), true.into())));
        map.extend(shown.parent.as_ref().map(|parent| ("parent".to_owned(), parent.as_str().into())));
    }
    envelope("run", Moment(shown.updated_ms), Some(&run.row.id), data)
}

const TITLES: [&str; 7] = ["RUN", "STATUS", "WORKFLOW", "DRIVER", "TURN", "COST", "AGE"];

fn table(screen: Screen, runs: &[Shown], now: Moment) -> Vec<String> {
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
    let mut lines = vec![screen.paint(Tone::Strong, &title)];
    lines.extend(rows.iter().zip(runs).map(|(row, shown)| join(row, &about(&shown.run))));
    lines
}

/// Whose it is, and what it was asked.
fn about(run: &Listed) -> String {
    let shown = &run.row.projection;
    match &shown.parent {
        Some(parent) => format!("of {parent}: {}", shown.input),
        None => shown.input.clone(),
    }
}

fn row(Shown { run, is_paused, stands_still, other, absence }: &Shown, now: Moment) -> [String; 7] {
    let shown = &run.row.projection;
    let status = match (run.status.as_str(), &shown.reason) {
        ("crashed", _) if other.is_some() => "of another version".to_owned(),
        (status, _) if other.is_some() => format!("{status}, of another version"),
        // As `show` says it.
        ("waiting", _) if *stands_still => "paused".to_owned(),
        (status, _) if *is_paused => format!("{status} (paused)"),
        ("crashed", _) if absence.is_some() => "crashed (folder missing)".to_owned(),
        ("crashed", _) => "crashed (resumable)".to_owned(),
        (status, Some(reason)) if status != "running" => format!("{status} ({})", plain_short(reason, 20)),
        (status, _) => status.to_owned(),
    };
    [
        run.row.id.to_string(),
        status,
        plain_short(&shown.workflow, 20),
        plain_short(&shown.driver, 12),
        shown.iteration.to_string(),
        shown.cost_usd.map_or("-".to_owned(), |usd| words::cost(Some(usd))),
        words::ago(now.since(Moment(shown.started_ms))),
    ]
}
