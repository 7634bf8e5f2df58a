//! The boundary to an agent CLI: everything that differs between CLIs.
//!
//! A dialect only translates. The engine decides what follows from an agent's output.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::SessionVerdict;
use windlass_core::hook::{HookAnswer, HookKind};
use windlass_core::time::Moment;
use windlass_core::usage::ModelUsage;

use super::Capabilities;
use super::acp::Acp;
use super::claude::Claude;
use super::codex::Codex;
use super::copilot::Copilot;
use super::gemini::Gemini;
use super::opencode::Opencode;
use super::sim::Sim;
use super::transcript::{ProcessEnd, Transcript};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};

/// A translator that starts, reads and answers one agent CLI. A session has one dialect, found by the
/// name of its driver.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Returns the name of the driver in flags and files.
    fn name(&self) -> &'static str;

    /// Returns the program to find on `PATH`. A driver without one is the Windlass binary itself.
    fn program(&self) -> Option<&'static str>;

    /// Decides whether the driver is for any agent, so that the user must name the program.
    fn needs_command(&self) -> bool {
        false
    }

    /// Returns the command that installs a missing CLI.
    fn install_hint(&self) -> Option<&'static str>;

    /// Returns the variables with which `--version` writes nothing into the user's home.
    fn version_env(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn capabilities(&self) -> Capabilities;

    /// Returns the file with the user's own settings of the CLI, if a turn needs them.
    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf>;

    /// Returns the places in which the CLI finds the user's login. A dialect that does not know them has none.
    fn login_places(&self, home: &Path, env: &[(String, String)]) -> LoginPlaces {
        let _ = (home, env);
        LoginPlaces::default()
    }

    /// Prepares one turn: arguments, environment and files. Starts and writes nothing.
    fn prepare(
        &self,
        turn: &TurnRequest<'_>,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
    ) -> Prepared;

    /// Returns the names of a turn's files that may contain secrets. Windlass deletes them when the turn
    /// is over.
    fn secret_files(&self) -> &'static [&'static str];

    /// Returns a reader for the output of one turn.
    fn reader(&self) -> Box<dyn ReadLine>;

    /// Returns a reader that also sends lines to the CLI. `notes` is the content of the turn's file
    /// [`CONVERSATION`](windlass_core::launch::files::CONVERSATION), if [`prepare`](Dialect::prepare) wrote one.
    fn conversation(&self, notes: &[u8]) -> Box<dyn ReadLine> {
        let _ = notes;
        self.reader()
    }

    /// Parses the payload that the CLI sent to a hook. `event` is the argument that the hook was
    /// installed with. An unreadable payload becomes an unknown tool or a plain stop.
    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind;

    /// Returns the agent's folder at the time of the hook call, if the payload contains it.
    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf>;

    /// Translates an answer into the CLI's format. An unsuitable answer never allows a tool. `payload`
    /// is the data that the CLI sent to the hook; it is empty for a tool and for a stop.
    fn write_answer(&self, event: &str, payload: &[u8], answer: &HookAnswer) -> Printed;

    /// Writes what the CLI gets before Windlass ends it in the middle of its work, for its standard input. `input` is
    /// everything that was written so far. Most CLIs need only the signal.
    fn cancel(&self, input: &[u8]) -> Vec<u8> {
        let _ = input;
        Vec::new()
    }

    /// Returns the usage of the whole conversation by model, if the CLI wrote it into a file of the turn's folder.
    /// Other CLIs report it in their output.
    fn conversation_usage(&self, dir: &Path) -> Option<Vec<ModelUsage>> {
        let _ = dir;
        None
    }

    /// Judges how a turn went, once its process is over. Most dialects leave this to the transcript,
    /// which judges by the typed results from their reader.
    fn judge(&self, transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
        transcript.judge(over, stderr)
    }
}

/// A reader of the lines of one turn. Where a CLI holds a conversation, it also writes the lines that the CLI gets.
///
/// A new owner of the run reads the output again from the start. So what a reader sends may depend on nothing but
/// the notes of the turn and the lines that it read.
pub trait ReadLine: fmt::Debug + Send {
    /// Adds the events of a line to `out`. Returns an error if the line is unreadable.
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String>;

    /// Returns the time at which the CLI wrote the line, if the line contains it.
    fn time(&self, line: &str) -> Option<Moment> {
        let _ = line;
        None
    }

    /// Takes the lines that the CLI must get in reaction to the lines read so far, in order. No two lines of a turn
    /// are the same.
    fn take_lines(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Writes the reply to a request in the CLI's output ([`AgentEvent::Asks`]), for its standard input.
    /// `answer` is the answer to a hook call in the CLI's format. A CLI that asks nothing needs no reply.
    fn write_reply(&mut self, request: &str, answer: &str) -> Vec<u8> {
        let _ = (request, answer);
        Vec::new()
    }

    /// Decides whether the CLI still works on something in `input`, everything that was written for it, although its
    /// last turn has a result.
    fn is_at_work(&self, input: &[u8]) -> bool {
        let _ = input;
        false
    }

    /// Decides whether `input`, everything that was written for the CLI, contains the reply to a request.
    fn has_reply(&self, request: &str, input: &[u8]) -> bool {
        memchr::memmem::find(input, request.as_bytes()).is_some()
    }
}

/// The agent CLIs that Windlass can run.
#[derive(Debug, Clone)]
pub struct Agents(Vec<Arc<dyn Dialect>>);

impl Default for Agents {
    fn default() -> Agents {
        Agents(vec![
            Arc::new(Claude),
            Arc::new(Codex),
            Arc::new(Opencode),
            Arc::new(Copilot),
            Arc::new(Gemini),
            Arc::new(Acp),
            Arc::new(Sim),
        ])
    }
}

impl Agents {
    /// Adds a dialect, or replaces the one with the same name.
    #[must_use]
    pub fn with(mut self, dialect: Arc<dyn Dialect>) -> Agents {
        self.0.retain(|known| known.name() != dialect.name());
        self.0.push(dialect);
        self
    }

    /// Returns the dialect of a driver.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn Dialect>> {
        self.0.iter().find(|dialect| dialect.name() == name)
    }

    /// Returns the dialect with this name, or the first of all if there is none.
    pub fn named_or_first(&self, name: Option<&str>) -> Arc<dyn Dialect> {
        let found = name.and_then(|name| self.named(name)).or_else(|| self.0.first());
        found.map_or_else(|| Arc::new(Claude) as Arc<dyn Dialect>, Arc::clone)
    }

    /// Returns the capabilities of a driver. An unknown driver has none.
    pub fn capabilities(&self, name: &str) -> Capabilities {
        self.named(name).map(|dialect| dialect.capabilities()).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.0.iter()
    }
}

/// The places in which an agent CLI finds the user's login.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoginPlaces {
    /// Variables that contain a key.
    pub variables: &'static [&'static str],
    /// Files that are there after a login.
    pub files: Vec<PathBuf>,
}

/// The output and exit code of the hook forwarder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    pub exit: u8,
    pub stdout: String,
    pub stderr: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_found_by_its_name() {
        let agents = Agents::default();
        for dialect in agents.iter() {
            assert_eq!(agents.named(dialect.name()).map(|found| found.name()), Some(dialect.name()));
        }
        assert!(agents.named("emacs").is_none());
    }

    #[test]
    fn a_dialect_takes_the_place_of_another_of_its_name() {
        let agents = Agents::default();
        let count = agents.iter().count();
        assert_eq!(agents.with(Arc::new(Sim)).iter().count(), count);
    }
}
