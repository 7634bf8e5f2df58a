//! The stage of a test: a sealed place with the real CLI, `windlass` run to its end or left running, and what
//! came of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use windlass_testkit::procs::{self, Proc};
use windlass_testkit::{Model, Sealed, eventually, soon, wait};

/// The deadline of whatever takes some turns of the CLI on a busy machine.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A place with the real CLI in it.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
    codex: PathBuf,
}

impl Stage {
    pub(crate) fn new(codex: PathBuf) -> Stage {
        Stage { sealed: Sealed::new(), codex }
    }

    /// Makes a command of `windlass` on Codex, with JSON output.
    pub(crate) fn command(&self, model: &Model, words: &[&str]) -> Command {
        let mut command = self.sealed.windlass_with_agent("codex", model);
        let (verb, rest) = words.split_first().unwrap();
        command.arg(verb).args(["--json", "--driver", "codex", "--agent-bin"]).arg(&self.codex).args(rest);
        command
    }

    /// Writes a workflow of these nodes, and returns its path.
    pub(crate) fn workflow(&self, nodes: &str) -> String {
        let file = self.sealed.write("flow.yaml", format!("name: flow\nnodes:\n{nodes}"));
        file.to_str().unwrap().to_owned()
    }

    /// Runs a workflow of these nodes to its end.
    pub(crate) fn run(&self, model: &Model, nodes: &str, flags: &[&str]) -> Ended {
        self.start(self.of_nodes(model, nodes, flags)).end()
    }

    /// Makes a command that runs a workflow of these nodes.
    pub(crate) fn of_nodes(&self, model: &Model, nodes: &str, flags: &[&str]) -> Command {
        let mut words = vec!["run", "--workflow"];
        let file = self.workflow(nodes);
        words.push(&file);
        words.extend(flags);
        self.command(model, &words)
    }

    /// Starts it and lets it run.
    pub(crate) fn start(&self, mut command: Command) -> Started {
        let fresh = |kind: &str| {
            let name = |nth: usize| self.sealed.root().join(format!("{kind}-{nth}.txt"));
            (0..).map(name).find(|file| !file.exists()).unwrap()
        };
        let (stdout, stderr) = (fresh("out"), fresh("err"));
        command.stdin(Stdio::null());
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        Started { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// Another command of `windlass`, to its end.
    pub(crate) fn windlass(&self, model: &Model, words: &[&str]) -> Ended {
        let mut command = self.sealed.windlass_with_agent("codex", model);
        command.args(words);
        self.start(command).end()
    }

    /// Every file below the user's folder of Codex, with its bytes.
    pub(crate) fn users_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.sealed.home().join(".codex")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push((path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        found.sort();
        found
    }

    /// The CLI's process, once it is there.
    pub(crate) fn cli(&self) -> Proc {
        let is_cli = |p: &Proc| p.command.contains("exec --json") && !p.command.contains("windlass host");
        eventually(soon(), || self.sealed.processes().into_iter().find(is_cli))
    }

    /// Whatever is alive of this place: by its home, and hosts by the folder they were given.
    pub(crate) fn alive(&self) -> Vec<Proc> {
        let root = self.sealed.root().display().to_string();
        let all = procs::with_variable("HOME", &format!("{root}/home")).into_iter();
        let hosts = procs::all().into_iter().filter(|p| p.command.contains(&root));
        all.chain(hosts).collect()
    }

    /// Waits until nothing of the place is alive.
    #[track_caller]
    pub(crate) fn assert_nobody_left(&self) {
        let begun = Instant::now();
        while !self.alive().is_empty() {
            assert!(begun.elapsed() < soon(), "left behind: {:?}", self.alive());
            std::thread::yield_now();
        }
    }

    pub(crate) fn repo(&self, file: &str) -> PathBuf {
        self.sealed.repo().join(file)
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
        let _ = kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal);
    }

    /// Returns the JSON lines printed so far.
    pub(crate) fn so_far(&self) -> Vec<Value> {
        lines(&fs::read_to_string(&self.stdout).unwrap())
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
        wait::until(MINUTE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let code = status.and_then(|status| status.code());
        Ended { code, stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

/// What came of a command.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// The data of each line of a type, in order.
    pub(crate) fn of(&self, kind: &str) -> Vec<Value> {
        lines(&self.stdout)
            .into_iter()
            .filter(|line| line["type"] == kind)
            .map(|line| line["data"].clone())
            .collect()
    }

    /// The name of the run.
    pub(crate) fn run(&self) -> String {
        let name = |line: Value| line["run"].as_str().map(str::to_owned);
        lines(&self.stdout).into_iter().find_map(name).unwrap_or_else(|| panic!("{}", self.story()))
    }

    /// Code, status and reason.
    #[track_caller]
    pub(crate) fn assert_ended(&self, code: i32, status: &str, reason: &str) {
        let finished = self.of("run.finished").pop().unwrap_or_default();
        let seen = json!([self.code, finished["status"], finished["reason"]]);
        assert_eq!(seen, json!([code, status, reason]), "{}", self.story());
    }

    /// The tools and decisions about calls of them, in order.
    pub(crate) fn decisions(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.of("hook.decision").into_iter();
        all.map(|data| {
            (
                text(if data["tool"].is_null() { &data["asked"] } else { &data["tool"] }),
                text(&data["decision"]),
            )
        })
        .collect()
    }

    /// Everything, for the message of an assertion.
    pub(crate) fn story(&self) -> String {
        let short = |line: &str| line.chars().take(600).collect::<String>();
        let out: Vec<String> = self.stdout.lines().map(short).collect();
        format!("exit {:?}\n{}\n--- stderr\n{}", self.code, out.join("\n"), self.stderr)
    }
}

fn lines(text: &str) -> Vec<Value> {
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Makes a folder outside the workspace and all temporary folders.
pub(crate) fn outside() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}
