//! Reads script, prompt, settings and environment into a [`Player`].

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Map;

use super::choose::{ScriptPlace, TaskPlace};
use super::format::{LaunchRefusal, SimFormat, SimLaunch};
use super::ids::new_uuid;
use super::lines::EventLines;
use super::log::RequestLog;
use super::play::Player;
use super::process::Environment;
use super::script::SimScript;
use super::stream::Stream;
use super::words::{ScriptVariables, find_tracker};

const SCRIPT: &str = "WINDLASS_SIM_SCRIPT";
const LOG: &str = "WINDLASS_SIM_LOG";
const NODE: &str = "WINDLASS_NODE";
const TASK: &str = "WINDLASS_TASK";
const TASK_ATTEMPT: &str = "WINDLASS_TASK_ATTEMPT";
const TASK_NODE: &str = "WINDLASS_TASK_NODE";
const ITERATION: &str = "WINDLASS_ITERATION";
const ATTEMPT: &str = "WINDLASS_ATTEMPT";

/// The inputs and outputs of a process.
pub(super) struct ProcessInputs<'a> {
    pub(super) args: Vec<String>,
    pub(super) env: Environment,
    pub(super) cwd: PathBuf,
    pub(super) input: SimInput,
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    /// Called once everything is read, just before playing.
    pub(super) ready: fn(),
}

/// The standard input. A format may read on while it plays.
pub(super) enum SimInput {
    /// Nobody writes anything, because it is a terminal.
    Nothing,
    File(File),
    #[cfg(test)]
    Text(io::Cursor<Vec<u8>>),
}

impl SimInput {
    /// Takes the input, and leaves nothing.
    pub(super) fn take(&mut self) -> SimInput {
        std::mem::replace(self, SimInput::Nothing)
    }
}

impl Read for SimInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            SimInput::Nothing => Ok(0),
            SimInput::File(file) => file.read(buffer),
            #[cfg(test)]
            SimInput::Text(text) => text.read(buffer),
        }
    }
}

impl ProcessInputs<'_> {
    /// Reads the script.
    pub(super) fn read_script(&self) -> Result<SimScript, LaunchRefusal> {
        match variable(&self.env, SCRIPT) {
            Some(path) => {
                SimScript::read(&self.cwd.join(path)).map_err(|error| LaunchRefusal::from(error.to_string()))
            }
            None => Ok(SimScript::stub()),
        }
    }
}

/// Returns the request log, if one is kept.
pub(super) fn request_log(env: &Environment, cwd: &Path) -> RequestLog {
    RequestLog(variable(env, LOG).map(|path| cwd.join(path)))
}

/// Returns a variable that is not empty.
pub(super) fn variable(env: &Environment, name: &str) -> Option<OsString> {
    env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
}

/// Returns a variable with a number.
pub(super) fn number(env: &Environment, name: &str) -> Option<u32> {
    variable(env, name)?.to_str()?.trim().parse().ok()
}

/// Returns a variable with text.
pub(super) fn text(env: &Environment, name: &str) -> Option<String> {
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

/// The parts that a player takes over.
pub(super) struct SessionStart<'a> {
    pub(super) env: Environment,
    pub(super) cwd: PathBuf,
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    pub(super) format: Box<dyn SimFormat>,
}

impl<'a> Player<'a> {
    /// Makes a player that has not played anything yet.
    pub(super) fn new(script: &'a SimScript, launch: SimLaunch, start: SessionStart<'a>) -> Self {
        let SessionStart { mut env, cwd, out, err, mut format } = start;
        let session = launch.session.id.clone();
        let log = request_log(&env, &cwd);
        let words = ScriptVariables {
            place: turn_place(&env),
            session: session.clone(),
            tracker: find_tracker(&launch.prompt)
                .or_else(|| log.prompts(&session).iter().find_map(|p| find_tracker(p))),
            prompt: launch.prompt.clone(),
            cwd,
            ..ScriptVariables::default()
        };
        let own = format.child_env(&session, &words.cwd, &env);
        env.retain(|(name, _)| !own.iter().any(|(key, _)| name == key));
        env.extend(own.into_iter().map(|(name, value)| (name.into(), value)));
        let model = launch.model.clone().unwrap_or_else(|| "sim".to_owned());
        Player {
            script,
            skip_hooks: launch.has_no_hooks,
            launch,
            env,
            stream: Stream::new(EventLines::new(out, err, session, model), format),
            words,
            log,
            prompt_id: new_uuid(),
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
        }
    }
}
