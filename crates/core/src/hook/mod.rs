//! What an agent asks through its hooks, and what it may be told.
//!
//! The dialect of each CLI is the driver's (`peers::agent`); the decision is the engine's.

mod call;
mod line;
pub mod permission;
mod shell;
pub mod wire;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub real: Option<Real>,
}

/// Where the file of a tool call lies once links are followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Real {
    /// The workspace of the session.
    pub workspace: String,
    /// Every place that the path can mean; empty where that cannot be told.
    pub files: Vec<String>,
}

impl Real {
    /// Itself, unless it says no more than the path of a call in this workspace.
    pub fn unless_plain(self, path: &str, workspace: &str) -> Option<Real> {
        let is_plain = self.workspace == workspace && self.files == [call::whole(path, workspace)];
        (!is_plain).then_some(self)
    }
}

/// Where a tool call is made.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// The folder that the session works in.
    pub workspace: &'a str,
    /// Where the file that it names really lies, where that was looked at and is elsewhere.
    pub real: Option<&'a Real>,
}

impl<'a> From<&'a str> for Around<'a> {
    fn from(workspace: &'a str) -> Around<'a> {
        Around { workspace, real: None }
    }
}

impl HookKind {
    /// The file that a tool is to be used on, where it is about one.
    pub fn path(&self) -> Option<&str> {
        match self {
            HookKind::Tool { input, .. } | HookKind::Permission { input, .. } => call::path_of(input),
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
        /// Recorded, never consulted.
        stop_hook_active: bool,
    },
    /// The agent wants to use a tool.
    Tool {
        /// The tool, as the CLI names it.
        name: String,
        /// Its input, shortened where it is only shown.
        input: Value,
    },
    /// The agent CLI itself asks about a tool that its hook let pass. It guards some places by
    /// rules of its own, such as the files it takes its settings from.
    Permission {
        /// The tool, as the CLI names it.
        name: String,
        /// Its input, shortened where it is only shown.
        input: Value,
    },
    /// The agent asks a person.
    Question {
        /// The tool input as it came: the answer goes back inside it.
        input: Value,
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
pub enum Answer {
    /// Nothing to say: the agent goes its way (a Stop may stop).
    Pass,
    /// The tool may run.
    Allow {
        /// Its input, changed, where it was.
        input: Option<Value>,
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

/// Puts a person's answers into a question's input, as `answers` by question text.
pub fn answer_question(input: &Value, answers: &[(String, String)]) -> Value {
    let mut out = input.clone();
    if let Value::Object(map) = &mut out {
        let pairs = answers.iter().map(|(q, a)| (q.clone(), Value::String(a.clone())));
        map.insert("answers".to_owned(), Value::Object(pairs.collect()));
    }
    out
}

/// The texts of the questions in a question's input.
pub fn question_texts(input: &Value) -> Vec<String> {
    let list = input.get("questions").and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(|q| q.get("question")?.as_str());
    texts.map(str::to_owned).collect()
}
