//! The stage of a test: a sealed place, the real CLI in it, `windlass` run to its end or left
//! running, and what came of it.
//!
//! What the model says is each test's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::procs::{self, Proc};
use windlass_testkit::{Model, Request, Sealed, Turn, eventually, plugin, reply, soon, tool, wait};

/// The deadline of whatever takes some turns of the CLI on a busy machine.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
/// The input that the user types.
pub(crate) const INPUT: &str = "login flow on xyz.com";

/// A place with the real CLI in it.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
    claude: PathBuf,
}

impl Stage {
    pub(crate) fn new(claude: PathBuf) -> Stage {
        Stage::in_place(Sealed::new(), claude)
    }

    pub(crate) fn in_place(sealed: Sealed, claude: PathBuf) -> Stage {
        Stage { sealed, claude }
    }

    /// Wraps the CLI so that it never ends by itself nor when asked to.
    pub(crate) fn with_stubborn_agent(mut self) -> Stage {
        let text = format!(
            "#!/bin/sh\ntrap '' TERM\n'{}' \"$@\"\nwhile :; do sleep 1; done\n",
            self.claude.display()
        );
        self.claude = PathBuf::from(self.script("stubborn.sh", &text));
        self
    }

    /// Writes the plugin `e2e-test-builder` with this workflow, and says where it is.
    pub(crate) fn plugin(&self, workflow: &Value) -> String {
        path(&plugin::e2e_test_builder(workflow).write(self.sealed.root()))
    }

    /// `windlass run INPUT --json` with these flags.
    pub(crate) fn command(&self, model: &Model, input: &str, flags: &[&str]) -> Command {
        let mut command = self.sealed.windlass_with(model);
        command.args(["run", input, "--json", "--driver", "claude", "--agent-bin"]).arg(&self.claude);
        command.args(flags);
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, model: &Model, flags: &[&str]) -> Ended {
        self.start(self.command(model, INPUT, flags)).end()
    }

    /// Starts it and lets it run.
    pub(crate) fn start(&self, mut command: Command) -> Started {
        let (stdout, stderr) = (self.fresh_file("out"), self.fresh_file("err"));
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Started { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// `windlass resume --json`, in the environment of the model.
    pub(crate) fn resume(&self, model: &Model) -> Started {
        let mut command = self.sealed.windlass_with(model);
        command.args(["resume", "--json"]);
        self.start(command)
    }

    /// Another command of `windlass`, to its end.
    pub(crate) fn windlass(&self, arguments: &[&str]) -> Ended {
        let mut command = self.sealed.windlass();
        command.args(arguments);
        self.start(command).end()
    }

    fn fresh_file(&self, kind: &str) -> PathBuf {
        let name = |nth: usize| self.sealed.root().join(format!("{kind}-{nth}.txt"));
        (0..).map(name).find(|file| !file.exists()).unwrap()
    }

    /// The text of the tracker of the only run.
    pub(crate) fn tracker(&self) -> String {
        let runs = fs::read_dir(self.sealed.repo().join(".windlass/runs")).unwrap();
        let files = runs.map(|run| run.unwrap().path().join("loop-tracker.md"));
        let found: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        fs::read_to_string(&found[0]).unwrap()
    }

    /// Returns the exit record of the CLI for one turn of a run.
    pub(crate) fn cli_exit(&self, run: &str, turn: &str) -> Value {
        let folder = self.sealed.state().join("windlass/runs").join(run).join(turn);
        serde_json::from_str(&fs::read_to_string(folder.join("exit.json")).unwrap()).unwrap()
    }

    /// The host of the turn under way, once it is there.
    pub(crate) fn host(&self) -> Proc {
        eventually(soon(), || self.alive().into_iter().find(|p| p.command.contains("/windlass host ")))
    }

    /// The CLI's process, once it is there. A child that it is about to start looks like it for a
    /// moment, so it is found by its parent.
    pub(crate) fn cli(&self) -> Proc {
        let host = self.host().pid;
        let is_cli = |p: &Proc| p.parent == host && p.command.contains("stream-json");
        eventually(soon(), || self.sealed.processes().into_iter().find(is_cli))
    }

    /// Whatever is alive of this place: by its home, and hosts by the folder they were given.
    pub(crate) fn alive(&self) -> Vec<Proc> {
        let root = self.sealed.root().display().to_string();
        let home = format!("{root}/home");
        let all = procs::with_variable("HOME", &home).into_iter();
        let hosts = procs::all().into_iter().filter(|p| p.command.contains(&root));
        let mut alive: Vec<Proc> = all.chain(hosts).collect();
        alive.dedup_by_key(|p| p.pid);
        alive
    }

    /// Makes a script below the root and says where it is.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let file = self.sealed.write(name, text);
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path(&file)
    }
}

/// A `windlass` that runs.
pub(crate) struct Started {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Started {
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Kills it and leaves its children behind.
    pub(crate) fn kill9(mut self) -> Ended {
        self.signal(Signal::KILL);
        let status = self.child.wait().unwrap();
        self.ended(status)
    }

