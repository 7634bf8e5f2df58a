//! A workflow: inputs, settings, and nodes in structured blocks.
//!
//! Templates and conditions are kept as they were written; what they mean is decided when a
//! run gets there. Ids are unique in the whole workflow, nested blocks included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::permission::Isolation;
use crate::id::NodeId;
use crate::words;

pub use crate::engine::node::{
    AskNode, CheckNode, CriteriaLoopNode, IfNode, Join, LandNode, ListenNode, LoopNode, ParallelBranch,
    ParallelNode, PromptSource, PullRequestNode, ReviewNode, Session, ShellNode, SleepNode, TaskLoopNode,
    TurnLoop, WorkflowNode,
};

/// A workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it is told.
    pub inputs: Vec<WorkflowInput>,
    /// How its sessions are run, where a node says nothing else.
    pub settings: SessionOptions,
    /// What all of it may spend.
    pub budget: Budget,
    /// Plugins it needs, by name.
    pub plugins: Vec<String>,
    /// Commands that must succeed, by name; beside those of the settings.
    pub checks: BTreeMap<String, String>,
    /// What is done, one after the other.
    pub body: Vec<Node>,
}

/// Something a workflow is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowInput {
    /// Its name in templates: `inputs.NAME`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it is.
    pub kind: InputKind,
    /// A run without it is refused.
    pub required: bool,
    /// What it is when nothing is said.
    pub default: Option<Value>,
    /// The only values it may have; any where there are none.
    pub choices: Vec<Value>,
}

words! {
    /// What an input is.
    pub enum InputKind {
        /// Text.
        Text = "text",
        /// A number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
        /// Yes or no.
        Boolean = "boolean",
        /// A list of texts.
        List = "list",
    }
}

/// A node and what is common to all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name; what it gives is `outputs.ID`.
    pub id: NodeId,
    /// What it does.
    #[serde(rename = "act")]
    pub kind: NodeKind,
    /// It is left out where this does not hold.
    pub when: Option<Expression>,
    /// How its sessions are run.
    pub settings: SessionOptions,
    /// How often it is tried again.
    pub retry: RetryPolicy,
    /// What it may spend.
    pub budget: Budget,
    /// What becomes of the run when it fails.
    pub on_failure: OnFailure,
}

/// A text with `{{ … }}` in it, rendered once when its node begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub String);

/// A condition, or a value that is computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression(pub String);

/// What a node does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A session.
    Session(Session),
    /// A command line of the workflow's author.
    Shell(ShellNode),
    /// Checks that must be green.
    Check(CheckNode),
    /// One of two ways.
    If(IfNode),
    /// The same again, until something holds.
    Loop(LoopNode),
    /// Once for each task of a file, as the tasks become ready.
    TaskLoop(TaskLoopNode),
    /// The same again, until the last words of a session hold a signal.
    CriteriaLoop(CriteriaLoopNode),
    /// Several things at once.
    Parallel(ParallelNode),
    /// A run of another workflow.
    Workflow(WorkflowNode),
    /// A question to a person.
    Ask(AskNode),
    /// A wait.
    Wait(WaitUntil),
    /// A review of what was done so far, by a session of its own.
    Review(ReviewNode),
    /// The commits of the worktree onto the target branch.
    Land(LandNode),
    /// A pull request for the branch of the run.
    PullRequest(PullRequestNode),
    /// The next session begins anew.
    ClearContext,
}

/// What a node waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    /// Time.
    Elapsed(SleepNode),
    /// Something that is told to the run.
    Event(ListenNode),
}

/// How sessions are run. What is not said is said farther out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionOptions {
    /// Which agent CLI.
    pub driver: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// What it may use and load.
    pub isolation: Option<Isolation>,
    /// How long a node may take, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// How often something is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Beside the first try.
    pub times: u32,
    /// The first pause, in milliseconds; it doubles.
    pub delay_ms: u64,
}

/// What may be spent. What is not said has no bound of its own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    /// Turns of agents.
    pub turns: Option<u32>,
    /// Tokens, in and out.
    pub tokens: Option<u64>,
    /// Money, in US dollars.
    pub cost_usd: Option<f64>,
    /// Time, in milliseconds.
    pub time_ms: Option<u64>,
}

impl Budget {
    /// What keeps both.
    pub fn least(&self, other: &Budget) -> Budget {
        Budget {
            turns: self.turns.into_iter().chain(other.turns).min(),
            tokens: self.tokens.into_iter().chain(other.tokens).min(),
            cost_usd: self.cost_usd.into_iter().chain(other.cost_usd).reduce(f64::min),
            time_ms: self.time_ms.into_iter().chain(other.time_ms).min(),
        }
    }
}

words! {
    /// What becomes of the run when a node fails.
    #[derive(Default)]
    pub enum OnFailure {
        /// It fails, too.
        #[default]
        Fail = "fail",
        /// It goes on; `outputs.ID.failed` is true.
        Continue = "continue",
    }
}
