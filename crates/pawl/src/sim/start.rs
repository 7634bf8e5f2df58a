//! Reads script, prompt, settings and environment into a [`Player`].

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::args::{self, SimFlags};
use super::choose::{ScriptPlace, TaskPlace};
use super::hooks::Hooks;
use super::log::RequestLog;
use super::plain::{self, Wire};
use super::play::Player;
use super::process::Environment;
use super::script::SimScript;
use super::stream::{Stream, new_uuid};
use super::words::{ScriptVariables, find_tracker};

const SCRIPT: &str = "WINDLASS_SIM_SCRIPT";
const LOG: &str = "WINDLASS_SIM_LOG";
const NODE: &str = "WINDLASS_NODE";
const TASK: &str = "WINDLASS_TASK";
const TASK_ATTEMPT: &str = "WINDLASS_TASK_ATTEMPT";
const TASK_NODE: &str = "WINDLASS_TASK_NODE";
const ITERATION: &str = "WINDLASS_ITERATION";
const ATTEMPT: &str = "WINDLASS_ATTEMPT";
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
/// The CLI's own limit of consecutive blocks.
pub(super) const DEFAULT_BLOCK_CAP: u32 = 8;

/// The inputs and outputs of a process.
pub(super) struct ProcessInputs<'a> {
    pub(super) args: Vec<String>,
    pub(super) env: Environment,
    pub(super) cwd: PathBuf,
    pub(super) input: &'a mut dyn Read,
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    /// Called once everything is read, just before playing.
    pub(super) ready: fn(),
}

/// The parts that a player takes over.
pub(super) struct SessionStart<'a> {
    pub(super) env: Environment,
    pub(super) cwd: PathBuf,
    pub(super) out: &'a mut dyn Write,
    pub(super) prompt: String,
}

impl ProcessInputs<'_> {
    /// Reads the flags, the script and the prompt.
    pub(super) fn read(&mut self) -> Result<(SimFlags, SimScript, String), String> {
        let flags = match self.args.as_slice() {
            [flag, file, ..] if flag == "--plain" => plain::flags(file)?,
            args => args::parse(args),
        };
        let script = match variable(&self.env, SCRIPT) {
            Some(path) => SimScript::read(&self.cwd.join(path)).map_err(|error| error.to_string())?,
            None => SimScript::stub(),
        };
        let prompt = read_prompt(&flags, self.input)?;
        Ok((flags, script, prompt))
    }
}

