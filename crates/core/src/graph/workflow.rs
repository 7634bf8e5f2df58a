//! A workflow: inputs, settings, and nodes in structured blocks.
//!
//! Templates and conditions stay source text; a run evaluates them when it reaches their node. Ids
//! are unique in the whole workflow, nested blocks included.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::permission::Isolation;
use crate::id::NodeId;
use crate::words;

pub use super::computed::{NodeNumber, input_name};
pub use crate::engine::node::{
    AskNode, CheckNode, CriteriaLoopNode, EachNode, FailNode, FinallyNode, IfNode, Join, LandNode,
    ListSource, ListenNode, LoopNode, ParallelBranch, ParallelNode, PromptSource, PullRequestNode,
    ReviewNode, Session, SessionTools, ShellNode, SleepNode, TaskLoopNode, TryNode, TurnLoop, WorkflowNode,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub description: Option<String>,
    pub inputs: Vec<WorkflowInput>,
    /// Defaults for all sessions; a node can override them.
    pub settings: SessionOptions,
    /// Limits for the whole run.
    pub budget: Budget,
    /// Names of the plugins that it needs.
    pub plugins: Vec<String>,
    /// Commands by check name, in addition to the checks of the settings.
    pub checks: BTreeMap<String, String>,
    /// Environment variables of every command, check and session.
    #[serde(default)]
    pub env: BTreeMap<String, Template>,
    /// The value that it gives to a `workflow` node. `None` means the value of its last node.
    #[serde(default)]
    pub gives: Option<Expression>,
    /// The nodes, which run in this order. A `finally` node is the last.
    pub body: Vec<Node>,
}

impl Workflow {
    /// Returns the nodes that run before `finally`.
    pub fn main_nodes(&self) -> &[Node] {
        main_nodes(&self.body)
    }
}

/// Returns the nodes of a workflow that run before its `finally` node.
pub(crate) fn main_nodes(body: &[Node]) -> &[Node] {
    match body.split_last() {
        Some((Node { kind: NodeKind::Finally(_), .. }, before)) => before,
        _ => body,
    }
}

/// The default time limit of `finally`.
pub const FINALLY_MS: u64 = 600_000;
/// The id of the `finally` node.
pub const FINALLY_ID: &str = "finally";

/// A declared input of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowInput {
    /// The name in templates: `inputs.NAME`.
    pub name: String,
    pub description: Option<String>,
    pub kind: InputKind,
    /// Windlass refuses a run without it.
    pub required: bool,
    pub default: Option<Value>,
    /// The allowed values; empty allows any value.
    pub choices: Vec<Value>,
    /// The smallest and the largest allowed number.
    #[serde(default, skip_serializing_if = "InputRange::is_open")]
    pub range: InputRange,
}

impl WorkflowInput {
    /// Makes an optional input that allows every value of its kind.
    pub fn new(name: impl Into<String>, kind: InputKind) -> WorkflowInput {
        WorkflowInput {
            name: name.into(),
            description: None,
            kind,
            required: false,
            default: None,
            choices: Vec::new(),
            range: InputRange::default(),
        }
    }
}

/// The smallest and the largest number that an input allows.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InputRange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
}

impl InputRange {
    /// Returns true if every number is allowed.
    pub fn is_open(&self) -> bool {
        *self == InputRange::default()
    }

    /// Describes the allowed numbers if a value is not among them. Other values than numbers fit.
    pub fn wanted(&self, value: &Value) -> Option<String> {
        let number = value.as_f64()?;
        let is_low = self.minimum.is_some_and(|least| number < least);
        let is_high = self.maximum.is_some_and(|most| number > most);
        let wanted = match (self.minimum, self.maximum) {
            (Some(least), Some(most)) => format!("from {least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => return None,
        };
        (is_low || is_high).then_some(wanted)
    }
}

words! {
    /// The type of an input.
    pub enum InputKind {
        Text = "text",
        Number = "number",
        Integer = "integer",
        Boolean = "boolean",
        /// A list of texts.
        List = "list",
    }
}

/// A node, with the fields that every kind has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The name; templates read its output as `outputs.ID`.
    pub id: NodeId,
    #[serde(rename = "act")]
    pub kind: NodeKind,
    /// A condition; the run skips the node when it is false.
    pub when: Option<Expression>,
    pub settings: SessionOptions,
    pub retry: RetryPolicy,
    pub budget: Budget,
    pub on_failure: OnFailure,
    /// Environment variables of the commands, checks and sessions in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Template>,
    /// The numbers that the run computes when the node starts. The field itself has the largest allowed value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub computed: BTreeMap<NodeNumber, Expression>,
}