    /// Returns the JSON lines printed so far.
    pub(crate) fn so_far(&self) -> Vec<Value> {
        lines(&fs::read_to_string(&self.stdout).unwrap())
    }

    /// Returns the standard error so far.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits for a line of this type.
    #[track_caller]
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        eventually(MINUTE, || self.so_far().into_iter().find(|line| line["type"] == kind))
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        let deadline = Instant::now() + MINUTE;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        let Some(status) = status else {
            let _ = self.child.kill();
            let status = self.child.wait().unwrap();
            panic!("it did not end\n{}", self.ended(status).story());
        };
        self.ended(status)
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        Ended { code: status.code(), lines: self.so_far(), stderr: self.said() }
    }
}

/// The exit code and the output of a `windlass` that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Ended {
    /// The data of every line of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
    }

    pub(crate) fn run(&self) -> String {
        let first = self.lines.first().unwrap_or_else(|| panic!("nothing was printed\n{}", self.story()));
        first["run"].as_str().unwrap().to_owned()
    }

    /// Exit code, status, reason and iterations: how the run ended. One that it started ends before.
    #[track_caller]
    pub(crate) fn assert_ended(&self, code: i32, status: &str, reason: &str, iterations: u32) {
        let finished = self.of("run.finished");
        let finished = finished.last().copied().cloned().unwrap_or_default();
        let seen = json!([self.code, finished["status"], finished["reason"], finished["iterations"]]);
        assert_eq!(seen, json!([code, status, reason, iterations]), "{}", self.story());
    }

    /// Returns the decisions about hooks of this kind, in order.
    pub(crate) fn decisions(&self, asked: &str) -> Vec<&str> {
        let all = self.of("hook.decision").into_iter().filter(|data| data["asked"] == asked);
        all.filter_map(|data| data["decision"].as_str()).collect()
    }

    /// Sessions that were started, in order.
    pub(crate) fn sessions(&self) -> Vec<&str> {
        self.of("session.started").into_iter().filter_map(|data| data["session"].as_str()).collect()
    }

    /// Everything, for the message of an assertion.
    pub(crate) fn story(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(|line| shorten(&line.to_string())).collect();
        format!("exit {:?}\n{}\n--- stderr\n{}", self.code, lines.join("\n"), self.stderr)
    }
}

fn shorten(line: &str) -> String {
    line.chars().take(600).collect()
}

fn lines(text: &str) -> Vec<Value> {
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

pub(crate) fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

pub(crate) fn path(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The tracker that the prompt of a request speaks of.
pub(crate) fn tracker_of(request: &Request) -> String {
    let prompt = request.first_user_text();
    let rest = prompt.split("in the tracker ").nth(1).unwrap_or_else(|| panic!("no tracker in {prompt}"));
    rest.split(": its body").next().unwrap().to_owned()
}

/// The model appends a line to the tracker, by its Bash tool.
pub(crate) fn append(line: &'static str) -> Turn {
    reply(move |request| bash(&format!("echo '{line}' >> '{}'", tracker_of(request))))
}

/// The model runs a command.
pub(crate) fn bash(command: &str) -> Turn {
    tool("Bash", json!({"command": command, "description": "do it"}))
}

/// Waits until nothing of the place is alive.
#[track_caller]
pub(crate) fn assert_nobody_left(stage: &Stage) {
    let begun = Instant::now();
    while begun.elapsed() < soon() {
        if stage.alive().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("left behind: {:?}", stage.alive());
}

/// Waits for a file with something in it.
#[track_caller]
pub(crate) fn wait_for_text(file: &Path) -> String {
    wait::until(MINUTE, || fs::read_to_string(file).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(file).unwrap()
}
