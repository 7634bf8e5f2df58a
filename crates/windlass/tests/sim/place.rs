//! The setup that the tests of the binary share: a sealed place with a script for the `sim` driver, the
//! binary in it, and its output.
//!
//! - [`Place`]: `go` runs `windlass` to its end and `start` leaves it running. `requests` returns the
//!   requests to the agent, byte for byte.
//! - [`Ran`]: the exit code, the output, and the JSON lines of `--json`.
//! - [`Going`]: a running `windlass`. A test can wait for a line, send a signal, or wait for its end.
//!
//! Every wait has a deadline.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::wait::until;
use windlass_testkit::{Sealed, eventually, procs};

/// No command of these tests takes longer, on a busy machine neither.
pub(crate) const LIMIT: Duration = Duration::from_secs(40);

/// The marker that completes a loop.
pub(crate) const DONE: &str = "<!-- WORKFLOW_COMPLETE -->";

/// The `sim` driver, and waits that do not hold a test up.
const SETTINGS: &str = "driver = \"sim\"\nretry_delay = \"20ms\"\nrate_limit_wait = \"50ms\"\ngrace = \"400ms\"\n\
    durability = \"normal\"\n";

/// A step that completes the loop.
pub(crate) fn done() -> Value {
    json!({"tracker": {"append": DONE}})
}

/// A step that says this.
pub(crate) fn say(text: &str) -> Value {
    json!({"say": text})
}

/// A turn that completes the loop.
pub(crate) fn last_turn() -> Value {
    json!({"steps": [done(), say("All done.")]})
}

/// A turn that leaves a trace and does not complete the loop.
pub(crate) fn busy_turn() -> Value {
    json!({"steps": [{"tracker": {"append": "- turn ${ITERATION}"}}, say("More is left.")]})
}

/// A sealed place in which `windlass` plays a script.
pub(crate) struct Place {
    pub(crate) sealed: Sealed,
    count: AtomicU32,
}

impl Place {
    /// A place whose agent plays these turns.
    pub(crate) fn playing(turns: Value) -> Place {
        let place = Place::with_settings("");
        place.script(json!({"turns": turns}));
        place
    }

    /// A place with these workflow documents; every agent says that it is fine.
    pub(crate) fn with_documents(documents: &[&str]) -> Place {
        let place = Place::with_settings("");
        place.script(json!({"default": {"steps": [say("Fine.")]}}));
        for text in documents {
            let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
            place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
        }
        place
    }

    /// A place with more lines in the user's settings, and no script yet.
    pub(crate) fn with_settings(more: &str) -> Place {
        let sealed = Sealed::in_memory();
        sealed.write("config/windlass/config.toml", format!("{SETTINGS}{more}"));
        Place { sealed, count: AtomicU32::new(0) }
    }

    /// Writes the script.
    pub(crate) fn script(&self, script: Value) {
        self.sealed.write("script.json", script.to_string());
    }

    /// Writes a project workflow, to be run with `--workflow`.
    pub(crate) fn workflow(&self, workflow: Value) {
        let name = workflow["name"].as_str().expect("a workflow has a name").to_owned();
        self.sealed.write(format!("repo/.windlass/workflows/{name}.json"), workflow.to_string());
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.sealed.repo()
    }

    /// `windlass` with these arguments, its agent playing the script.
    pub(crate) fn windlass(&self, arguments: &[&str]) -> Command {
        let mut command = self.sealed.command(env!("CARGO_BIN_EXE_windlass"));
        command.env("WINDLASS_SIM_SCRIPT", self.sealed.root().join("script.json"));
        command.env("WINDLASS_SIM_LOG", self.sealed.root().join("requests.jsonl"));
        // `formats` runs cases once more in the other format.
        if let Some(format) = std::env::var_os("WINDLASS_SIM_FORMAT") {
            command.env("WINDLASS_SIM_FORMAT", format);
        }
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs `windlass` to its end.
    #[track_caller]
    pub(crate) fn go(&self, arguments: &[&str]) -> Ran {
        self.start(arguments).end()
    }

    /// Leaves `windlass` running.
    #[track_caller]
    pub(crate) fn start(&self, arguments: &[&str]) -> Going {
        self.spawn(self.windlass(arguments))
    }

    /// Leaves a command running, its output in files.
    #[track_caller]
    pub(crate) fn spawn(&self, mut command: Command) -> Going {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] = ["out", "err"].map(|name| self.sealed.root().join(format!("{name}.{number}")));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Going { child: command.spawn().expect("windlass starts"), stdout, stderr }
    }