/// A text with `{{ … }}` in it, rendered once when its node starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(pub String);

/// A condition, or an expression that yields a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Expression(pub String);

/// The work of a node, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Session(Session),
    /// A command line from the workflow's author.
    Shell(ShellNode),
    /// Checks that must pass.
    Check(CheckNode),
    /// A choice between two blocks.
    If(IfNode),
    /// A block repeated until a condition is true.
    Loop(LoopNode),
    /// A block run once for each task of a file, as the tasks become ready.
    TaskLoop(TaskLoopNode),
    /// A block repeated until a session's last message contains a signal.
    CriteriaLoop(CriteriaLoopNode),
    /// Blocks that run at the same time.
    Parallel(ParallelNode),
    /// A block run once for each item of a list.
    Each(EachNode),
    /// Nodes that may fail, and the nodes that run then.
    Try(TryNode),
    /// Fails with a reason.
    Fail(FailNode),
    /// The nodes that run at the end, whatever the end. Only the last node of a workflow.
    Finally(FinallyNode),
    Workflow(WorkflowNode),
    Ask(AskNode),
    Wait(WaitUntil),
    /// A review of the work so far, in a separate session.
    Review(ReviewNode),
    /// Puts the commits of the worktree onto the target branch.
    Land(LandNode),
    PullRequest(PullRequestNode),
    /// Makes the next session start without the earlier conversation.
    ClearContext,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitUntil {
    Elapsed(SleepNode),
    /// An event that a person or program sends to the run.
    Event(ListenNode),
}

/// Options for sessions. An option that is `None` comes from the enclosing level.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionOptions {
    /// The name of the driver, or `inputs.NAME`.
    pub driver: Option<String>,
    /// The model, a template.
    pub model: Option<String>,
    /// The models to try in order when the first one is not available, templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    pub isolation: Option<Isolation>,
    /// The time limit of a node.
    pub timeout_ms: Option<u64>,
    /// The shell that runs command lines. Only a whole workflow has it.
    pub shell: Option<ShellProgram>,
    /// The expression for the time limit of a run, up to `timeout_ms`. Only a whole workflow has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_from: Option<Expression>,
}

words! {
    /// The shell that runs the command lines of a workflow.
    #[derive(Default)]
    pub enum ShellProgram {
        #[default]
        Sh = "sh",
        /// `bash -euo pipefail`.
        Bash = "bash",
    }
}

impl SessionOptions {
    /// Returns the models in the order in which they are tried.
    pub fn models(&self) -> impl Iterator<Item = &String> {
        self.model.iter().chain(&self.fallbacks)
    }
}

words! {
    /// The effort with which a model thinks.
    pub enum Effort {
        Low = "low",
        Medium = "medium",
        High = "high",
        XHigh = "xhigh",
        Max = "max",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Retries after the first try.
    pub times: u32,
    /// The first pause; each further pause is twice as long.
    pub delay_ms: u64,
}

/// Limits on spending. `None` sets no limit here; an enclosing budget may still apply.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    pub turns: Option<u32>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub time_ms: Option<u64>,
}

impl Budget {
    /// Returns this budget, with the limits of the other where this one has none.
    pub fn or(&self, other: &Budget) -> Budget {
        Budget {
            turns: self.turns.or(other.turns),
            tokens: self.tokens.or(other.tokens),
            cost_usd: self.cost_usd.or(other.cost_usd),
            time_ms: self.time_ms.or(other.time_ms),
        }
    }

    /// Returns the budget that satisfies both, limit by limit.
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
    /// The effect of a failed node on the run.
    #[derive(Default)]
    pub enum OnFailure {
        /// The run fails.
        #[default]
        Fail = "fail",
        /// The run continues; `outputs.ID.failed` is true.
        Continue = "continue",
    }
}
