//! The boundary to an agent CLI: everything that differs from one CLI to the next.
//!
//! A dialect translates and decides nothing. What follows from what an agent says is the engine's.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::SessionVerdict;
use windlass_core::hook::{HookAnswer, HookKind};

use super::Capabilities;
use super::claude::Claude;
use super::sim::Sim;
use super::transcript::{ProcessEnd, Transcript};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};

/// Starts, reads and answers one agent CLI. A session has one dialect, found by the name of its driver.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// The name of the driver in flags and files.
    fn name(&self) -> &'static str;

    /// The program to look for on `PATH`. A driver without one is the Windlass binary itself.
    fn program(&self) -> Option<&'static str>;

    /// Tells a person how to install a missing CLI.
    fn install_hint(&self) -> Option<&'static str>;

    /// What the CLI can do.
    fn capabilities(&self) -> Capabilities;

    /// The file in which the CLI keeps the user's own settings, if a turn needs to know them.
    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf>;

    /// Prepares one turn: arguments, environment and files. Starts and writes nothing.
    fn prepare(
        &self,
        turn: &TurnRequest<'_>,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
    ) -> Prepared;

    /// Names the files of a turn that may hold secrets. Windlass deletes them when the turn is over.
    fn secret_files(&self) -> &'static [&'static str];

    /// Returns a reader of what the CLI prints in one turn.
    fn reader(&self) -> Box<dyn ReadLine>;

    /// Reads what the CLI wrote to a hook. `event` is the argument that the hook was installed with. A
    /// payload that cannot be read is a tool that nobody knows, or a plain stop.
    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind;

    /// The folder in which the agent was when it called a hook, where the call says so.
    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf>;

    /// Puts an answer into the CLI's words. An answer that does not fit never lets a tool through.
    /// `payload` is what the CLI wrote to the hook. For a tool and for a
    /// stop it is empty.
    fn write_answer(&self, event: &str, payload: &[u8], answer: &HookAnswer) -> Printed;

    /// Judges how a turn went, once its process is over. Most dialects leave it to the transcript, which
    /// judges by the typed results that their reader found.
    fn judge(&self, transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
        transcript.judge(over, stderr)
    }
}

/// Reads the lines of one turn.
pub trait ReadLine: fmt::Debug + Send {
    /// Adds what a line says to `out`. An error is a line that cannot be read.
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String>;
}

/// The agent CLIs that Windlass can run.
#[derive(Debug, Clone)]
pub struct Agents(Vec<Arc<dyn Dialect>>);

impl Default for Agents {
    fn default() -> Agents {
        Agents(vec![Arc::new(Claude), Arc::new(Sim)])
    }
}

impl Agents {
    /// Adds a dialect, or replaces the one of its name.
    #[must_use]
    pub fn with(mut self, dialect: Arc<dyn Dialect>) -> Agents {
        self.0.retain(|known| known.name() != dialect.name());
        self.0.push(dialect);
        self
    }

    /// Finds the dialect of a driver by its name.
    pub fn named(&self, name: &str) -> Option<&Arc<dyn Dialect>> {
        self.0.iter().find(|dialect| dialect.name() == name)
    }

    /// The dialect of that name, or the first of all where there is none.
    pub fn named_or_first(&self, name: Option<&str>) -> Arc<dyn Dialect> {
        let found = name.and_then(|name| self.named(name)).or_else(|| self.0.first());
        found.map_or_else(|| Arc::new(Claude) as Arc<dyn Dialect>, Arc::clone)
    }

    /// What a driver can do. One that is not there can do nothing.
    pub fn capabilities(&self, name: &str) -> Capabilities {
        self.named(name).map(|dialect| dialect.capabilities()).unwrap_or_default()
    }

    /// Lists all of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Dialect>> {
        self.0.iter()
    }
}

/// What the forwarder prints, and how it exits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    /// Its exit code.
    pub exit: u8,
    /// For standard output.
    pub stdout: String,
    /// For standard error.
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
