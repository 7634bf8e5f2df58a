//! The scenes: how each is begun, where everything in it is killed, and how it ends when it is resumed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use windlass_testkit::{Sealed, eventually, procs, wait::until};

/// No command of these tests takes longer, on a busy machine neither.
const LIMIT: Duration = Duration::from_secs(60);

const SETTINGS: &str = r#"driver = "sim"
retry_delay = "20ms"
grace = "400ms"
durability = "normal"

[permissions]
ask = ["Bash(touch pushed)"]
"#;

/// One scene.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    /// Files of the place before it begins: path and text. `$ROOT` is the place itself.
    files: &'static [(&'static str, &'static str)],
    /// The arguments it is begun with.
    start: &'static [&'static str],
    /// Commands of a person during the run, each sent when the run waits. The run comes after the first
    /// word.
    meanwhile: &'static [&'static [&'static str]],
    /// Everything is killed once this file is there, or this line is printed.
    until: Until,
    /// The command of a person before the run is resumed. The run comes after the first word.
    person: &'static [&'static str],
    /// Status and reason at its end.
    end: (&'static str, &'static str),
}

enum Until {
    File(&'static str),
    Line(&'static str),
}

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "turn",
        files: &[(
            "script.json",
            r#"{"turns": [
                {"steps": [
                    {"write": {"path": "a.txt", "content": "x"}},
                    {"tool": {"name": "WebFetch", "input": {"url": "http://x.invalid"}, "result": "page"}},
                    {"bash": "echo hello"},
                    {"tracker": {"append": "- one"}},
                    {"say": "More is left."}]},
                {"steps": [
                    {"bash": "touch $ROOT/sign"},
                    {"wait_for": "$ROOT/go"},
                    {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}},
                    {"say": "All done."}]}]}"#,
        )],
        start: &["loop", "work", "--isolation", "strict", "--check", "test -e a.txt"],
        meanwhile: &[],
        until: Until::File("sign"),
        person: &[],
        end: ("completed", "marker"),
    },
    Scene {
        name: "question",
        files: &[("script.json", ASKING)],
        start: &["loop", "work", "--on-question", "wait"],
        meanwhile: &[],
        until: Until::Line("run.waiting"),
        person: &["answer", "Blue"],
        end: ("completed", "marker"),
    },
    Scene {
        name: "permission",
        files: &[(
            "script.json",
            r#"{"turns": [{"steps": [
                {"bash": "touch pushed"}, {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}}]}]}"#,
        )],
        start: &["loop", "work", "--on-permission", "ask"],
        meanwhile: &[],
        until: Until::Line("run.waiting"),
        person: &["approve"],
        end: ("completed", "marker"),
    },
    Scene {
        name: "answered",
        files: &[(
            "script.json",
            r#"{"turns": [{"steps": [
                {"ask": {"question": "Which colour?", "options": ["Red", "Blue"]}},
                {"bash": "touch pushed"},
                {"bash": "touch $ROOT/sign"},
                {"wait_for": "$ROOT/go"},
                {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}}]}]}"#,
        )],
        start: &["loop", "work", "--on-question", "wait", "--on-permission", "ask", "--mode", "in_session"],
        meanwhile: &[&["answer", "Red"], &["approve", "--deny", "not today"]],
        until: Until::File("sign"),
        person: &[],
        end: ("completed", "marker"),
    },
    Scene {
        name: "ask",
        files: &[("script.json", r#"{"turns": []}"#), ("repo/.windlass/workflows/ship.yaml", SHIP)],
        start: &["run", "--workflow", "ship", "--on-question", "wait"],
        meanwhile: &[],
        until: Until::Line("run.waiting"),
        person: &["answer", "yes"],
        end: ("completed", "all_done"),
    },
    Scene {
        name: "tasks",
        files: &[
            ("script.json", TASK_TURNS),
            (
                "repo/tasks.json",
                r#"{"version": "1.0", "tasks": [
                    {"id": "1", "name": "One", "status": "pending", "dependencies": []},
                    {"id": "2", "name": "Two", "status": "pending", "dependencies": []},
                    {"id": "3", "name": "Three", "status": "pending", "dependencies": ["1"]}]}"#,
            ),
        ],
        start: &["tasks", "run", "--jobs", "2"],
        meanwhile: &[],
        until: Until::File("sign"),
        person: &[],
        end: ("completed", "all_done"),
    },
    Scene {
        name: "conflict",
        files: &[("script.json", CONFLICT_TURNS), ("repo/tasks.json", TWO_TASKS)],
        start: &["tasks", "run", "--jobs", "2"],
        meanwhile: &[],
        until: Until::File("sign"),
        person: &[],
        end: ("completed", "all_done"),
    },
    Scene {
        name: "nodes",
        files: &[
            (
                "script.json",
                r#"{"nodes": {"deep": [{"steps": [
                    {"bash": "touch $ROOT/sign"}, {"wait_for": "$ROOT/go"}, {"say": "Deep."}]}]},
                    "default": {"steps": [{"say": "Fine."}]}}"#,
            ),
            ("repo/.windlass/workflows/outer.yaml", OUTER),
            ("repo/.windlass/workflows/inner.yaml", INNER),
        ],
        start: &["run", "--workflow", "outer"],
        meanwhile: &[],
        until: Until::File("sign"),
        person: &[],
        end: ("completed", "all_done"),
    },
];

