//! `windlass doctor --conformance` with the agent CLIs of the tests, and its table in `docs/drivers.md`.
//!
//! The scenes are in `crates/pawl/src/conformance`. This test runs them as a person does, prints the table, and
//! compares it with the published one. No cell is empty, and none has failed.

#[cfg(test)]
mod published;
#[cfg(test)]
mod run;
#[cfg(test)]
mod table;

#[cfg(test)]
#[test]
fn every_driver_behaves_the_same() {
    let agents: Vec<_> = run::agents();
    if agents.is_empty() {
        windlass_testkit::skip!("{}", windlass_testkit::agents::Agent::named("claude").why_not());
    }
    let suite = run::play(&agents);
    let table = table::of(&suite);
    windlass_testkit::programs::note_table(&table);
    let failed: Vec<String> = suite.cells.iter().filter_map(run::Cell::failure).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert!(!table.contains("missing"), "a cell is empty:\n{table}");
    if suite.is_complete() {
        published::assert_published(&table);
    }
}
