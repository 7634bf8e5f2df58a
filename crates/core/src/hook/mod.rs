//! Calls that an agent makes through its hooks, and the answers Windlass gives.
//!
//! A driver translates between these types and its CLI (`peers::agent`). The engine decides the answer.

mod call;
mod command_line;
pub mod permission;
mod question;
mod shell;
mod tool;
pub mod wire;

use serde::{Deserialize, Serialize};

pub use question::{Question, QuestionOption};
pub use shell::first_program;
pub use tool::{SEVERAL_FILES, ToolCall, ToolName};

use crate::id::{EffectId, HookId};

/// A hook call in the same form for every agent CLI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookCall {
    /// The id that the forwarder gave the call. A resent call keeps its id.
    pub id: HookId,
    /// The turn that made the call, if the forwarder knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EffectId>,
    pub kind: HookKind,
    /// Earlier calls of the turn that no owner answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
    /// The location of the tool's file after links are followed; `None` if that is the path in the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<RealPath>,
}

/// The location of a tool call's file after links are followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealPath {
    /// The session's workspace, with links followed.
    pub workspace: String,
    /// Every location that the path can mean; empty if Windlass cannot resolve it.
    pub files: Vec<String>,
}

impl RealPath {
    /// Returns `None` if following links changed neither the workspace nor the path.
    pub fn unless_plain(self, path: &str, workspace: &str) -> Option<RealPath> {
        let is_plain = self.workspace == workspace && self.files == [call::whole(path, workspace)];
        (!is_plain).then_some(self)
    }
}

/// The place where an agent makes a tool call.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The session's working folder.
    pub workspace: &'a str,
    /// The location of the file after links are followed, if it differs from the path in the call.
    pub real: Option<&'a RealPath>,
}

impl<'a> From<&'a str> for CallSite<'a> {
    fn from(workspace: &'a str) -> CallSite<'a> {
        CallSite { workspace, real: None }
    }
}

impl HookKind {
    /// Returns the file that the tool would use, if its input names a file.
    pub fn path(&self) -> Option<&str> {
        match self {
            HookKind::Tool(call) | HookKind::Permission(call) => call::path_of(&call.input),
            HookKind::Stop { .. } | HookKind::Question { .. } | HookKind::Other { .. } => None,
        }
    }
}

/// An agent's report or request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// The agent wants to end its turn.
    Stop {
        /// The agent's last message.
        last_message: Option<String>,
        /// Background subagents are still running. Windlass neither counts nor blocks such a stop.
        background: bool,
    },
    /// The agent wants to use a tool.
    Tool(ToolCall),
    /// The agent CLI itself asks about a tool that its hook let pass. The CLI has its own rules for some
    /// places, such as its settings files.
    Permission(ToolCall),
    /// The agent asks a person.
    Question {
        /// All questions of this call.
        questions: Vec<Question>,
    },
    /// A hook that needs no decision.
    Other { name: String },
}

/// The answer to a hook call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum HookAnswer {
    /// No answer: the agent continues, or ends its turn if it asked to stop.
    Pass,
    /// The tool may run.
    Allow,
    /// The answers that a person or the policy gave.
    Reply {
        /// Pairs of question text and answer.
        answers: Vec<(String, String)>,
    },
    /// The tool may not run. The agent sees the reason.
    Deny { reason: String },
    /// The agent may not stop. The reason says what to do next.
    Block { reason: String },
}