const ASKING: &str = r#"{"turns": [{"steps": [
    {"ask": {"question": "Which colour?", "header": "Colour", "options": [
        {"label": "Red", "description": "like a rose"}, {"label": "Blue", "description": ""}]}},
    {"write": {"path": "button.css", "content": "${ANSWER}"}},
    {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}}]}]}"#;

const SHIP: &str = r#"name: ship
nodes:
  - { id: ship, ask: "Ship it?", choices: ["yes", "no"] }
  - { id: deploy, when: outputs.ship.text == "yes", shell: touch deployed }
"#;

/// The first task lands; the second, and the third that waited for it, are held.
const TASK_TURNS: &str = r#"{"nodes": {"implement": [
    {"steps": [{"write": {"path": "a", "content": "x"}}, {"commit": "a"}, {"say": "<status>passing</status>"}]},
    {"steps": [{"wait_for": "$ROOT/go"}, {"write": {"path": "b", "content": "x"}}, {"commit": "b"},
        {"say": "<status>passing</status>"}]},
    {"steps": [{"bash": "touch $ROOT/sign"}, {"wait_for": "$ROOT/go"}, {"write": {"path": "c", "content": "x"}},
        {"commit": "c"}, {"say": "<status>passing</status>"}]}]}}"#;

const TWO_TASKS: &str = r#"{"version": "1.0", "tasks": [
    {"id": "1", "name": "One", "status": "pending", "dependencies": []},
    {"id": "2", "name": "Two", "status": "pending", "dependencies": []}]}"#;

/// The second task cannot be brought back after the first; its next try is held.
const CONFLICT_TURNS: &str = r#"{"nodes": {"implement": [
    {"steps": [{"write": {"path": "README.md", "content": "one"}}, {"commit": "one"},
        {"say": "<status>passing</status>"}]},
    {"steps": [{"write": {"path": "README.md", "content": "two"}}, {"commit": "two"},
        {"bash": "until git -C $ROOT/repo log --format=%s main | grep -q one; do sleep 0.05; done"},
        {"say": "<status>passing</status>"}]},
    {"steps": [{"bash": "touch $ROOT/sign"}, {"wait_for": "$ROOT/go"},
        {"write": {"path": "c", "content": "x"}}, {"commit": "c"}, {"say": "<status>passing</status>"}]}]}}"#;

const OUTER: &str = r#"name: outer
checks: { there: test -e made }
nodes:
  - { id: make, shell: printf x > made }
  - check: [there]
  - { id: broken, shell: "echo oops; exit 3", on_failure: continue }
  - wait: 1ms
  - { id: talk, prompt: "Say something about {{ outputs.make.status }}" }
  - id: both
    parallel: { join: all }
    branches:
      one: [ { id: sub, workflow: inner } ]
      two: [ { id: quick, shell: printf quick } ]
  - { id: last, prompt: "{{ outputs.sub.text }}" }
"#;

const INNER: &str = r#"name: inner
nodes:
  - { id: look, shell: printf seen }
  - { id: deep, prompt: go deep }
"#;

/// A sealed place in which a scene is played.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
}

impl Stage {
    pub(crate) fn new() -> Stage {
        let sealed = Sealed::in_memory();
        sealed.write("config/windlass/config.toml", SETTINGS);
        Stage { sealed }
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.sealed.state().join("windlass")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sealed.root().join(name)
    }

    fn spawn(&self, out: &str, arguments: &[&str]) -> Child {
        let mut command: Command = self.sealed.windlass();
        command.env("WINDLASS_SIM_SCRIPT", self.path("script.json"));
        command.args(arguments).stdin(Stdio::null());
        command.stdout(File::create(self.path(out)).unwrap());
        command.stderr(File::create(self.path(&format!("{out}.err"))).unwrap());
        command.spawn().expect("windlass starts")
    }

    fn printed(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        format!("{}\n{}", read("out"), read("out.err"))
    }

