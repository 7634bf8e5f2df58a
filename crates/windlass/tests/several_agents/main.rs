//! One run on several real agent CLIs: work that goes from one to another at a usage limit, and a document whose
//! nodes name different drivers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test stops where it stands")]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::{Model, Sealed, eventually, require_agent, say, shell, usage_limit};

const MINUTE: Duration = Duration::from_secs(60);
const HOURS: Duration = Duration::from_secs(5 * 3600);

/// A sealed place in which three agent CLIs use one scripted model.
struct Stage {
    sealed: Sealed,
    model: Model,
    agents: Vec<(&'static str, PathBuf)>,
}

impl Stage {
    fn new(model: Model, agents: &[(&'static str, PathBuf)]) -> Stage {
        let sealed = Sealed::new();
        let programs = agents.iter().map(|(name, bin)| format!("[agents.{name}]\nprogram = {bin:?}\n"));
        let settings = format!("retry_delay = \"10ms\"\n{}", programs.collect::<String>());
        sealed.write("config/windlass/config.toml", settings);
        Stage { sealed, model, agents: agents.to_vec() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.sealed.windlass();
        for (name, _) in &self.agents {
            match *name {
                "claude" => command.envs(self.sealed.claude_env(&self.model)),
                name => command.envs(self.sealed.agent_env(name, &self.model)),
            };
        }
        command.args(words).stdin(Stdio::null());
        command
    }

    fn start(&self, words: &[&str]) -> Child {
        let out = File::create(self.sealed.root().join("out.txt")).unwrap();
        let err = File::create(self.sealed.root().join("err.txt")).unwrap();
        self.command(words).stdout(out).stderr(err).spawn().unwrap()
    }

    /// Returns the lines that a command wrote so far.
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sealed.root().join("out.txt")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    fn go(&self, words: &[&str]) -> Vec<Value> {
        let code = self.start(words).wait().unwrap().code();
        let errors = fs::read_to_string(self.sealed.root().join("err.txt")).unwrap_or_default();
        assert_eq!(code, Some(0), "{errors}\n{:#?}", self.lines());
        self.lines()
    }

    fn work(&self) -> String {
        fs::read_to_string(self.sealed.repo().join("work.txt")).unwrap_or_default()
    }
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
}

fn handed_over(lines: &[Value]) -> Vec<(&str, &str)> {
    of(lines, "run.handed_over")
        .iter()
        .filter_map(|data| data["from"].as_str().zip(data["to"].as_str()))
        .collect()
}

/// Two of three turns end at a usage limit of the driver.
fn three_drivers() -> Model {
    Model::script([
        shell("echo claude >> work.txt"),
        say("One line is there."),
        usage_limit(HOURS),
        shell("echo codex >> work.txt"),
        say("Two lines are there."),
        usage_limit(HOURS),
        shell("echo opencode >> work.txt"),
        say("Three lines are there.\nALL DONE"),
    ])
    .start()
}

const LOOP: [&str; 10] = [
    "loop",
    "Write three lines into work.txt",
    "--json",
    "--until-signal",
    "ALL DONE",
    "--fallback",
    "codex,opencode",
    "--check",
    "test $(wc -l < work.txt) -ge 3",
    "--driver=claude",
];

#[test]
fn a_loop_goes_from_claude_code_to_codex_to_opencode() {
    let agents = [
        ("claude", require_agent!("claude")),
        ("codex", require_agent!("codex")),
        ("opencode", require_agent!("opencode")),
    ];
    let stage = Stage::new(three_drivers(), &agents);
    let lines = stage.go(&LOOP);
    let end = of(&lines, "run.finished")[0];
    assert_eq!((&end["status"], &end["iterations"]), (&"completed".into(), &3.into()), "{end}");
    assert_eq!(handed_over(&lines), [("claude", "codex"), ("codex", "opencode")]);
    assert_eq!(stage.work(), "claude\ncodex\nopencode\n", "each turn worked once");
    assert_eq!(stage.sealed.processes().len(), 0);
}

#[test]
fn a_hand_over_that_is_killed_in_the_middle_happens_once() {
    let agents = [
        ("claude", require_agent!("claude")),
        ("codex", require_agent!("codex")),
        ("opencode", require_agent!("opencode")),
    ];
    let stage = Stage::new(three_drivers(), &agents);
    let mut child = stage.start(&LOOP);
    eventually(MINUTE, || (!of(&stage.lines(), "run.handed_over").is_empty()).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    for process in stage.sealed.processes() {
        stage.sealed.kill9(process.pid);
    }
    let run = stage.lines()[0]["run"].as_str().unwrap().to_owned();
    stage.go(&["resume", &run, "--json"]);
    let lines = stage.go(&["logs", &run, "--json"]);
    assert_eq!(handed_over(&lines), [("claude", "codex"), ("codex", "opencode")]);
    let end = of(&lines, "run.finished")[0];
    assert_eq!((&end["status"], &end["iterations"]), (&"completed".into(), &3.into()), "{end}");
    assert!(stage.work().ends_with("opencode\n"), "{}", stage.work());
}

#[test]
fn the_nodes_of_a_document_run_on_different_agents() {
    let agents = [
        ("codex", require_agent!("codex")),
        ("claude", require_agent!("claude")),
        ("gemini", require_agent!("gemini")),
    ];
    let model = Model::script([
        shell("echo codex >> work.txt"),
        say("It is implemented."),
        shell("echo claude >> work.txt"),
        say("One thing is wrong."),
        shell("echo gemini >> work.txt"),
        say("It is fixed."),
    ])
    .start();
    let stage = Stage::new(model, &agents);
    let document = "name: three\nnodes:\n  - id: implement\n    driver: codex\n    prompt: Implement it\n  \
                    - id: review\n    driver: claude\n    prompt: Review it\n  \
                    - id: fix\n    driver: gemini\n    prompt: \"Fix this: {{ outputs.review.text }}\"\n";
    let file = stage.sealed.write("three.yaml", document);
    let lines = stage.go(&["run", "--workflow", file.to_str().unwrap(), "--json"]);
    assert_eq!(stage.work(), "codex\nclaude\ngemini\n");
    let nodes: Vec<&Value> = of(&lines, "session.started").iter().map(|data| &data["node"]).collect();
    assert_eq!(nodes, ["implement", "review", "fix"]);
    let fix = stage.model.requests().pop().unwrap();
    assert!(fix.mentions("One thing is wrong."), "the answer of one agent reaches the next");
}
