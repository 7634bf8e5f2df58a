//! The table of `windlass doctor --conformance`: a line for each behaviour, a column for each driver, and the reasons
//! as notes below it. A table that is too wide for the terminal becomes several.

use windlass_pawl::conformance::{Behaviour, CellOutcome, ConformanceCell, SuiteDriver};

use super::super::fit;
use super::super::sanitize::plain_line;
use super::super::terminal::{Terminal, TextTone};
use super::conformance::{PlayedSuite, failure};

/// The blanks between two columns.
const GAP: &str = "  ";

/// Returns the lines about everything that was played.
pub(super) fn lines(screen: Terminal, suite: &PlayedSuite) -> Vec<String> {
    let mut notes = Vec::new();
    let columns: Vec<SuiteColumn> =
        suite.drivers.iter().map(|driver| SuiteColumn::of(suite, driver, &mut notes)).collect();
    let mut lines = versions(suite);
    for table in split(&columns, screen.limit()) {
        lines.push(String::new());
        lines.extend(rows(screen, table));
    }
    lines.push(String::new());
    let notes = notes.iter().enumerate().map(|(nth, note)| format!("({}) {}", nth + 1, plain_line(note)));
    lines.extend(notes);
    lines.push(String::new());
    lines.extend(verdict(screen, suite));
    fit::wrap_all(&lines, 4, screen.limit())
}

fn versions(suite: &PlayedSuite) -> Vec<String> {
    let all = suite.drivers.iter().chain(&suite.missing);
    let width = all.map(|driver| driver.title.len()).max().unwrap_or(0);
    let line =
        |driver: &&SuiteDriver, what: &str| format!("{:width$}{GAP}{}", driver.title, plain_line(what));
    let found = suite.drivers.iter().map(|driver| line(driver, suite.version(driver)));
    found.chain(suite.missing.iter().map(|driver| line(driver, "not installed"))).collect()
}

/// A column of the table.
struct SuiteColumn {
    title: &'static str,
    cells: Vec<String>,
    width: usize,
}

impl SuiteColumn {
    fn of(suite: &PlayedSuite, driver: &SuiteDriver, notes: &mut Vec<String>) -> SuiteColumn {
        let cell = |behaviour: &Behaviour| word(suite.cell(driver, *behaviour), notes);
        let cells: Vec<String> = Behaviour::ALL.iter().map(cell).collect();
        let width = cells.iter().map(String::len).chain([driver.title.len()]).max().unwrap_or(0);
        SuiteColumn { title: driver.title, cells, width }
    }
}

/// Returns the text of a cell. A reason becomes a note, and equal reasons become one.
fn word(cell: Option<&ConformanceCell>, notes: &mut Vec<String>) -> String {
    let mut number = |text: &String| {
        let known = notes.iter().position(|note| note == text);
        known.unwrap_or_else(|| {
            notes.push(text.clone());
            notes.len() - 1
        }) + 1
    };
    match cell.map(|cell| &cell.outcome) {
        None => "-".to_owned(),
        Some(CellOutcome::Passed) => "yes".to_owned(),
        Some(CellOutcome::PassedBut(what)) => format!("yes ({})", number(what)),
        Some(CellOutcome::NotPossible(why)) => format!("no ({})", number(why)),
        Some(CellOutcome::Failed(_)) => "FAILED".to_owned(),
    }
}

/// Splits the columns into tables that fit.
fn split(columns: &[SuiteColumn], limit: Option<usize>) -> Vec<&[SuiteColumn]> {
    let (mut tables, mut rest) = (Vec::new(), columns);
    while !rest.is_empty() {
        let mut width = head_width();
        let fits = |column: &&SuiteColumn| {
            width += GAP.len() + column.width;
            limit.is_none_or(|limit| width <= limit)
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (table, others) = rest.split_at(count);
        tables.push(table);
        rest = others;
    }
    tables
}

fn head_width() -> usize {
    Behaviour::ALL.iter().map(|behaviour| behaviour.title().len()).max().unwrap_or(0)
}

fn rows(screen: Terminal, columns: &[SuiteColumn]) -> Vec<String> {
    let width = head_width();
    let line = |head: &str, cells: Vec<&str>| {
        let padded = cells.iter().zip(columns).map(|(cell, column)| {
            let text = format!("{cell:0$}", column.width);
            if *cell == "FAILED" { screen.paint(TextTone::Bad, &text) } else { text }
        });
        format!("{head:width$}{GAP}{}", padded.collect::<Vec<_>>().join(GAP)).trim_end().to_owned()
    };
    let head = line("", columns.iter().map(|column| column.title).collect());
    let body = Behaviour::ALL.iter().enumerate().map(|(nth, behaviour)| {
        let cells = columns.iter().map(|column| column.cells.get(nth).map_or("", String::as_str));
        line(behaviour.title(), cells.collect())
    });
    std::iter::once(head).chain(body).collect()
}

fn verdict(screen: Terminal, suite: &PlayedSuite) -> Vec<String> {
    let failed = suite.failed();
    let (all, seconds) = (suite.cells.len(), suite.took.as_secs());
    if failed.is_empty() {
        return vec![format!("{} nothing failed: {all} checks in {seconds} s", screen.check(true))];
    }
    let mut lines: Vec<String> = failed
        .iter()
        .map(|cell| {
            let why = cell.outcome.note().unwrap_or_default();
            format!("{} {}", screen.check(false), failure(cell, why))
        })
        .collect();
    lines.push(format!("{} of {all} checks failed in {seconds} s", failed.len()));
    lines.push(
        "    hint: `windlass doctor --conformance --json` shows everything about a failed check".to_owned(),
    );
    lines
}
