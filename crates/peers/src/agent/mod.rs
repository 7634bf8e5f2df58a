//! Agent CLIs: their capabilities, and how Windlass launches, reads and answers each.
//!
//! Each agent has one private folder and one line in [`Agents`]. All other code finds a [`Dialect`] by
//! the name of the driver and asks it. The runtime chooses the driver of a run; the engine decides what
//! follows from an agent's output.

mod acp;
mod channel;
mod claude;
mod codex;
mod copilot;
mod dialect;
pub mod doctor;
mod gemini;
mod lines;
mod opencode;
mod sim;
mod stamp;
mod transcript;
mod turn;
mod write_limit;

use serde::Serialize;
use windlass_core::hook::ToolName;

use crate::os;

pub use channel::{Channel, ChannelItem, cancel};
pub use dialect::{Agents, Dialect, LoginPlaces, Printed, ReadLine};
pub use lines::{AgentLines, read_stream};
pub use transcript::{ProcessEnd, Transcript};
pub use turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
pub use windlass_core::agent::{AgentEvent, ApiRetry, RateLimit, TurnResult};

/// The strength with which a limit holds on a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The CLI, its sandbox or a hook refuses what is not allowed.
    Enforced,
    /// The kernel refuses what is not allowed, if it has Landlock.
    ByKernel,
    /// The agent is asked to keep the limit, and nothing stops it.
    Asked,
    #[default]
    Impossible,
}

impl Hold {
    /// Returns the strength on this machine.
    #[must_use]
    pub fn on_this_machine(self) -> Hold {
        match self {
            Hold::ByKernel if !os::can_limit_writes() => Hold::Impossible,
            Hold::ByKernel => Hold::Enforced,
            Hold::Enforced | Hold::Asked | Hold::Impossible => self,
        }
    }
}

/// The strength of the limits of a session on a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Enforcement {
    /// Tools outside the isolation preset, and calls that a rule denies.
    pub tools: Hold,
    /// Settings, hooks and MCP servers that the preset leaves out are not loaded.
    pub settings: Hold,
    /// In `strict`, shell commands write only inside the workspace and temporary folders.
    pub shell_writes: Hold,
    /// In `strict`, shell commands have no network.
    pub shell_network: Hold,
}

impl Enforcement {
    /// Returns the strength of each limit on this machine.
    #[must_use]
    pub fn on_this_machine(self) -> Enforcement {
        Enforcement {
            tools: self.tools.on_this_machine(),
            settings: self.settings.on_this_machine(),
            shell_writes: self.shell_writes.on_this_machine(),
            shell_network: self.shell_network.on_this_machine(),
        }
    }
}

/// The capabilities of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Capabilities {
    /// Reports events while it works.
    pub stream: bool,
    /// Continues an earlier conversation.
    pub resume: bool,
    /// Continues a copy of an earlier conversation.
    pub fork: bool,
    /// Chooses the id of a new conversation itself, and reports it.
    pub chooses_session_id: bool,
    /// The hooks that it can call.
    pub hooks: &'static [&'static str],
    /// A hook can keep it from stopping.
    pub stop_block: bool,
    /// Does not tell its last message to the hook that can keep it from stopping.
    pub silent_stop: bool,
    /// Asks before it uses a tool.
    pub permissions: bool,
    /// Can ask a person.
    pub questions: bool,
    /// Accepts MCP servers.
    pub mcp: bool,
    /// Enforces a spending limit itself.
    pub budget: bool,
    /// Accepts the name of a model.
    pub models: bool,
    /// Accepts an effort.
    pub effort: bool,
    /// Accepts `opus`, `sonnet` and `haiku` as models.
    pub model_tiers: bool,
    /// The names of models that the CLI knows without settings of the user. A `*` stands for any text.
    pub model_names: &'static [&'static str],
    /// Reports its usage.
    pub usage: bool,
    /// Reports what a session cost.
    pub cost: bool,
    /// Reports the model that it uses.
    pub reports_model: bool,
    /// Survives the death of the engine, and the next engine continues to read its output.
    pub adoptable: bool,
    /// The strength of the limits of a session.
    pub enforcement: Enforcement,
    /// Loads Claude Code plugins.
    pub plugins: bool,
    /// Returns an answer that matches a JSON Schema.
    pub schema: bool,
    /// The tools that a session can have.
    pub tools: &'static [ToolName],
    /// Treats a message that starts with a slash as a command.
    pub slash_commands: bool,
    /// Reads a file that a message mentions (`@src/main.rs`).
    pub reads_mentions: bool,
}
