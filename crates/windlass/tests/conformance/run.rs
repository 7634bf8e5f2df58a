//! Runs `windlass doctor --conformance --json` with the CLIs of the tests first on the `PATH`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use windlass_testkit::env::{story, text};
use windlass_testkit::programs::on_path;
use windlass_testkit::{Sealed, agents};

/// Names the drivers to play (`codex,gemini`), so that one can be looked at alone.
const ONLY: &str = "WINDLASS_TEST_DRIVERS";

/// What came of the suite.
pub(crate) struct Suite {
    /// The titles of the drivers, in order.
    pub(crate) drivers: Vec<String>,
    pub(crate) not_installed: Vec<String>,
    pub(crate) cells: Vec<Cell>,
}

/// What came of one behaviour with one driver.
pub(crate) struct Cell {
    pub(crate) driver: String,
    pub(crate) behaviour: String,
    /// `passed`, `not_possible` or `failed`.
    pub(crate) outcome: String,
    pub(crate) note: Option<String>,
}

impl Cell {
    /// Returns what failed.
    pub(crate) fn failure(&self) -> Option<String> {
        let note = self.note.as_deref().unwrap_or_default();
        (self.outcome == "failed").then(|| format!("{}, {}: {note}", self.driver, self.behaviour))
    }
}

impl Suite {
    /// Decides whether every CLI was played.
    pub(crate) fn is_complete(&self) -> bool {
        self.not_installed.is_empty() && only().is_empty()
    }
}

/// Returns the installed CLIs of the tests, with their names.
pub(crate) fn agents() -> Vec<(&'static str, PathBuf)> {
    agents::all().filter_map(|agent| Some((agent.name, agent.bin()?))).collect()
}

fn only() -> Vec<String> {
    let names = std::env::var(ONLY).unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Runs the suite in a home of its own.
pub(crate) fn play(agents: &[(&str, PathBuf)]) -> Suite {
    let sealed = Sealed::new();
    let mut command = sealed.windlass();
    command.env("PATH", path(&sealed, agents));
    command.args(["doctor", "--conformance", "--json"]).stdin(Stdio::null());
    for name in only() {
        command.args(["--driver", &name]);
    }
    let output = command.output().unwrap();
    let lines: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.last().unwrap_or_else(|| panic!("nothing was printed: {}", story(&output)));
    assert_eq!(last["type"], "conformance", "{}", story(&output));
    let of_cells = lines.iter().filter(|line| line["type"] == "conformance.cell");
    let suite = Suite {
        drivers: texts(&last["data"]["drivers"], "driver"),
        not_installed: texts(&last["data"]["not_installed"], ""),
        cells: of_cells.map(|line| cell(&line["data"])).collect(),
    };
    let failed = suite.cells.iter().any(|cell| cell.failure().is_some());
    assert_eq!(output.status.code(), Some(if failed { 4 } else { 0 }), "{}", text(&output.stderr));
    assert!(sealed.processes().is_empty(), "left behind: {:?}", sealed.processes());
    suite
}

/// Returns a `PATH` with these CLIs and no other: a CLI of the machine must not stand in for one of the tests.
fn path(sealed: &Sealed, agents: &[(&str, PathBuf)]) -> OsString {
    let programs = sealed.root().join("programs");
    fs::create_dir(&programs).unwrap();
    // The folder of a CLI of the machine may also have the program that runs the CLIs of the tests.
    let node = on_path("node").map(|node| ("node", node));
    for (name, bin) in agents.iter().cloned().chain(node) {
        symlink(bin, programs.join(name)).unwrap();
    }
    let machine = std::env::var_os("PATH").unwrap_or_default();
    let has_none = |folder: &PathBuf| agents::all().all(|agent| !folder.join(agent.name).exists());
    let folders = std::env::split_paths(&machine).filter(has_none);
    std::env::join_paths(std::iter::once(programs).chain(folders)).unwrap()
}

fn cell(data: &Value) -> Cell {
    let text = |name: &str| data[name].as_str().unwrap().to_owned();
    let note = data["note"].as_str().map(str::to_owned);
    Cell { driver: text("driver"), behaviour: text("behaviour"), outcome: text("outcome"), note }
}

/// Returns the texts of a list, or of a field of its objects.
fn texts(list: &Value, field: &str) -> Vec<String> {
    let of = |entry: &Value| entry.get(field).unwrap_or(entry).as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(of).collect()
}
