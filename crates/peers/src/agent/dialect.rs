//! The boundary to an agent CLI: everything that differs from one CLI to the next.
//!
//! A dialect translates and decides nothing. What follows from what an agent says is the engine's.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::effect::SessionPlan;
use windlass_core::hook::{Answer, HookKind};
use windlass_core::id::{EffectId, RunId};
use windlass_core::launch::Launch;
use windlass_core::spec::{Orders, Spec};
use windlass_core::time::Moment;

use super::Capabilities;
use super::claude::Claude;
use super::sim::Sim;

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
    fn prepare(&self, turn: &Turn<'_>, paths: &Paths<'_>, outside: &Outside<'_>) -> Prepared;

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
    fn write_answer(&self, event: &str, answer: &Answer) -> Printed;
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

/// One turn to be started.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The run's orders.
    pub spec: &'a Spec,
    /// The node's.
    pub orders: &'a Orders,
    /// Where it works.
    pub workspace: &'a str,
    /// Who the agent is to be.
    pub system: Option<&'a str>,
    /// This turn's.
    pub plan: &'a SessionPlan,
    /// The run.
    pub run: &'a RunId,
    /// The effect that starts it; iteration and attempt are in it.
    pub effect: &'a EffectId,
    /// Now, to turn the deadline into a span.
    pub now: Moment,
}

/// Where things are.
#[derive(Debug, Clone, Copy)]
pub struct Paths<'a> {
    /// The child's folder, absolute.
    pub dir: &'a Path,
    /// The run's socket.
    pub socket: &'a Path,
    /// The Windlass binary, for hooks and the MCP server.
    pub windlass_exe: &'a Path,
}

/// What a turn takes from the user's machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outside<'a> {
    /// The environment that Windlass itself was started with.
    pub env: &'a [(String, String)],
    /// The text of the user's own settings of the CLI ([`Dialect::user_settings`]).
    pub user_settings: Option<&'a str>,
}

/// A launch, and the files it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// For the host.
    pub launch: Launch,
    /// To be written before, each 0600.
    pub files: Vec<(PathBuf, Vec<u8>)>,
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
