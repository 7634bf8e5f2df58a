//! One set of behaviours, run over the real CLI of every driver on a scripted model.
//!
//! `scenes` has the runs and the behaviours that they show, written once. `drivers` has what differs between
//! drivers, as data. `cells` plays the scenes, two at a time, and `table` prints a line for each behaviour and
//! a column for each driver. No cell is empty: a behaviour passed, passed with a difference that a note names, or
//! was skipped for a reason.

#[cfg(test)]
mod cells;
#[cfg(test)]
mod drivers;
#[cfg(test)]
mod published;
#[cfg(test)]
mod scenes;
#[cfg(test)]
#[path = "../claude_cli/stage.rs"]
#[expect(dead_code, reason = "the stage of another target, of which a part is used")]
mod stage;
#[cfg(test)]
mod subject;
#[cfg(test)]
mod table;

#[cfg(test)]
#[test]
fn every_driver_behaves_the_same() {
    let cells = cells::play_all();
    let table = table::of(&cells);
    windlass_testkit::programs::note_table(&table);
    let failed: Vec<String> = cells.iter().filter_map(cells::Cell::failure).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    if cells.iter().all(|cell| cell.was_played()) {
        published::assert_published(&table);
    }
}