    /// Plays a scene to the point at which everything is killed.
    pub(crate) fn play_and_kill(&self, scene: &Scene) {
        let root = self.sealed.root().to_str().unwrap();
        for (path, text) in scene.files {
            self.sealed.write(path, text.replace("$ROOT", root));
        }
        let mut child = self.spawn("out", &[scene.start, &["--json"]].concat());
        self.say_meanwhile(scene);
        until(LIMIT, || {
            assert_eq!(child.try_wait().unwrap(), None, "it ended:\n{}", self.printed());
            match scene.until {
                Until::File(name) => self.path(name).exists(),
                Until::Line(kind) => self.count(kind) > 0,
            }
        });
        self.kill(&mut child);
    }

    /// Says what people say while it runs. An agent that begins its turn anew asks the same again.
    fn say_meanwhile(&self, scene: &Scene) {
        for (words, said) in scene.meanwhile.iter().zip(1..) {
            until(LIMIT, || self.count("run.waiting") == said);
            let printed = self.printed();
            let run = printed.split(r#""run":""#).nth(1).unwrap().split('"').next().unwrap();
            self.say(words, run);
        }
    }

    /// Counts the printed lines of a type.
    fn count(&self, kind: &str) -> usize {
        self.printed().matches(&format!(r#""type":"{kind}""#)).count()
    }

    /// Says something to a run, as a person does.
    fn say(&self, words: &[&str], run: &str) {
        let (verb, rest) = words.split_first().unwrap();
        let mut child = self.spawn("said", &[&[*verb, run], rest].concat());
        let end = eventually(LIMIT, || child.try_wait().unwrap());
        assert!(end.success(), "{words:?}: {}", fs::read_to_string(self.path("said.err")).unwrap());
    }

    /// Kills Windlass, then hosts and guards, which have no environment to be known by, then agents.
    fn kill(&self, child: &mut Child) {
        child.kill().unwrap();
        child.wait().unwrap();
        let below = ["keep", "host"].map(|word| format!(" {word} {}/", self.sealed.root().display()));
        let is_host = |process: &procs::Proc| below.iter().any(|words| process.command.contains(words));
        let hosts = procs::all().into_iter().filter(is_host);
        for process in hosts.chain(self.sealed.processes()) {
            // Gone already is as good as killed.
            let _ = kill_process(Pid::from_raw(process.pid).unwrap(), Signal::KILL);
        }
    }

    /// Runs `windlass` to its end.
    pub(crate) fn go(&self, arguments: &[&str]) -> Ran {
        let mut child = self.spawn("out", arguments);
        let code = eventually(LIMIT, || child.try_wait().unwrap()).code().unwrap_or(-1);
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        Ran { code, stdout: read("out"), stderr: read("out.err") }
    }

    /// Resumes a run as its scene says, to its end.
    pub(crate) fn resume(&self, scene: &Scene, run: &str, from: &str) {
        if !scene.person.is_empty() {
            self.say(scene.person, run);
        }
        self.sealed.write("go", "");
        let mut child = self.spawn("out", &["resume", run, "--json"]);
        self.say_meanwhile(scene);
        let code = eventually(LIMIT, || child.try_wait().unwrap()).code();
        let printed = self.printed();
        assert_eq!(code, Some(0), "{from}:\n{printed}");
        let ends: Vec<serde_json::Value> = printed
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|line| line["type"] == "run.finished" && line["run"] == run)
            .collect();
        assert_eq!(ends.len(), 1, "{from}:\n{printed}");
        let end = (ends[0]["data"]["status"].as_str().unwrap(), ends[0]["data"]["reason"].as_str().unwrap());
        assert_eq!(end, scene.end, "{from}:\n{printed}");
        for look in ["show", "logs", "replay"] {
            let looked = self.go(&[look, run]);
            assert_eq!(looked.code, 0, "{from}: {look}: {looked}");
        }
    }

    /// The worktrees beside the repository: folder and branch.
    pub(crate) fn worktrees(&self) -> Vec<(String, String)> {
        let listed = self.sealed.git(["worktree", "list", "--porcelain"]);
        let blocks = listed.split("\n\n").skip(1);
        let part = |block: &str, word: &str| {
            block.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default().to_owned()
        };
        blocks.map(|block| (part(block, "worktree "), part(block, "branch refs/heads/"))).collect()
    }

    /// The files of the place that a resume needs, as paths below the root.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::from("script.json")];
        walk(&self.sealed.repo(), &mut found);
        let root = self.sealed.root();
        let is_own = |path: &Path| !path.starts_with("repo/.git") && *path != *"repo/README.md";
        let below = |path: PathBuf| path.strip_prefix(root).map_or_else(|_| path.clone(), Path::to_owned);
        let mut files: Vec<PathBuf> = found.into_iter().map(below).filter(|path| is_own(path)).collect();
        files.sort();
        files
    }
}

/// A `windlass` that has ended.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}
