//! `windlass ps`: the runs of this machine, newest first.

use serde_json::json;
use windlass_core::time::Moment;
use windlass_runtime::handle::Listed;

use super::feed::{envelope, rfc3339, words};
use super::here::{Here, print};
use super::plain::{columns, padded, plain_short};
use super::report::{Report, note};
use super::screen::{Screen, Tone};
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass ps
  windlass ps --here           only runs of this folder
  windlass ps --json";

/// List the runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only runs of this folder and of those below it
    #[arg(long)]
    here: bool,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Lists them.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let cwd = here.cwd.canonicalize().unwrap_or_else(|_| here.cwd.clone());
    let mut runs = here.open_to_ask()?.runs()?;
    runs.retain(|run| !args.here || std::path::Path::new(&run.row.projection.workspace).starts_with(&cwd));
    if args.json {
        return print(&runs.iter().map(object).collect::<Vec<_>>());
    }
    if runs.is_empty() {
        note("no runs");
        return Ok(Exit::Completed);
    }
    print(&table(here.screen, &runs, words::now()))
}

fn object(run: &Listed) -> String {
    let shown = &run.row.projection;
    let data = json!({
        "status": run.status,
        "resumable": run.status == "crashed",
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
    envelope("run", Moment(shown.updated_ms), Some(&run.row.id), data)
}

const TITLES: [&str; 7] = ["RUN", "STATUS", "WORKFLOW", "DRIVER", "TURN", "COST", "AGE"];

fn table(screen: Screen, runs: &[Listed], now: Moment) -> Vec<String> {
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
    lines.extend(rows.iter().zip(runs).map(|(row, run)| join(row, &run.row.projection.input)));
    lines
}

fn row(run: &Listed, now: Moment) -> [String; 7] {
    let shown = &run.row.projection;
    let status = match (run.status.as_str(), &shown.reason) {
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
        shown.cost_usd.map_or("-".to_owned(), |usd| format!("${usd:.2}")),
        words::ago(now.since(Moment(shown.started_ms))),
    ]
}
