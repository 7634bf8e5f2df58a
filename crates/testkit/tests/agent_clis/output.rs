//! Runs a CLI to its end, and reads the lines of JSON that it printed.

use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;
use windlass_testkit::env::{story, text};

/// The end of a CLI.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    pub(crate) story: String,
}

/// Runs a CLI without input.
pub(crate) fn run(mut command: Command) -> Printed {
    let output = command.stdin(Stdio::null()).output().expect("the CLI starts");
    let lines = text(&output.stdout);
    let events = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Printed { code: output.status.code(), events, story: story(&output) }
}

/// Starts a CLI that the test will kill.
pub(crate) fn start(mut command: Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("the CLI starts"))
}

/// A running CLI. It is killed when dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Kills the CLI and waits for it.
    pub(crate) fn kill(&mut self) -> ExitStatus {
        self.0.kill().expect("the CLI can be killed");
        self.0.wait().expect("the CLI ends")
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("the CLI can be asked").is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Printed {
    /// Returns the events of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the only event of a type.
    #[track_caller]
    pub(crate) fn only(&self, kind: &str) -> &Value {
        let found = self.of(kind);
        assert_eq!(found.len(), 1, "events of type {kind}: {}", self.story);
        found[0]
    }
}