    /// Returns the requests to the agent, turn by turn.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sealed.root().join("requests.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a request is JSON")).collect()
    }

    /// The prompts of all requests.
    pub(crate) fn prompts(&self) -> Vec<String> {
        self.requests().iter().map(|request| request["prompt"].as_str().unwrap().to_owned()).collect()
    }

    /// The tracker of a run.
    pub(crate) fn tracker(&self, run: &str) -> PathBuf {
        self.repo().join(format!(".windlass/runs/{run}/loop-tracker.md"))
    }

    /// The tracker's text.
    #[track_caller]
    pub(crate) fn tracker_text(&self, run: &str) -> String {
        fs::read_to_string(self.tracker(run)).expect("the tracker is there")
    }

    /// A file of the repository, once it is there and not empty.
    #[track_caller]
    pub(crate) fn file(&self, name: &str) -> String {
        let path = self.repo().join(name);
        eventually(LIMIT, || fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
    }

    /// Waits until a file of the repository is there.
    #[track_caller]
    pub(crate) fn file_exists(&self, name: &str) {
        let path = self.repo().join(name);
        until(LIMIT, || path.exists());
    }

    /// The hosts of this place. They have no environment to be known by, but a folder.
    pub(crate) fn hosts(&self) -> Vec<procs::Proc> {
        self.called("host")
    }

    /// The guards of the hosts.
    pub(crate) fn guards(&self) -> Vec<procs::Proc> {
        self.called("keep")
    }

    fn called(&self, word: &str) -> Vec<procs::Proc> {
        let folder = format!(" {word} {}/", self.sealed.root().display());
        procs::all().into_iter().filter(|process| process.command.contains(&folder)).collect()
    }

    /// Kills every host of this place.
    pub(crate) fn kill_hosts(&self) {
        kill_all(&self.hosts());
    }

    /// Kills the guards of the hosts: with a host killed right after, nobody clears up behind it.
    pub(crate) fn kill_guards(&self) {
        kill_all(&self.guards());
    }

    /// Waits until nothing that was started here is alive, and names what is.
    #[track_caller]
    pub(crate) fn assert_nothing_is_left(&self) {
        let begun = Instant::now();
        loop {
            let left = [self.sealed.processes(), self.hosts(), self.guards()].concat();
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(5), "still alive: {left:#?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills a `windlass` that runs, all hosts, guards and agents, without a chance to say a word.
    #[track_caller]
    pub(crate) fn kill_everything(&self, going: Going) {
        going.signal(Signal::KILL);
        // Guards first: nobody clears up behind a host that is killed right after.
        let (guards, hosts) = (self.guards(), self.hosts());
        kill_all(&guards);
        kill_all(&hosts);
        let others = self.sealed.processes();
        for process in &others {
            self.sealed.kill9(process.pid);
        }
        going.end();
        // A process that is ending holds its locks for a moment.
        let killed = [guards, hosts, others].concat();
        until(LIMIT, || !killed.iter().any(|process| procs::is_alive(process.pid)));
    }

    /// Returns the runs that `ps` lists, newest first.
    #[track_caller]
    pub(crate) fn ps(&self) -> Vec<Value> {
        let listed = self.go(&["ps", "--json"]);
        assert_eq!(listed.code, 0, "{listed}");
        listed.lines
    }
}

fn kill_all(processes: &[procs::Proc]) {
    for process in processes {
        // Gone already is as good as killed.
        let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
    }
}

/// Every run that a test has recorded is decided once more, from its log alone, and alike.
impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.sealed.state().join("windlass/windlass.db").exists() {
            return;
        }
        let lines = |arguments: &[&str]| {
            let output = self.windlass(arguments).output().expect("windlass starts");
            json_lines(&String::from_utf8_lossy(&output.stdout))
        };
        for listed in lines(&["ps", "--json"]) {
            let Some(run) = listed["run"].as_str() else { continue };
            for replayed in lines(&["replay", run, "--json"]) {
                let differences = replayed["data"]["differences"].as_array();
                assert_eq!(differences.map_or(0, Vec::len), 0, "replay of run {run}: {replayed}");
            }
        }
    }
}

/// A `windlass` that runs.
pub(crate) struct Going {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Going {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// The whole JSON lines printed so far.
    pub(crate) fn lines(&self) -> Vec<Value> {
        json_lines(&read(&self.stdout))
    }

