//! What an agent asks through its hooks, and what it may be told.
//!
//! The dialect of each CLI is the driver's (`peers::agent`); the decision is the engine's.

mod call;
mod command_line;
pub mod permission;
mod question;
mod shell;
mod tool;
pub mod wire;

use serde::{Deserialize, Serialize};

pub use question::{Question, QuestionOption};
pub use tool::{ToolCall, ToolName};

use crate::id::{EffectId, HookId};

/// One hook call, normalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookCall {
    /// Named by the forwarder; a resend has the same.
    pub id: HookId,
    /// The turn it comes from, where the forwarder knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EffectId>,
    /// What happened.
    pub kind: HookKind,
    /// Earlier calls of the turn that no owner answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<HookId>,
    /// Where the file that it names really lies; `None` where that is just where it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<RealPath>,
}

/// Where the file of a tool call lies once links are followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealPath {
    /// The workspace of the session.
    pub workspace: String,
    /// Every place that the path can mean; empty where that cannot be told.
    pub files: Vec<String>,
}

impl RealPath {
    /// Itself, unless it says no more than the path of a call in this workspace.
    pub fn unless_plain(self, path: &str, workspace: &str) -> Option<RealPath> {
        let is_plain = self.workspace == workspace && self.files == [call::whole(path, workspace)];
        (!is_plain).then_some(self)
    }
}

/// Where a tool call is made.
#[derive(Debug, Clone, Copy)]
pub struct CallSite<'a> {
    /// The folder that the session works in.
    pub workspace: &'a str,
    /// Where the file that it names really lies, where that was looked at and is elsewhere.
    pub real: Option<&'a RealPath>,
}

impl<'a> From<&'a str> for CallSite<'a> {
    fn from(workspace: &'a str) -> CallSite<'a> {
        CallSite { workspace, real: None }
    }
}

impl HookKind {
    /// The file that a tool is to be used on, where it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            HookKind::Tool(call) | HookKind::Permission(call) => call::path_of(&call.input),
            HookKind::Stop { .. } | HookKind::Question { .. } | HookKind::Other { .. } => None,
        }
    }
}

/// What an agent reports or asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookKind {
    /// The agent wants to end its turn.
    Stop {
        /// Its last words.
        last_message: Option<String>,
        /// Background subagents still run: neither counted nor blocked.
        background: bool,
    },
    /// The agent wants to use a tool.
    Tool(ToolCall),
    /// The agent CLI itself asks about a tool that its hook let pass. It guards some places by
    /// rules of its own, such as the files it takes its settings from.
    Permission(ToolCall),
    /// The agent asks a person.
    Question {
        /// Everything it asks at once.
        questions: Vec<Question>,
    },
    /// Anything else that needs no decision.
    Other {
        /// The hook's name.
        name: String,
    },
}

/// What a hook is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum HookAnswer {
    /// Nothing to say: the agent goes its way (a Stop may stop).
    Pass,
    /// The tool may run.
    Allow,
    /// A person, or the policy, answered what the agent asked.
    Reply {
        /// Each question's text and its answer.
        answers: Vec<(String, String)>,
    },
    /// The tool may not run, and the agent is told why.
    Deny {
        /// Why.
        reason: String,
    },
    /// The agent may not stop, and is told what to do.
    Block {
        /// What to do.
        reason: String,
    },
}
