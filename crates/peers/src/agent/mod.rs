//! Agent CLIs: what each can do, how it is launched, read and answered.
//!
//! One folder a dialect. `sim` speaks claude's. Which driver a run takes is the runtime's
//! choice; what follows from what an agent says is the engine's.

pub mod claude;
pub mod doctor;
mod transcript;

use serde::Serialize;

pub use transcript::{Over, Transcript};
pub use windlass_core::agent::{AgentEvent, RateLimit, ResultEvent, Retry};

/// What a driver can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// Says what it does as it does it.
    pub stream: bool,
    /// Goes on with a former conversation.
    pub resume: bool,
    /// Goes on with a copy of one.
    pub fork: bool,
    /// Hooks it can call.
    pub hooks: &'static [&'static str],
    /// A hook can keep it from stopping.
    pub stop_block: bool,
    /// Asks before it uses a tool.
    pub permissions: bool,
    /// Can ask a person.
    pub questions: bool,
    /// Takes MCP servers.
    pub mcp: bool,
    /// Holds a limit on spending itself.
    pub budget: bool,
    /// Takes the name of a model.
    pub models: bool,
    /// Says what it spent.
    pub usage: bool,
    /// Outlives the engine and is read on by the next one.
    pub adoptable: bool,
}

/// The agent CLIs Windlass knows how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Driver {
    /// Claude Code.
    Claude,
    /// The rehearsal agent, which is in the Windlass binary and speaks Claude Code's format.
    Sim,
}

impl Driver {
    /// All of them.
    pub const ALL: &'static [Driver] = &[Driver::Claude, Driver::Sim];

    /// The driver of that name.
    pub fn named(name: &str) -> Option<Driver> {
        Driver::ALL.iter().copied().find(|driver| driver.name() == name)
    }

    /// The word used in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Driver::Claude => "claude",
            Driver::Sim => "sim",
        }
    }

    /// The program to look for on `PATH`; none when it is the Windlass binary itself.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Driver::Claude => Some("claude"),
            Driver::Sim => None,
        }
    }

    /// How to get it when it is missing.
    pub fn install_hint(self) -> Option<&'static str> {
        match self {
            Driver::Claude => Some("npm install -g @anthropic-ai/claude-code"),
            Driver::Sim => None,
        }
    }

    /// What it can do.
    pub fn capabilities(self) -> Capabilities {
        match self {
            Driver::Claude => claude::CAPABILITIES,
            Driver::Sim => Capabilities { fork: false, budget: false, ..claude::CAPABILITIES },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_found_by_its_name() {
        for driver in Driver::ALL {
            assert_eq!(Driver::named(driver.name()), Some(*driver));
        }
        assert_eq!(Driver::named("emacs"), None);
    }
}
