//! For tests: a fresh folder with a script, played in this process or in a separate one.

use std::io::Cursor;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::format;
use super::log::ModelRequest;
use super::play::{self, PlayEnding};
use super::process::Environment;
use super::start::{ProcessInputs, SimInput};

/// A hook command that appends its payload to `hooks.jsonl`.
pub(super) const NOTE: &str =
    "cat >> \"$CLAUDE_PROJECT_DIR/hooks.jsonl\"; echo >> \"$CLAUDE_PROJECT_DIR/hooks.jsonl\"";

/// A script with its folder, arguments and environment.
pub(super) struct RehearsedScript {
    folder: tempfile::TempDir,
    pub(super) args: Vec<String>,
    pub(super) env: Environment,
    pub(super) prompt: String,
    format: &'static str,
}

/// The result of playing a script.
pub(super) struct Played {
    pub(super) ending: PlayEnding,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

impl RehearsedScript {
    pub(super) fn of(script: Value) -> RehearsedScript {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script.json"), script.to_string()).unwrap();
        let env = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("HOME".into(), folder.path().into()),
            ("WINDLASS_SIM_SCRIPT".into(), "script.json".into()),
            ("WINDLASS_SIM_LOG".into(), "log.jsonl".into()),
        ];
        let args = ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).into();
        RehearsedScript { folder, args, env, prompt: "do it".to_owned(), format: "claude" }
    }

    /// Plays in another format, started with these arguments.
    pub(super) fn in_format(mut self, format: &'static str, args: &[&str]) -> RehearsedScript {
        self.format = format;
        self.args = args.iter().map(|arg| (*arg).to_owned()).collect();
        self
    }

    /// Makes a script of one turn with these steps.
    pub(super) fn of_steps(steps: Value) -> RehearsedScript {
        RehearsedScript::of(json!({"turns": [{"steps": steps}]}))
    }

    pub(super) fn with(mut self, args: &[&str]) -> RehearsedScript {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> RehearsedScript {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(super) fn prompt(mut self, prompt: &str) -> RehearsedScript {
        self.prompt = prompt.to_owned();
        self
    }

    /// Configures one shell command for each named hook.
    pub(super) fn hooks(self, hooks: &[(&str, &str)]) -> RehearsedScript {
        let entry =
            |command: &str| json!([{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]);
        let hooks: serde_json::Map<String, Value> =
            hooks.iter().map(|(event, command)| ((*event).to_owned(), entry(command))).collect();
        std::fs::write(self.path("settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
        self.with(&["--settings", "settings.json"])
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(super) fn play(&self) -> Played {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let inputs = ProcessInputs {
            args: self.args.clone(),
            env: self.env.clone(),
            cwd: self.folder.path().to_owned(),
            input: SimInput::Text(Cursor::new(self.prompt.clone().into_bytes())),
            out: &mut out,
            err: &mut err,
            ready: || {},
        };
        let ending = play::play(inputs, format::named(self.format).unwrap());
        Played { ending, out, err: String::from_utf8(err).unwrap() }
    }

    /// Returns the requests to the model, from all processes so far.
    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        self.text("log.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the payloads of the hooks.
    pub(super) fn lines(&self) -> Vec<Value> {
        let text = self.text("hooks.jsonl");
        text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Played {
    /// Returns every output line that is an event.
    pub(super) fn events(&self) -> Vec<Value> {
        self.out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    pub(super) fn of_kind(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the last result.
    pub(super) fn result(&self) -> Value {
        self.of_kind("result").pop().unwrap()
    }

    /// Returns the first tool result.
    pub(super) fn tool_result(&self) -> Value {
        let users = self.of_kind("user").into_iter().map(|event| event["message"]["content"][0].clone());
        users.into_iter().find(|block| block["type"] == "tool_result").unwrap()
    }
}