    /// Returns the standard output so far.
    pub(crate) fn output(&self) -> String {
        read(&self.stdout)
    }

    /// The file of its standard output.
    pub(crate) fn output_file(&self) -> &Path {
        &self.stdout
    }

    /// Returns the standard error so far.
    pub(crate) fn errors(&self) -> String {
        read(&self.stderr)
    }

    /// The first line of this type, once it is there; its `data`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, kind: &str) -> Value {
        let story = |going: &Going| format!("{}\n{}", read(&going.stdout), read(&going.stderr));
        eventually(LIMIT, || {
            let found = self.lines().into_iter().find(|line| line["type"] == kind);
            let over = found.is_none() && self.child.try_wait().unwrap().is_some();
            let found = found.or_else(|| self.lines().into_iter().find(|line| line["type"] == kind));
            assert!(!over || found.is_some(), "windlass ended without `{kind}`:\n{}", story(self));
            found
        })["data"]
            .clone()
    }

    /// The id of the run, once it has one.
    #[track_caller]
    pub(crate) fn run(&mut self) -> String {
        self.wait_for("run.started");
        self.lines()[0]["run"].as_str().unwrap().to_owned()
    }

    /// Waits until this holds or the process has ended. Returns whether it holds and the process lives.
    #[track_caller]
    pub(crate) fn wait_for_end_or(&mut self, holds: impl Fn() -> bool) -> bool {
        eventually(LIMIT, || match self.child.try_wait().unwrap() {
            Some(_) => Some(false),
            None => holds().then_some(true),
        })
    }

    /// Types on its standard input, which must be a pipe.
    pub(crate) fn types(&mut self, keys: &[u8]) {
        // Somebody who is dead reads nothing.
        let _ = self.child.stdin.as_mut().expect("a pipe").write_all(keys);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).unwrap(), signal).unwrap();
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ran {
        let status = eventually(LIMIT, || self.child.try_wait().unwrap());
        let (stdout, stderr) = (read(&self.stdout), read(&self.stderr));
        Ran { status, code: status.code().unwrap_or(-1), lines: json_lines(&stdout), stdout, stderr }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A `windlass` that has ended.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) lines: Vec<Value>,
}

impl Ran {
    /// The `data` of every line of this type.
    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
    }

    /// The `data` of the one line that says how the run ended.
    #[track_caller]
    pub(crate) fn finished(&self) -> &Value {
        let run = self.run();
        let is_end = |line: &&Value| line["type"] == "run.finished" && line["run"] == run;
        let ends: Vec<&Value> = self.lines.iter().filter(is_end).map(|line| &line["data"]).collect();
        assert_eq!(ends.len(), 1, "{self}");
        ends[0]
    }

    /// The run's id.
    #[track_caller]
    pub(crate) fn run(&self) -> &str {
        self.lines.first().and_then(|line| line["run"].as_str()).unwrap_or_else(|| panic!("no run: {self}"))
    }

    /// That the run ended so, after so many iterations.
    #[track_caller]
    pub(crate) fn assert_ended(&self, code: i32, status: &str, reason: &str, iterations: u32) {
        let end = self.finished();
        let found = (self.code, &end["status"], &end["reason"], &end["iterations"], &end["exit_code"]);
        assert_eq!(found, (code, &json!(status), &json!(reason), &json!(iterations), &json!(code)), "{self}");
    }

    /// That it was refused before a run, with this in the text, a hint and this code.
    #[track_caller]
    pub(crate) fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self}");
        assert!(self.stderr.starts_with("error: ") || self.stderr.contains("\nerror: "), "{self}");
        assert!(self.stderr.contains("hint: "), "no hint: {self}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing: {self}");
        }
        assert!(self.all("run.started").is_empty(), "{self}");
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Waits until a process is gone.
#[track_caller]
pub(crate) fn assert_gone(pid: i32) {
    until(Duration::from_secs(5), || !procs::is_alive(pid));
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn json_lines(text: &str) -> Vec<Value> {
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The name that the simulated agent gives to one of Claude Code's tools, in the format that it speaks.
pub(crate) fn called(tool: &str) -> &str {
    if std::env::var_os("WINDLASS_SIM_FORMAT").is_none() {
        return tool;
    }
    match tool {
        "Bash" => "shell",
        "WebFetch" => "web_fetch",
        other => other,
    }
}
