//! The table of the cells, in Markdown.

use windlass_pawl::conformance::Behaviour;

use crate::run::{Cell, Suite};

/// Returns a table with a line for each behaviour and a column for each driver. Reasons are notes below it.
pub(crate) fn of(suite: &Suite) -> String {
    let mut notes = Vec::new();
    let mut rows = vec![row("behaviour", suite.drivers.clone())];
    rows.push(row("---", vec!["---".to_owned(); suite.drivers.len()]).replace(' ', ""));
    for title in Behaviour::ALL.map(Behaviour::title) {
        let of = |driver: &String| {
            let found = suite.cells.iter().find(|cell| cell.driver == *driver && cell.behaviour == title);
            found.map_or_else(|| "**missing**".to_owned(), |cell| word(cell, &mut notes))
        };
        rows.push(row(title, suite.drivers.iter().map(of).collect()));
    }
    let notes: String =
        notes.iter().enumerate().map(|(nth, note)| format!("{}. {note}\n", nth + 1)).collect();
    format!("{}\n{}{notes}", rows.join("\n"), if notes.is_empty() { "" } else { "\n" })
}

fn row(head: &str, cells: Vec<String>) -> String {
    format!("| {head} | {} |", cells.join(" | "))
}

fn word(cell: &Cell, notes: &mut Vec<String>) -> String {
    let word = match cell.outcome.as_str() {
        "failed" => return "**failed**".to_owned(),
        word => word.replace('_', " "),
    };
    let Some(note) = &cell.note else { return word };
    let known = notes.iter().position(|known| known == note);
    let number = known.unwrap_or_else(|| {
        notes.push(note.clone());
        notes.len() - 1
    });
    format!("{word} ({})", number + 1)
}
