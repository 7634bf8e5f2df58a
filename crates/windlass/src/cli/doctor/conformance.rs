//! `windlass doctor --conformance`: plays the conformance suite with the installed agent CLIs, and shows the cells.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_pawl::conformance::{
    Behaviour, CellOutcome, ConformanceCell, ConformanceSuite, InstalledCli, SUITE_DRIVERS, SuiteDriver,
    SuiteProgress,
};
use windlass_runtime::demo::SUITE_PREFIX;
use windlass_runtime::doctor::{DriverReport, doctor, git_report};

use super::super::drive::RunSignals;
use super::super::feed::{envelope, words};
use super::super::invocation::{Invocation, print, waiting_runtime};
use super::super::report::{Report, note, send_to_terminal};
use super::super::sanitize::{plain_line, plain_short};
use super::super::temporary_folder::TemporaryFolder;
use super::suite_table;
use crate::exit::Exit;

/// Clears the line of the terminal.
const CLEAR: &str = "\r\u{1b}[K";

/// Plays the suite.
pub(super) fn perform(invocation: &Invocation, names: &[String], is_json: bool) -> Result<Exit, Report> {
    // Some scenes answer, cancel and resume, which agents may not.
    invocation.refuse_agents("test the agent CLIs")?;
    let wanted = chosen(names)?;
    if let Some(problem) = git_report(&invocation.home, &invocation.cwd).problem {
        let text = format!("the tests of the agent CLIs need git: {}", plain_line(&problem));
        return Err(Report::new(Exit::Configuration, text).hint("install git"));
    }
    if let Some(width) = ProgressLine::width(invocation) {
        // Each tells its version, which takes a moment.
        send_to_terminal(&plain_short("looking for the agent CLIs ...", width));
    }
    let reports = doctor(&invocation.home);
    let installed = |driver: &&SuiteDriver| {
        reports.iter().any(|report| report.ok && report.program.is_some() && report.name == driver.cli)
    };
    let (drivers, missing): (Vec<_>, Vec<_>) = wanted.into_iter().partition(installed);
    let progress = ProgressLine::new(invocation, is_json, &drivers);
    progress.clear();
    if drivers.is_empty() {
        let names: Vec<&str> = missing.iter().map(|driver| driver.title).collect();
        let text = format!("no agent CLI to test is installed: {}", names.join(", "));
        return Err(Report::new(Exit::Agent, text).hint("`windlass doctor` says how to install each"));
    }
    let began = Instant::now();
    let cells = play(invocation, &reports, &drivers, &progress)?;
    let suite = PlayedSuite { reports, drivers, missing, cells, took: began.elapsed() };
    match is_json {
        true => print(&[suite.object()])?,
        false => print(&suite_table::lines(invocation.screen, &suite))?,
    };
    Ok(if suite.failed().is_empty() { Exit::Completed } else { Exit::Agent })
}

/// Returns the drivers to play: those of a name or a title, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static SuiteDriver>, Report> {
    let is_of = |driver: &SuiteDriver, name: &String| driver.name == name || driver.title == name;
    for name in names {
        if !SUITE_DRIVERS.iter().any(|driver| is_of(driver, name)) {
            let mut known: Vec<&str> = SUITE_DRIVERS.iter().map(|driver| driver.name).collect();
            known.dedup();
            let text = format!("`--driver {}` cannot be tested", plain_line(name));
            return Err(Report::usage(text).hint(format!("there are: {}", known.join(", "))));
        }
    }
    let is_chosen = |driver: &&&SuiteDriver| names.is_empty() || names.iter().any(|name| is_of(driver, name));
    Ok(SUITE_DRIVERS.iter().filter(is_chosen).copied().collect())
}

