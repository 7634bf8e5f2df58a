//! A sealed place with an agent in it, and what came of a run there.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_testkit::acp_agent::{AcpAgent, heard};
use windlass_testkit::wait::until;
use windlass_testkit::{Model, Sealed, eventually, soon};

/// The deadline of whatever takes some turns of a real CLI on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// A place with an agent.
pub(crate) struct Stage {
    pub(crate) sealed: Sealed,
    /// The command of the agent.
    agent: String,
    /// The variables of a real CLI.
    env: Vec<(&'static str, String)>,
}

impl Stage {
    pub(crate) fn with_fake(agent: &AcpAgent) -> Stage {
        let sealed = Sealed::new();
        let agent = format!("'{}' --some 'more words'", agent.write(&sealed).display());
        Stage { sealed, agent, env: Vec::new() }
    }

    pub(crate) fn with_real(name: &str, bin: &std::path::Path, flag: &str, model: &Model) -> Stage {
        let sealed = Sealed::new();
        let env = sealed.agent_env(name, model);
        Stage { sealed, agent: format!("'{}' {flag}", bin.display()), env }
    }

    fn windlass(&self) -> Command {
        let mut command = self.sealed.windlass();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// `windlass loop` with these flags, begun.
    pub(crate) fn start(&self, flags: &[&str]) -> Started {
        let begin = ["loop", "do the work", "--json", "--driver", "acp", "--agent-bin", &self.agent];
        let arguments: Vec<&str> = begin.iter().chain(flags).copied().collect();
        self.call(&arguments, &[])
    }

    /// The same, to be killed at a crash point.
    pub(crate) fn start_to_crash(&self, flags: &[&str], crash: &str) -> Started {
        let begin = ["loop", "do the work", "--json", "--driver", "acp", "--agent-bin", &self.agent];
        let arguments: Vec<&str> = begin.iter().chain(flags).copied().collect();
        self.call(&arguments, &[("WINDLASS_CRASH_AT", crash)])
    }

    /// Any command of `windlass`, begun.
    pub(crate) fn call(&self, arguments: &[&str], env: &[(&str, &str)]) -> Started {
        let mut command = self.windlass();
        command.args(arguments).envs(env.iter().copied());
        self.spawn(command)
    }

    pub(crate) fn run(&self, flags: &[&str]) -> Ended {
        self.start(flags).end()
    }

    fn spawn(&self, mut command: Command) -> Started {
        let name = |nth: usize| self.sealed.root().join(format!("out-{nth}"));
        let out = (0..).map(name).find(|file| !file.exists()).unwrap();
        let err = out.with_extension("err");
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Started { child: command.spawn().unwrap(), out, err }
    }

    /// Writes the user's settings of Windlass.
    pub(crate) fn settings(&self, text: &str) {
        self.sealed.write("config/windlass/config.toml", text);
    }

    /// The methods or ids of the lines that the agent read, each process from its beginning.
    pub(crate) fn heard(&self) -> Vec<String> {
        let name = |line: String| {
            let Ok(line) = serde_json::from_str::<Value>(&line) else { return line };
            let id = line["id"].as_str().map(|id| id.replace("windlass-", ""));
            id.or(line["method"].as_str().map(str::to_owned)).unwrap_or_else(|| line["id"].to_string())
        };
        heard(&self.sealed).into_iter().map(name).collect()
    }

    /// Waits until no process of the place is left.
    #[track_caller]
    pub(crate) fn assert_nobody_left(&self) {
        until(soon(), || self.sealed.processes().is_empty());
    }

    /// The command with which a fake agent says in the tracker that everything is done.
    pub(crate) fn completes() -> String {
        r#"tracker=$(printf '%s' "$line" | grep -o '/[^ :]*loop-tracker.md' | head -n 1)
echo '<!-- WORKFLOW_COMPLETE -->' >> "$tracker""#
            .to_owned()
    }
}

/// A `windlass` that runs.
pub(crate) struct Started {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Started {
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.out).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| json!(line))).collect()
    }

    /// Waits for a line of this type.
    #[track_caller]
    pub(crate) fn wait_for(&self, kind: &str) -> Value {
        eventually(LIMIT, || self.lines().into_iter().find(|line| line["type"] == kind))
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        until(LIMIT, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let code = status.and_then(|status| status.code());
        Ended { code, lines: self.lines(), stderr: fs::read_to_string(&self.err).unwrap() }
    }
}

/// The exit code and the output of a `windlass` that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    lines: Vec<Value>,
    pub(crate) stderr: String,
}

impl Ended {
    /// The data of every line of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).map(|line| &line["data"]).collect()
    }

    pub(crate) fn run(&self) -> String {
        self.lines[0]["run"].as_str().unwrap().to_owned()
    }

    /// Exit code, status, reason and iterations: how the run ended.
    #[track_caller]
    pub(crate) fn assert_ended(&self, code: i32, status: &str, reason: &str, iterations: u32) {
        let finished = self.of("run.finished").last().copied().cloned().unwrap_or_default();
        let seen = json!([self.code, finished["status"], finished["reason"], finished["iterations"]]);
        assert_eq!(seen, json!([code, status, reason, iterations]), "{}", self.story());
    }

    /// The decisions about questions of this kind, in order.
    pub(crate) fn decisions(&self, asked: &str) -> Vec<&str> {
        let all = self.of("hook.decision").into_iter().filter(|data| data["asked"] == asked);
        all.filter_map(|data| data["decision"].as_str()).collect()
    }

    /// What the whole run spent: input, output, from a cache.
    pub(crate) fn tokens(&self) -> [u64; 3] {
        let usage = &self.of("run.finished")[0]["usage"];
        ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].as_u64().unwrap())
    }

    pub(crate) fn story(&self) -> String {
        let lines: Vec<String> =
            self.lines.iter().map(|line| line.to_string().chars().take(600).collect()).collect();
        format!("exit {:?}\n{}\n--- stderr\n{}", self.code, lines.join("\n"), self.stderr)
    }
}
