//! A recorded log as text: one JSON value a line.
//!
//! A line is a file of the place, a worktree of its repository, a run as lists show it, or, after its run, a
//! record as it was stored. `{ROOT}`, `{WINDLASS}` and `{HEAD}` stand for the sealed place, the binary and
//! the first commit of the repository.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windlass_core::id::RunId;
use windlass_store::{NewRun, Projection, RunRow, Store};
use windlass_testkit::windlass_bin;

use crate::scene::Stage;

pub(crate) struct Fixture {
    lines: Vec<String>,
}

impl Fixture {
    pub(crate) fn read(file: &Path) -> Fixture {
        Fixture { lines: fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect() }
    }

    pub(crate) fn write(&self, file: &Path) {
        fs::write(file, self.lines.join("\n") + "\n").unwrap();
    }

    fn values(&self) -> Vec<Value> {
        self.lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The version of its records.
    pub(crate) fn version(&self) -> u64 {
        self.values().iter().find_map(|line| line["v"].as_u64()).unwrap()
    }

    /// The run that the others were started from.
    pub(crate) fn first_run(&self) -> &str {
        let first = self.lines.iter().find_map(|line| line.strip_prefix(r#"{"run":""#)).unwrap();
        first.split('"').next().unwrap()
    }

    /// Changes the first record with this text, and returns its number in its run.
    pub(crate) fn replace(&mut self, from: &str, to: &str) -> usize {
        let at =
            self.lines.iter().position(|line| line.contains(from) && line.starts_with(r#"{"v":"#)).unwrap();
        self.lines[at] = self.lines[at].replacen(from, to, 1);
        self.lines[..=at].iter().rev().take_while(|line| line.starts_with(r#"{"v":"#)).count()
    }

    /// Records everything in a stage whose owner is dead: files, worktrees and the store.
    pub(crate) fn record(stage: &Stage) -> Fixture {
        let mut lines = Vec::new();
        for path in stage.files() {
            let text = fs::read_to_string(stage.sealed.root().join(&path)).unwrap();
            lines.push(json!({"file": path, "text": text}).to_string());
        }
        for (folder, branch) in stage.worktrees() {
            lines.push(json!({"worktree": folder, "branch": branch}).to_string());
        }
        let store = Store::open(&stage.state()).unwrap();
        for row in store.runs().unwrap().into_iter().rev() {
            lines.push(row_line(&row));
            let records = store.read_from(&row.id, 1, usize::MAX).unwrap();
            lines.extend(records.into_iter().map(|record| String::from_utf8(record.body).unwrap()));
        }
        let fill = Fill::of(stage);
        Fixture { lines: lines.iter().map(|line| fill.take_out(line)).collect() }
    }

    /// Puts it into a fresh place.
    pub(crate) fn restore(&self, stage: &Stage) {
        let fill = Fill::of(stage);
        let lines: Vec<String> = self.lines.iter().map(|line| fill.put_in(line)).collect();
        let mut runs: Vec<NewRun> = Vec::new();
        for line in lines {
            let value: Value = serde_json::from_str(&line).unwrap();
            if let Some(path) = value["file"].as_str() {
                stage.sealed.write(path, value["text"].as_str().unwrap());
            } else if let Some(folder) = value["worktree"].as_str() {
                stage.sealed.git([
                    "worktree",
                    "add",
                    "-b",
                    value["branch"].as_str().unwrap(),
                    folder,
                    "main",
                ]);
            } else if let Some(run) = value["run"].as_str() {
                let id = RunId::new(run);
                runs.push(NewRun { id, projection: projection(&value), bodies: Vec::new(), spending: None });
            } else {
                runs.last_mut().unwrap().bodies.push(line.into_bytes());
            }
        }
        let store = Store::open(&stage.state()).unwrap();
        for run in runs {
            drop(store.create_run(run).unwrap());
        }
    }
}

fn row_line(row: &RunRow) -> String {
    let row_of = &row.projection;
    // The id comes first, so that it is found without reading the line.
    let rest = json!({
        "workflow": row_of.workflow, "workspace": row_of.workspace, "driver": row_of.driver,
        "status": row_of.status, "iteration": row_of.iteration, "started_ms": row_of.started_ms,
        "updated_ms": row_of.updated_ms, "input": row_of.input, "parent": row_of.parent,
    });
    format!(r#"{{"run":"{}",{}"#, row.id, rest.to_string().trim_start_matches('{'))
}

fn projection(line: &Value) -> Projection {
    let text = |name: &str| line[name].as_str().unwrap().to_owned();
    Projection {
        workflow: text("workflow"),
        workspace: text("workspace"),
        driver: text("driver"),
        status: text("status"),
        reason: None,
        iteration: u32::try_from(line["iteration"].as_u64().unwrap()).unwrap(),
        cost: Default::default(),
        started_ms: line["started_ms"].as_i64().unwrap(),
        updated_ms: line["updated_ms"].as_i64().unwrap(),
        input: text("input"),
        parent: line["parent"].as_str().map(RunId::new),
    }
}

/// The values that differ between stages, to fill into a fixture.
struct Fill {
    root: String,
    head: String,
    windlass: String,
    /// The copies of the binary that runs of the place used.
    pinned: Vec<String>,
}

impl Fill {
    fn of(stage: &Stage) -> Fill {
        let bin = stage.state().join("bin");
        let copies =
            fs::read_dir(bin).into_iter().flatten().map(|entry| entry.unwrap().path().join("windlass"));
        Fill {
            root: stage.sealed.root().to_str().unwrap().to_owned(),
            head: stage.sealed.git(["rev-list", "--max-parents=0", "HEAD"]),
            windlass: windlass_bin().to_str().unwrap().to_owned(),
            pinned: copies.map(|copy| copy.to_str().unwrap().to_owned()).collect(),
        }
    }

    fn take_out(&self, line: &str) -> String {
        let line = self.pinned.iter().fold(line.to_owned(), |line, copy| line.replace(copy, "{WINDLASS}"));
        line.replace(&self.windlass, "{WINDLASS}").replace(&self.root, "{ROOT}").replace(&self.head, "{HEAD}")
    }

    fn put_in(&self, line: &str) -> String {
        line.replace("{WINDLASS}", &self.windlass).replace("{ROOT}", &self.root).replace("{HEAD}", &self.head)
    }
}