fn read_prompt(flags: &SimFlags, input: &mut dyn Read) -> Result<String, String> {
    if let Some(prompt) = &flags.prompt {
        return Ok(prompt.clone());
    }
    let unread = |cause: io::Error| format!("cannot read the prompt: {cause}");
    let mut bytes = Vec::new();
    if flags.reads_lines {
        BufReader::new(input).read_until(b'\n', &mut bytes).map_err(unread)?;
        return prompt_of_line(&bytes).ok_or_else(|| "the first line is not a message of a user".to_owned());
    }
    input.read_to_end(&mut bytes).map_err(unread)?;
    if bytes.is_empty() {
        return Err("Input must be provided either through stdin or as a prompt argument when using --print"
            .to_owned());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the text of `{"type":"user","message":{"role":"user","content":"TEXT"}}`.
fn prompt_of_line(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let text = line.get("message")?.get("content")?.as_str()?;
    (line.get("type")? == "user").then(|| text.to_owned())
}

fn variable(env: &Environment, name: &str) -> Option<OsString> {
    env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
}

fn number(env: &Environment, name: &str) -> Option<u32> {
    variable(env, name)?.to_str()?.trim().parse().ok()
}

fn text(env: &Environment, name: &str) -> Option<String> {
    variable(env, name)?.into_string().ok()
}

/// Reads which turn to play.
fn turn_place(env: &Environment) -> ScriptPlace {
    let node = text(env, NODE).unwrap_or_default();
    let task = text(env, TASK).map(|id| TaskPlace {
        id,
        attempt: number(env, TASK_ATTEMPT).unwrap_or(1).max(1),
        node: text(env, TASK_NODE).unwrap_or_else(|| node.clone()),
    });
    ScriptPlace {
        node,
        iteration: number(env, ITERATION).unwrap_or(1).max(1),
        attempt: number(env, ATTEMPT).unwrap_or(1).max(1),
        task,
    }
}

impl<'a> Player<'a> {
    /// Makes a player that has not played anything yet.
    pub(super) fn new(
        script: &'a SimScript,
        flags: &'a SimFlags,
        given: SessionStart<'a>,
    ) -> Result<Self, String> {
        let SessionStart { mut env, cwd, out, prompt } = given;
        let session = match (&flags.session_id, &flags.resume) {
            (Some(id), _) => id.clone(),
            (None, Some(id)) if !flags.fork => id.clone(),
            _ => new_uuid(),
        };
        let mut hooks = Hooks::default();
        if let Some(settings) = &flags.settings {
            hooks = Hooks::from_settings(settings, &cwd)?;
            hooks.wire = flags.wire;
        }
        for dir in &flags.plugin_dirs {
            hooks.add_plugin(&cwd.join(dir))?;
        }
        let schema = flags.json_schema.as_deref().map(read_schema).transpose()?;
        let log = RequestLog(variable(&env, LOG).map(|path| cwd.join(path)));
        let words = ScriptVariables {
            place: turn_place(&env),
            session: session.clone(),
            tracker: find_tracker(&prompt)
                .or_else(|| log.prompts(&session).iter().find_map(|p| find_tracker(p))),
            prompt,
            cwd,
            ..ScriptVariables::default()
        };
        let block_cap = match flags.wire {
            Wire::Claude => number(&env, BLOCK_CAP).unwrap_or(DEFAULT_BLOCK_CAP),
            Wire::Plain => 0,
        };
        let transcript = transcript_path(&env, &words);
        announce(&mut env, &words);
        let model = flags.model.clone().unwrap_or_else(|| "sim".to_owned());
        Ok(Player {
            script,
            flags,
            env,
            stream: Stream::new(out, session, model, flags.wire),
            words,
            hooks,
            log,
            skip_hooks: flags.bare,
            prompt_id: new_uuid(),
            transcript,
            schema,
            said: String::new(),
            structured: None,
            denials: Vec::new(),
            origin: None,
            results: Vec::new(),
            has_reported: false,
            overrides: Map::new(),
            in_tool: false,
            subagents: 0,
            turn: 1,
            blocks: 0,
            block_cap,
        })
    }
}

/// Parses the schema, with the errors of the real CLI.
fn read_schema(text: &str) -> Result<Value, String> {
    let schema: Value =
        serde_json::from_str(text).map_err(|cause| format!("--json-schema is not valid JSON: {cause}"))?;
    match schema.is_object() {
        true => Ok(schema),
        false => Err("--json-schema must be a JSON object".to_owned()),
    }
}

/// Sets the variables that the CLI passes to its children.
fn announce(env: &mut Environment, words: &ScriptVariables) {
    let own = [
        ("CLAUDECODE", OsString::from("1")),
        ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli".into()),
        ("CLAUDE_CODE_SESSION_ID", words.session.clone().into()),
        ("CLAUDE_PID", std::process::id().to_string().into()),
        ("CLAUDE_PROJECT_DIR", words.cwd.clone().into()),
    ];
    env.retain(|(name, _)| !own.iter().any(|(key, _)| name == key));
    env.extend(own.map(|(name, value)| (name.into(), value)));
}

/// Returns the path where the real CLI would keep the transcript. The sim writes nothing there.
fn transcript_path(env: &Environment, words: &ScriptVariables) -> String {
    let home = variable(env, "HOME").map(PathBuf::from).unwrap_or_default();
    let config = variable(env, "CLAUDE_CONFIG_DIR").map_or_else(|| home.join(".claude"), PathBuf::from);
    let folder: String = words
        .cwd
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    config.join("projects").join(folder).join(format!("{}.jsonl", words.session)).display().to_string()
}