/// Plays in a temporary folder until everything is played, or until a signal stops it. Both leave nothing behind.
fn play(
    invocation: &Invocation,
    reports: &[DriverReport],
    drivers: &[&'static SuiteDriver],
    progress: &ProgressLine,
) -> Result<Vec<ConformanceCell>, Report> {
    let windlass = std::env::current_exe().map_err(|error| {
        Report::new(Exit::Unexpected, "cannot find the windlass program").caused_by(&error)
    })?;
    let runtime = waiting_runtime()?;
    let mut signals = runtime.block_on(async { RunSignals::listen() })?;
    let folder = TemporaryFolder::build(&invocation.home.temp, SUITE_PREFIX)?;
    let cli = |report: &DriverReport| {
        let program = report.program.clone().filter(|_| report.ok)?;
        Some(InstalledCli { name: report.name.to_owned(), program })
    };
    let suite = ConformanceSuite {
        windlass,
        folder: folder.path().to_owned(),
        path: invocation.home.var("PATH").unwrap_or_default().into(),
        clis: reports.iter().filter_map(cli).collect(),
        drivers: drivers.to_vec(),
    };
    let stop = AtomicBool::new(false);
    let cells = std::thread::scope(|scope| {
        let (done, ended) = tokio::sync::oneshot::channel();
        let stop = &stop;
        scope.spawn(move || {
            let _ = done.send(suite.play(stop, &|step| progress.tell(step)));
        });
        runtime.block_on(async move {
            tokio::pin!(ended);
            tokio::select! {
                cells = &mut ended => cells,
                _ = signals.next() => {
                    stop.store(true, Ordering::SeqCst);
                    progress.clear();
                    note("stopping; Windlass ends the agents and removes their files");
                    ended.await
                }
            }
        })
    });
    progress.clear();
    folder.remove();
    if stop.load(Ordering::SeqCst) {
        return Err(Report::new(Exit::Interrupted, "interrupted before all behaviours were tested"));
    }
    cells.map_err(|_| Report::new(Exit::Unexpected, "the conformance suite ended without a result"))
}

/// Everything that came of the suite.
pub(super) struct PlayedSuite {
    reports: Vec<DriverReport>,
    pub(super) drivers: Vec<&'static SuiteDriver>,
    pub(super) missing: Vec<&'static SuiteDriver>,
    pub(super) cells: Vec<ConformanceCell>,
    pub(super) took: std::time::Duration,
}

impl PlayedSuite {
    /// Returns the version of the CLI of a driver.
    pub(super) fn version(&self, driver: &SuiteDriver) -> &str {
        let report = self.reports.iter().find(|report| report.name == driver.cli);
        report.and_then(|report| report.version.as_deref()).unwrap_or("unknown version")
    }

    pub(super) fn failed(&self) -> Vec<&ConformanceCell> {
        self.cells.iter().filter(|cell| matches!(cell.outcome, CellOutcome::Failed(_))).collect()
    }

    pub(super) fn cell(&self, driver: &SuiteDriver, behaviour: Behaviour) -> Option<&ConformanceCell> {
        self.cells.iter().find(|cell| cell.driver == driver.title && cell.behaviour == behaviour)
    }

    /// Returns the last line for programs.
    fn object(&self) -> String {
        let mut counts: BTreeMap<&str, usize> =
            ["passed", "not_possible", "failed"].map(|word| (word, 0)).into();
        self.cells.iter().for_each(|cell| *counts.entry(cell.outcome.word()).or_default() += 1);
        let driver = |driver: &&SuiteDriver| {
            let version = self.version(driver);
            json!({"driver": driver.title, "cli": driver.cli, "version": version})
        };
        let mut data = json!({
            "drivers": self.drivers.iter().map(driver).collect::<Vec<Value>>(),
            "not_installed": self.missing.iter().map(|driver| driver.title).collect::<Vec<_>>(),
            "took_ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        });
        if let Value::Object(map) = &mut data {
            map.extend(counts.into_iter().map(|(word, count)| (word.to_owned(), count.into())));
        }
        envelope("conformance", words::now(), None, data)
    }
}

/// Shows the progress: a line of the terminal that changes, or a line for each scene and each failure.
struct ProgressLine {
    is_json: bool,
    /// The width of the terminal, if a line can change.
    redraws: Option<usize>,
    of: usize,
    /// The number of known cells.
    known: Mutex<usize>,
}

impl ProgressLine {
    fn new(invocation: &Invocation, is_json: bool, drivers: &[&SuiteDriver]) -> ProgressLine {
        let redraws = ProgressLine::width(invocation);
        ProgressLine { is_json, redraws, of: drivers.len() * Behaviour::ALL.len(), known: Mutex::new(0) }
    }

    /// Returns the width of the terminal on standard error, if a line of it can change.
    fn width(invocation: &Invocation) -> Option<usize> {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        (is_terminal && invocation.screen.redraws).then_some(invocation.screen.width)
    }

    fn tell(&self, step: SuiteProgress<'_>) {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match step {
            SuiteProgress::Starts(driver, behaviours) => {
                let text = format!("{} of {}: {driver}: {}", *known, self.of, behaviours.join(", "));
                match self.redraws {
                    Some(width) => {
                        send_to_terminal(&format!("{CLEAR}{}", plain_short(&text, width.saturating_sub(1))));
                    }
                    None if self.is_json => {}
                    None => note(&text),
                }
            }
            SuiteProgress::Ended(cell) => {
                *known += 1;
                if self.is_json {
                    // A reader that has left stops the suite at its end.
                    let _ = print(&[cell_object(cell)]);
                } else if let CellOutcome::Failed(why) = &cell.outcome {
                    self.clear();
                    note(&format!("failed: {}", failure(cell, why)));
                }
            }
        }
    }

    fn clear(&self) {
        if self.redraws.is_some() {
            send_to_terminal(CLEAR);
        }
    }
}

/// Describes a failed cell on one line.
pub(super) fn failure(cell: &ConformanceCell, why: &str) -> String {
    let first = why.lines().next().unwrap_or_default();
    format!("{}, {}: {}", cell.driver, cell.behaviour.title(), plain_line(first))
}

fn cell_object(cell: &ConformanceCell) -> String {
    let data = json!({
        "driver": cell.driver,
        "behaviour": cell.behaviour.title(),
        "outcome": cell.outcome.word(),
        "note": cell.outcome.note(),
    });
    envelope("conformance.cell", words::now(), None, data)
}
