//! The table in `docs/drivers.md`. With `WINDLASS_TEST_UPDATE` set, the test writes it.

use std::fs;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drivers.md");
const BEGIN: &str = "<!-- conformance -->\n";
const END: &str = "<!-- end of conformance -->\n";

/// Compares the published table with the one of this run.
pub(crate) fn assert_published(table: &str) {
    let page = fs::read_to_string(Path::new(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (found, after) = rest.split_once(END).expect("the place for the table ends");
    if std::env::var_os("WINDLASS_TEST_UPDATE").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    let update = "WINDLASS_TEST_UPDATE=1 cargo test -p windlass --test conformance";
    assert!(found == table, "docs/drivers.md does not have the table of this run: run `{update}`");
}
