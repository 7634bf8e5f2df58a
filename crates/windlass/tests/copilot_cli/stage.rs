//! The stage of a test: a sealed place with the real CLI in it, and `windlass` run to its end.
//!
//! What the model says is each test's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::procs::{self, Proc};
use windlass_testkit::programs::cache_folder;
use windlass_testkit::{Model, Request, Sealed, Turn, plugin, reply, shell, soon, wait};

/// The deadline of whatever takes some turns of the CLI on a busy machine.
pub(crate) const MINUTE: Duration = Duration::from_secs(90);
/// The input that the user types.
pub(crate) const INPUT: &str = "login flow on xyz.com";

/// A place with the real CLI in it.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
    copilot: PathBuf,
}

impl Stage {
    pub(crate) fn new(copilot: PathBuf) -> Stage {
        let stage = Stage { sealed: Sealed::new(), copilot };
        // What a person has who has used the CLI before.
        stage.users("config.json", "// Managed.\n{\"firstLaunchAt\": \"2026-01-01T00:00:00.000Z\"}\n");
        stage.users("settings.json", r#"{"banner": "never"}"#);
        stage
    }

    /// Writes a file of the user's own home folder of the CLI.
    pub(crate) fn users(&self, name: &str, text: &str) {
        self.sealed.write(Path::new("home/.copilot").join(name), text);
    }

    /// Returns every file of the user's own home folder of the CLI, with its content.
    pub(crate) fn users_files(&self) -> Vec<(PathBuf, String)> {
        let mut files = files_below(&self.sealed.home().join(".copilot"));
        files.sort();
        files
    }

    /// Writes the tracker workflow as a plugin, and returns its folder.
    pub(crate) fn plugin(&self, workflow: &Value) -> String {
        plugin::e2e_test_builder(workflow).write(self.sealed.root()).display().to_string()
    }

    /// `windlass run INPUT --json` with these flags.
    pub(crate) fn command(&self, model: &Model, input: &str, flags: &[&str]) -> Command {
        let mut command = self.windlass(model);
        command.args(["run", input, "--json", "--driver", "copilot", "--agent-bin"]).arg(&self.copilot);
        command.args(flags);
        command
    }

    /// A command of `windlass` in the environment of the model.
    pub(crate) fn windlass(&self, model: &Model) -> Command {
        let mut command = self.sealed.windlass();
        command.envs(self.sealed.agent_env("copilot", model));
        // The CLI unpacks itself there, once.
        command.envs(cache_folder().map(|cache| ("COPILOT_CACHE_HOME", cache.join("copilot-unpacked"))));
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, model: &Model, flags: &[&str]) -> Ended {
        self.start(self.command(model, INPUT, flags)).end()
    }

    /// Starts a command and lets it run.
    pub(crate) fn start(&self, mut command: Command) -> Started {
        let name = |nth: usize| self.sealed.root().join(format!("out-{nth}.txt"));
        let stdout = (0..).map(name).find(|file| !file.exists()).unwrap();
        let stderr = stdout.with_extension("err");
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Started { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// Returns the folder of a turn.
    pub(crate) fn turn(&self, run: &str, turn: &str) -> PathBuf {
        self.sealed.state().join("windlass/runs").join(run).join(turn)
    }

    /// Returns what is alive of this place.
    pub(crate) fn alive(&self) -> Vec<Proc> {
        let root = self.sealed.root().display().to_string();
        let all = procs::with_variable("HOME", &format!("{root}/home")).into_iter();
        let mut alive: Vec<Proc> =
            all.chain(procs::all().into_iter().filter(|p| p.command.contains(&root))).collect();
        alive.dedup_by_key(|p| p.pid);
        alive
    }

    /// Waits until nothing of the place is alive.
    #[track_caller]
    pub(crate) fn assert_nobody_left(&self) {
        wait::until(soon(), || self.alive().is_empty());
    }

    /// Asserts that the repository has nothing but what Windlass and the test made there.
    #[track_caller]
    pub(crate) fn assert_repository_has_only(&self, made: &[&str]) {
        let status = self.sealed.git(["status", "--porcelain", "--ignored"]);
        let found: Vec<&str> =
            status.lines().map(|line| &line[3..]).filter(|name| !name.starts_with(".windlass")).collect();
        assert_eq!(found, made, "{status}");
    }
}

fn files_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![(path.clone(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned())],
        })
        .collect()
}

/// A `windlass` that runs.
pub(crate) struct Started {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Started {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let _ = kill_process(pid, signal);
    }

    /// Returns the JSON lines printed so far. The last line may be half written.
    pub(crate) fn so_far(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.stdout).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + MINUTE;
        let mut status = None;
        while status.is_none() && Instant::now() < deadline {
            status = self.child.try_wait().unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
        if status.is_none() {
            let _ = self.child.kill();
        }
        let code = self.child.wait().unwrap().code();
        let ended = Ended { code, lines: self.so_far(), stderr: fs::read_to_string(&self.stderr).unwrap() };
        assert!(status.is_some(), "it did not end\n{}", ended.story());
        ended
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

    /// Exit code, status, reason and iterations: how the run ended.
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

    /// Everything, for the message of an assertion.
    pub(crate) fn story(&self) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|line| line.to_string().chars().take(600).collect()).collect();
        format!("exit {:?}\n{}\n--- stderr\n{}", self.code, lines.join("\n"), self.stderr)
    }
}

/// A workflow of one turn.
pub(crate) fn one_turn() -> Value {
    let mut workflow = plugin::tracker_workflow();
    workflow["loop"] = json!({"enabled": false});
    workflow
}

/// The tracker that the prompt of a request speaks of.
fn tracker_of(request: &Request) -> String {
    let prompt = request.first_user_text();
    let rest = prompt.split("in the tracker ").nth(1).unwrap_or_else(|| panic!("no tracker in {prompt}"));
    rest.split(": its body").next().unwrap().to_owned()
}

/// The model appends a line to the tracker, by its shell.
pub(crate) fn append(line: &'static str) -> Turn {
    reply(move |request| shell(format!("echo '{line}' >> '{}'", tracker_of(request))))
}
