//! Agent CLIs: what each can do, how it is launched, read and answered.
//!
//! Each agent has one private folder and one line in [`Agents`]. Everybody else asks a [`Dialect`],
//! which they find by the name of the driver, and what it can do. Which driver a run takes is the
//! runtime's choice; what follows from what an agent says is the engine's.

mod channel;
mod claude;
mod dialect;
pub mod doctor;
mod lines;
mod sim;
mod transcript;
mod turn;

use serde::Serialize;
use windlass_core::hook::ToolName;

pub use channel::{Channel, ChannelItem};
pub use dialect::{Agents, Dialect, Printed, ReadLine};
pub use lines::{AgentLines, read_stream};
pub use transcript::{ProcessEnd, Transcript};
pub use turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
pub use windlass_core::agent::{AgentEvent, ApiRetry, RateLimit, TurnResult};

/// What a driver can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
    /// Takes `opus`, `sonnet` and `haiku` for models.
    pub model_tiers: bool,
    /// Says what it spent.
    pub usage: bool,
    /// Outlives the engine and is read on by the next one.
    pub adoptable: bool,
    /// Loads plugins of Claude Code.
    pub plugins: bool,
    /// Gives an answer that fits a JSON Schema.
    pub schema: bool,
    /// The tools that a session can have.
    pub tools: &'static [ToolName],
    /// Takes a message that begins with a slash for a command of its own.
    pub slash_commands: bool,
    /// Reads a file that a message mentions (`@src/main.rs`).
    pub reads_mentions: bool,
}
