//! A `windlass` that runs with JSON output, and what it printed until its end.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::ensure::ensure_eq;
use super::place::Place;

/// The deadline of whatever takes some turns of a CLI on a busy machine.
pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// The most characters of a printed line in a message.
const SHOWN: usize = 600;

/// A `windlass` that runs.
pub(super) struct StartedCommand<'p, 'a> {
    place: &'p Place<'a>,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// The exit code and the output of a `windlass` that has ended.
pub(super) struct EndedCommand {
    pub(super) code: Option<i32>,
    pub(super) lines: Vec<Value>,
    pub(super) stderr: String,
}

impl<'p, 'a> StartedCommand<'p, 'a> {
    /// Starts a command in its own process group, so that Ctrl-C in the terminal reaches only the suite.
    pub(super) fn start(place: &'p Place<'a>, mut command: Command) -> Result<Self, String> {
        let name = |nth: u32| place.root().join(format!("out-{nth}.txt"));
        let free = (0..u32::MAX).map(name).find(|file| !file.exists());
        let stdout = free.ok_or("there are too many files of output")?;
        let stderr = stdout.with_extension("err");
        let create = |path: &PathBuf| {
            File::create(path).map_err(|error| format!("cannot create {}: {error}", path.display()))
        };
        command.stdout(create(&stdout)?).stderr(create(&stderr)?).process_group(0);
        let child = command.spawn().map_err(|error| format!("cannot start windlass: {error}"))?;
        Ok(StartedCommand { place, child, stdout, stderr })
    }

    /// Kills it and leaves its children behind.
    pub(super) fn kill(mut self) -> Result<EndedCommand, String> {
        let _ = kill_process(Pid::from_child(&self.child), Signal::KILL);
        let status = self.child.wait().map_err(|error| format!("cannot wait for windlass: {error}"))?;
        Ok(self.ended(status))
    }

    /// Waits until there is an answer. Fails as soon as the command has ended without one.
    pub(super) fn wait_until<T>(
        &mut self,
        what: &str,
        mut ask: impl FnMut() -> Option<T>,
    ) -> Result<T, String> {
        let child = &mut self.child;
        let waited = self.place.wait_for(what, MINUTE, || {
            // In this order, because the answer may come just before the end.
            let has_ended = !matches!(child.try_wait(), Ok(None));
            ask().map(Some).or_else(|| has_ended.then_some(None))
        });
        let answer = waited.and_then(|answer| answer.ok_or_else(|| format!("{what}: windlass ended before")));
        answer.map_err(|why| format!("{why}\n{}", self.so_far(None).story()))
    }

    /// Waits for a line of this type.
    pub(super) fn wait_for(&mut self, kind: &str) -> Result<Value, String> {
        let stdout = self.stdout.clone();
        let is_of = |line: &Value| line.get("type").is_some_and(|of| of == kind);
        self.wait_until(kind, || json_lines(&stdout).into_iter().find(is_of))
    }

    /// Returns the id of the run, once it has started.
    pub(super) fn run_id(&mut self) -> Result<String, String> {
        let started = self.wait_for("run.started")?;
        let id = started.get("run").and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| format!("no id: {started}"))
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Result<EndedCommand, String> {
        let mut status = None;
        let waited = self.place.wait_for("the end of windlass", MINUTE, || {
            status = self.child.try_wait().ok().flatten();
            status
        });
        match waited {
            Ok(status) => Ok(self.ended(status)),
            Err(why) => {
                let _ = self.child.kill();
                let _ = self.child.wait();
                Err(format!("{why}\n{}", self.so_far(None).story()))
            }
        }
    }

    fn ended(&self, status: ExitStatus) -> EndedCommand {
        self.so_far(status.code())
    }

    fn so_far(&self, code: Option<i32>) -> EndedCommand {
        let stderr = fs::read_to_string(&self.stderr).unwrap_or_default();
        EndedCommand { code, lines: json_lines(&self.stdout), stderr }
    }
}

/// Returns the JSON lines of a file. The last one may be half written.
fn json_lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or_default();
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line))).collect()
}

impl Drop for StartedCommand<'_, '_> {
    /// A scene that fails leaves no process behind that somebody would have to reap.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl EndedCommand {
    /// Returns the data of every line of a type.
    pub(super) fn of(&self, kind: &str) -> Vec<&Value> {
        let of_kind = self.lines.iter().filter(|line| line.get("type").is_some_and(|of| of == kind));
        of_kind.filter_map(|line| line.get("data")).collect()
    }

    /// Returns a field of the last `run.finished`. A run that this one started ends before.
    pub(super) fn finished(&self, field: &str) -> Value {
        let last = self.of("run.finished").last().copied();
        last.and_then(|data| data.get(field)).cloned().unwrap_or_default()
    }

    /// Checks how the run ended: exit code, status, reason and iterations.
    pub(super) fn ensure_ended(
        &self,
        code: i32,
        status: &str,
        reason: &str,
        iterations: u32,
    ) -> Result<(), String> {
        let [of_status, of_reason, of_iterations] =
            ["status", "reason", "iterations"].map(|field| self.finished(field));
        let found = json!([self.code, of_status, of_reason, of_iterations]);
        ensure_eq!(found, json!([code, status, reason, iterations]), "{}", self.story());
        Ok(())
    }

    /// Checks that the run completed with one turn.
    pub(super) fn ensure_completed(&self) -> Result<(), String> {
        self.ensure_ended(0, "completed", "turn_done", 1)
    }

    /// Returns the decisions about hooks of this kind, in order.
    pub(super) fn decisions(&self, asked: &str) -> Vec<&str> {
        let all = self.of("hook.decision").into_iter();
        let asked = all.filter(|data| data.get("asked").is_some_and(|of| of == asked));
        asked.filter_map(|data| data.get("decision")?.as_str()).collect()
    }

    /// Returns the kinds of what the agent reported, in order.
    pub(super) fn event_kinds(&self) -> Vec<&str> {
        let events = self.of("session.event").into_iter();
        events.filter_map(|event| event.get("kind")?.as_str()).collect()
    }

    /// Describes everything, for a message.
    pub(super) fn story(&self) -> String {
        let shorten = |line: &Value| line.to_string().chars().take(SHOWN).collect::<String>();
        let lines: Vec<String> = self.lines.iter().map(shorten).collect();
        format!("exit {:?}\n{}\n--- stderr\n{}", self.code, lines.join("\n"), self.stderr)
    }
}
