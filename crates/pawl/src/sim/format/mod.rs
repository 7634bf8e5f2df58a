//! The formats that the sim plays, each in a file or folder of its own behind [`SimFormat`].
//!
//! A format knows how its CLI is started, what it writes, whom it asks and how it fails. The rest of the sim
//! plays the script and knows none of this.

mod acp;
pub(super) mod claude;
mod codex;
mod copilot;
mod gemini;
mod hook_table;
mod opencode;
mod plain;
mod prompt;
mod state;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::event::{Failure, SimEvent};
use super::hook_call::{HookMeaning, HookMoment};
use super::lines::EventLines;
use super::play::PlayCut;
use super::process::Environment;
use super::signals::StopRequest;
use super::start::ProcessInputs;

/// The names of the formats, as `--as` takes them. The first one is played without `--as`.
pub(super) const NAMES: [&str; 7] = ["claude", "codex", "opencode", "copilot", "gemini", "acp", "plain"];

/// Returns the format with this name.
pub(super) fn named(name: &str) -> Option<Box<dyn SimFormat>> {
    Some(match name {
        "claude" => Box::new(claude::ClaudeFormat::default()),
        "codex" => Box::new(codex::CodexFormat::default()),
        "opencode" => Box::new(opencode::OpencodeFormat::default()),
        "copilot" => Box::new(copilot::CopilotFormat::default()),
        "gemini" => Box::new(gemini::GeminiFormat::default()),
        "acp" => Box::new(acp::AcpFormat::default()),
        "plain" => Box::new(plain::PlainFormat::default()),
        _ => return None,
    })
}

/// The format of one agent CLI.
pub(super) trait SimFormat {
    /// Returns the output of `--version`, without our own addition.
    fn version(&self) -> &'static str;

    /// Reads how the CLI was started: arguments, variables, settings and prompt.
    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal>;

    /// Returns the variables that the CLI passes to its hooks and tools.
    fn child_env(&mut self, session: &str, cwd: &Path, env: &Environment) -> Vec<(&'static str, OsString)> {
        let _ = (session, cwd, env);
        Vec::new()
    }

    /// Says what the CLI offers to a model.
    fn abilities(&self) -> FormatAbilities {
        FormatAbilities::default()
    }

    /// Writes what happens in the session.
    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()>;

    /// Calls the hooks of a moment, if the CLI has such hooks.
    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut>;

    /// Decides whether a tool may run that no hook decided about.
    fn permits(&self, tool: &str) -> bool {
        let _ = tool;
        true
    }

    /// Tells the model why a tool did not run. `reason` is that of a hook.
    fn refusal(&self, tool: &str, reason: Option<&str>) -> String {
        let _ = tool;
        reason.unwrap_or("The tool was not permitted.").to_owned()
    }

    /// Returns a line of the agent's words, which a fault breaks off.
    fn sample_line(&self) -> String;

    /// Returns the exit code of a session that ended by itself.
    fn exit_code(&self, failure: Option<&Failure>, is_error: bool) -> u8 {
        let _ = failure;
        u8::from(is_error)
    }

    /// Ends the session because of a signal: writes what the CLI writes.
    fn signalled(
        &mut self,
        asked: StopRequest,
        is_in_tool: bool,
        lines: &mut EventLines<'_>,
    ) -> io::Result<SignalEnd>;

    /// Refuses to resume a session that does not exist. `None` if the session ends with an error as its result.
    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal>;
}

/// The facts that the start of a CLI tells.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SimLaunch {
    pub(super) session: SessionChoice,
    pub(super) model: Option<String>,
    /// The JSON Schema of the answer, if the CLI has a tool for it.
    pub(super) schema: Option<Value>,
    /// The addition to the system prompt.
    pub(super) role: Option<String>,
    pub(super) prompt: String,
    /// The CLI calls no hooks at all.
    pub(super) has_no_hooks: bool,
    /// After its results the CLI waits until its input is closed.
    pub(super) waits_for_input: bool,
    /// The most times in a row that a hook may block the stop. 0 for no limit.
    pub(super) block_cap: u32,
}

/// The session of a process.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct SessionChoice {
    pub(super) id: String,
    /// The id of the session to continue.
    pub(super) resumes: Option<String>,
    /// Whoever started the CLI chose the id.
    pub(super) is_chosen: bool,
}

impl SessionChoice {
    /// A session with an id that the CLI makes, or one that it continues.
    pub(super) fn made(make: impl FnOnce() -> String, resumes: Option<String>) -> SessionChoice {
        SessionChoice { id: resumes.clone().unwrap_or_else(make), resumes, is_chosen: false }
    }

    /// A session with an id that is given, or one that the CLI continues.
    pub(super) fn given(
        chosen: Option<String>,
        resumes: Option<String>,
        make: impl FnOnce() -> String,
    ) -> SessionChoice {
        let is_chosen = chosen.is_some();
        let id = chosen.or_else(|| resumes.clone()).unwrap_or_else(make);
        SessionChoice { id, resumes, is_chosen }
    }
}

/// The offers of a CLI to a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FormatAbilities {
    /// A tool that asks a person.
    pub(super) questions: bool,
    /// A tool for the structured answer.
    pub(super) answers: bool,
    /// Subagents that run while the agent stops.
    pub(super) background: bool,
    /// The end of a turn is a part of the conversation and no hook, so it is always told.
    pub(super) tells_stops: bool,
}

/// The reason why a CLI does not begin, and its exit code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LaunchRefusal {
    /// The text for standard error.
    pub(super) text: String,
    pub(super) code: u8,
}

impl From<String> for LaunchRefusal {
    fn from(why: String) -> LaunchRefusal {
        LaunchRefusal { text: format!("Error: {why}\n"), code: 1 }
    }
}

/// The end of a session by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalEnd {
    Code(u8),
    /// The session ends with an error as its result, and with this code.
    Result(u8),
    /// The signal kills the process.
    Signal,
}
