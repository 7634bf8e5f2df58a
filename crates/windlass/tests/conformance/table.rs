//! The table of the cells, in Markdown.

use std::collections::BTreeMap;

use crate::cells::{Cell, Outcome};
use crate::drivers::DRIVERS;
use crate::scenes::SCENES;

/// Returns a table with a line for each behaviour and a column for each driver. Reasons are notes below it.
pub(crate) fn of(cells: &[Cell]) -> String {
    let mut notes = Notes::default();
    let mut rows = vec![row("behaviour", DRIVERS.iter().map(|driver| driver.title.to_owned()))];
    rows.push(row("---", DRIVERS.iter().map(|_| "---".to_owned())).replace(' ', ""));
    for behaviour in SCENES.iter().flat_map(|scene| scene.shows) {
        let word = |title: &str| {
            let of = |cell: &&Cell| cell.driver == title && cell.behaviour == *behaviour;
            cells.iter().find(of).map_or_else(|| "**missing**".to_owned(), |cell| notes.word(&cell.outcome))
        };
        rows.push(row(behaviour.title(), DRIVERS.iter().map(|driver| driver.title).map(word)));
    }
    let notes = notes.lines();
    format!("{}\n{}{notes}", rows.join("\n"), if notes.is_empty() { "" } else { "\n" })
}

fn row(head: &str, cells: impl Iterator<Item = String>) -> String {
    format!("| {head} | {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// The reasons, each with its number.
#[derive(Default)]
struct Notes(BTreeMap<usize, String>);

impl Notes {
    fn word(&mut self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::PassedBut(what) => format!("passed ({})", self.number(what)),
            Outcome::Skipped(why) => format!("skipped: {}", self.number(why)),
            Outcome::Failed(_) => "**failed**".to_owned(),
        }
    }

    fn number(&mut self, text: &str) -> usize {
        let known = self.0.iter().find(|(_, note)| *note == text).map(|(number, _)| *number);
        known.unwrap_or_else(|| {
            let next = self.0.len() + 1;
            self.0.insert(next, text.to_owned());
            next
        })
    }

    fn lines(&self) -> String {
        self.0.iter().map(|(number, note)| format!("{number}. {note}\n")).collect()
    }
}
