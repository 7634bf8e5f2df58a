//! The stage of a test: a sealed place, the real OpenCode in it, `windlass` run to its end or left running, and
//! what came of it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::procs::{self, Proc};
use windlass_testkit::{Model, Sealed, eventually, soon};

/// The deadline of whatever takes some turns of OpenCode on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A place with OpenCode in it.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
    opencode: PathBuf,
}

impl Stage {
    pub(crate) fn new(opencode: PathBuf) -> Stage {
        Stage { sealed: Sealed::new(), opencode }
    }

    /// `windlass run INPUT --json` with these flags.
    pub(crate) fn command(&self, model: &Model, input: &str, flags: &[&str]) -> Command {
        let mut command = self.sealed.windlass_with_agent("opencode", model);
        command.args(["run", input, "--json", "--driver", "opencode", "--agent-bin"]).arg(&self.opencode);
        command.args(flags);
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, model: &Model, input: &str, flags: &[&str]) -> Ended {
        self.start(self.command(model, input, flags)).end()
    }

    /// Runs a workflow of one session whose prompt is the input.
    pub(crate) fn run_once(&self, model: &Model, input: &str, flags: &[&str]) -> Ended {
        self.start(self.once(model, input, flags)).end()
    }

    /// A workflow of one session whose prompt is the input.
    pub(crate) fn once(&self, model: &Model, input: &str, flags: &[&str]) -> Command {
        let document = "name: once\nnodes:\n  - prompt: \"{{ input }}\"\n";
        let file = self.sealed.write("once.yaml", document);
        let workflow = ["--workflow", file.to_str().unwrap()];
        self.command(model, input, &[&workflow, flags].concat())
    }

    /// Starts it and lets it run.
    pub(crate) fn start(&self, mut command: Command) -> Started {
        let nth = fs::read_dir(self.sealed.root()).unwrap().count();
        let [stdout, stderr] =
            ["out", "err"].map(|name| self.sealed.root().join(format!("{name}-{nth}.txt")));
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Started { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// `windlass resume --json`, in the environment of the model.
    pub(crate) fn resume(&self, model: &Model) -> Started {
        let mut command = self.sealed.windlass_with_agent("opencode", model);
        command.args(["resume", "--json"]);
        self.start(command)
    }

    /// Everything that git finds in the repository, whether ignored or not, except the files of runs.
    pub(crate) fn changes(&self) -> Vec<String> {
        let status = self.sealed.git(["status", "--porcelain", "--ignored", "--untracked-files=all"]);
        let lines = status.lines().filter(|line| !line.contains(".windlass/"));
        lines.map(str::to_owned).collect()
    }

    /// Whatever is alive of this place: by its home, and hosts by the folder they were given.
    pub(crate) fn alive(&self) -> Vec<Proc> {
        let root = self.sealed.root().display().to_string();
        let all = procs::with_variable("HOME", &format!("{root}/home")).into_iter();
        all.chain(procs::all().into_iter().filter(|p| p.command.contains(&root))).collect()
    }

    /// Waits until nothing of the place is alive.
    #[track_caller]
    pub(crate) fn assert_nobody_left(&self) {
        let deadline = Instant::now() + soon();
        while !self.alive().is_empty() {
            assert!(Instant::now() < deadline, "left behind: {:?}", self.alive());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A `windlass` that runs.
pub(crate) struct Started {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Started {
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Kills it and leaves its children behind.
    pub(crate) fn kill9(mut self) {
        self.signal(Signal::KILL);
        self.child.wait().unwrap();
    }

    /// Waits for a line of this type and returns its data.
    #[track_caller]
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        let lines = || lines(&fs::read_to_string(&self.stdout).unwrap());
        eventually(LONG, || lines().into_iter().find(|line| line["type"] == kind))["data"].clone()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return self.ended(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        panic!("it did not end\n{}", self.ended(status).story());
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(|file| fs::read_to_string(file).unwrap());
        Ended { code: status.code(), lines: lines(&stdout), stderr }
    }
}

fn lines(text: &str) -> Vec<Value> {
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The exit code and the output of a `windlass` that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    lines: Vec<Value>,
    stderr: String,
}

impl Ended {
    /// The data of every line of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
    }

    /// The events of the agent of a kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<&Value> {
        self.of("session.event").into_iter().filter(|event| event["kind"] == kind).collect()
    }

    pub(crate) fn finished(&self) -> &Value {
        self.of("run.finished").last().copied().unwrap_or(&Value::Null)
    }

    /// Exit code, status, reason and iterations: how the run ended.
    #[track_caller]
    pub(crate) fn assert_ended(&self, code: i32, status: &str, reason: &str, iterations: u32) {
        let end = self.finished();
        let seen = json!([self.code, end["status"], end["reason"], end["iterations"]]);
        assert_eq!(seen, json!([code, status, reason, iterations]), "{}", self.story());
    }

    /// The decisions about hooks of this kind, in order.
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
