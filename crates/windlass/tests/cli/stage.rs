//! A sealed place, the binary and a script for sim.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use windlass_testkit::env::{Sealed, story, text};
use windlass_testkit::wait::{eventually, soon};

/// A sealed place for one test.
pub(crate) struct Stage {
    pub(crate) place: Sealed,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        Stage { place: Sealed::in_memory() }
    }

    /// With what the agent does in its first iteration.
    pub(crate) fn playing(steps: Value) -> Stage {
        Stage::scripted(json!({ "turns": [{ "steps": steps }] }))
    }

    /// With a whole script.
    pub(crate) fn scripted(script: Value) -> Stage {
        let stage = Stage::new();
        stage.place.write("script.json", script.to_string());
        stage
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.windlass();
        command.args(args).env("WINDLASS_SIM_SCRIPT", self.place.root().join("script.json"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Output {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a command that must succeed, and returns its JSON lines.
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let output = self.run(args);
        assert!(output.status.success(), "{}", story(&output));
        lines(&output)
    }

    /// The newest run, once it stands so.
    pub(crate) fn newest(&self, status: &str) -> String {
        eventually(soon(), || {
            let runs = self.json(&["ps", "--json"]);
            let newest = runs.first()?;
            (newest["data"]["status"] == status).then(|| newest["run"].as_str().unwrap().to_owned())
        })
    }

    /// Waits until the agent of the newest run has said this.
    pub(crate) fn wait_until_said(&self, text: &str) -> String {
        eventually(soon(), || {
            let run = self.json(&["ps", "--json"]).first()?["run"].as_str()?.to_owned();
            let told = self.run(&["logs", &run]);
            String::from_utf8_lossy(&told.stdout).contains(text).then_some(run)
        })
    }
}

/// Every run that a test has recorded is decided once more, from its log alone, and alike.
impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.place.state().join("windlass/windlass.db").exists() {
            return;
        }
        let read = |args: &[&str]| -> Vec<Value> {
            let output = self.run(args);
            text(&output.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
        };
        for listed in read(&["ps", "--json"]) {
            let Some(run) = listed["run"].as_str() else { continue };
            for replayed in read(&["replay", run, "--json"]) {
                let differences = replayed["data"]["differences"].as_array();
                assert_eq!(differences.map_or(0, Vec::len), 0, "replay of run {run}: {replayed}");
            }
        }
    }
}

/// JSON lines that were printed.
pub(crate) fn lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks the exit code. A failure prints the whole output.
pub(crate) fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", story(output));
}

/// The step that marks the work as done.
pub(crate) fn done() -> Value {
    json!({ "tracker": { "append": "<!-- WORKFLOW_COMPLETE -->" } })
}
