//! The specification of a run: everything that is decided before it starts.
//!
//! The runtime compiles it from a workflow (read by `forms`), the settings and the flags. The first
//! event stores it whole, so editing a file later does not change a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entity::Entity;
use crate::graph::workflow::{
    Budget, Effort, Expression, InputKind, InputRange, Node, NodeKind, ShellProgram, Template, main_nodes,
};
use crate::hook::permission::{Isolation, PermissionRules, may_write};
use crate::id::{NodeId, RunId};
use crate::looping::{LoopMode, LoopRules};
use crate::price::PriceTable;
use crate::time::Moment;
use crate::words;

/// The maximum depth of nested runs. Windlass refuses a workflow that nests deeper, and no run
/// starts a child below this depth.
pub const MAX_DEPTH: u32 = 8;

/// The specification of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub workflow: String,
    /// The workflow's description, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Random text from which session ids are derived.
    pub seed: String,
    /// The text that the user typed, byte for byte.
    pub input: String,
    /// The values of the workflow's declared inputs.
    #[serde(default)]
    pub inputs: BTreeMap<String, Value>,
    /// The declared kind of each input. An input that is not listed has no known kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, InputKind>,
    /// The allowed numbers of each input that has a `minimum` or a `maximum`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, InputRange>,
    /// The nodes, in order.
    pub body: Vec<Node>,
    /// The settings of each session, by node.
    pub sessions: BTreeMap<NodeId, SessionSettings>,
    /// The absolute path of the folder in which the sessions work.
    pub workspace: String,
    /// The machine that has that folder.
    pub machine: String,
    #[serde(default)]
    pub plugins: Vec<Plugin>,
    /// The checks that Windlass runs after a turn and in `check` nodes.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Environment variables of every command, check and session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Template>,
    /// The environment variables of the node that started this run, filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parent_env: BTreeMap<String, String>,
    /// The shell that runs command lines.
    #[serde(default, skip_serializing_if = "is_default_shell")]
    pub shell: ShellProgram,
    /// The value of the run for its parent. `None` means the value of its last node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives: Option<Expression>,
    /// The absolute path of the folder that contains the folders of all runs. `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    /// The answers to use when no one can be asked.
    pub policy: Policy,
    #[serde(default)]
    pub limits: TimeLimits,
    /// The expression over the inputs for the time limit of the run, up to the one in `limits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_from: Option<Expression>,
    /// The budget of the whole run, its child runs included.
    #[serde(default)]
    pub budget: Budget,
    /// The prices of models whose cost no CLI reports, as they were when the run started.
    #[serde(default, skip_serializing_if = "PriceTable::is_empty")]
    pub prices: PriceTable,
    /// The workflows that this run can start, by name. Their inputs are filled in later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Spec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    #[serde(default, skip_serializing_if = "NotifySettings::is_off")]
    pub notify: NotifySettings,
    /// The worktree that Windlass made for this run, if it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<RunWorktree>,
    /// The run that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<ForkOrigin>,
    /// The request from which the runtime planned the run, to plan it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

impl Spec {
    /// Returns the nodes that run before `finally`.
    pub fn main_nodes(&self) -> &[Node] {
        main_nodes(&self.body)
    }

    /// Returns the `finally` node.
    pub fn finally(&self) -> Option<&Node> {
        self.body.last().filter(|node| matches!(node.kind, NodeKind::Finally(_)))
    }

    /// Returns the folder in which a run keeps its own files.
    pub fn artifacts(&self, run: &RunId) -> Option<String> {
        self.runs.as_ref().map(|runs| format!("{runs}/{run}/artifacts"))
    }

    /// Moves this run, and the runs that it starts, to another folder.
    pub fn move_to(&mut self, workspace: &str) {
        workspace.clone_into(&mut self.workspace);
        self.others.values_mut().for_each(|other| other.move_to(workspace));
    }

    /// Decides whether the run may write in its folder: it runs command lines, or a session of it may edit
    /// files or use a shell. Checks do not count.
    pub fn may_write(&self) -> bool {
        self.body.iter().any(runs_commands)
            || self.sessions.values().any(SessionSettings::may_write)
            || self.others.values().any(Spec::may_write)
    }

    /// Decides whether a session of this run, or of a workflow that it starts, leaves its loop to a
    /// plugin.
    pub fn has_plugin_mode(&self) -> bool {
        let mut rules = self.sessions.values().filter_map(|session_settings| session_settings.rules.as_ref());
        rules.any(|rules| rules.mode == LoopMode::Plugin) || self.others.values().any(Spec::has_plugin_mode)
    }

    /// Returns the node and settings of the only session, if the run consists of a single session.
    pub fn only_session(&self) -> Option<(&Node, &SessionSettings)> {
        let [node] = self.body.as_slice() else { return None };
        matches!(node.kind, NodeKind::Session(_)).then_some(node).and_then(|node| {
            let session_settings = self.sessions.get(&node.id)?;
            Some((node, session_settings))
        })
    }

    /// Returns the settings of the only session, or of the first session in the order of node ids.
    pub fn first_session(&self) -> Option<&SessionSettings> {
        self.only_session()
            .map(|(_, session_settings)| session_settings)
            .or_else(|| self.sessions.values().next())
    }

    /// Returns the driver of a node's sessions. Accepts the id of a node in any iteration or
    /// attempt.
    pub fn driver_of(&self, node: &NodeId) -> Option<&str> {
        self.sessions.get(&node.in_workflow()).map(|session_settings| session_settings.driver.name.as_str())
    }

    /// Sets the prices of this run and of the runs that it starts.
    pub fn price_by(&mut self, prices: &PriceTable) {
        self.prices.clone_from(prices);
        self.others.values_mut().for_each(|other| other.price_by(prices));
    }

    /// Sets the policy of this run and of the runs that it starts.
    pub fn follow(&mut self, policy: Policy) {
        self.policy = policy;
        self.others.values_mut().for_each(|other| other.policy = policy);
    }
}

fn is_default_shell(shell: &ShellProgram) -> bool {
    *shell == ShellProgram::default()
}

fn runs_commands(node: &Node) -> bool {
    node.kind.word() == "shell" || node.kind.blocks().iter().any(|block| block.body.iter().any(runs_commands))
}

/// The settings for the sessions of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSettings {
    pub driver: AgentCommand,
    /// The models to try in order, templates. Empty means the model of the driver alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<Template>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The isolation preset that applies, after taking the workflow's request into account.
    pub isolation: Isolation,
    /// The allow, deny and ask rules from the settings.
    #[serde(default)]
    pub permissions: PermissionRules,
    /// The entity whose prompt the agent gets, as it was found before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Box<Entity>>,
    /// The rules of the loop, if the session loops. The prompt is filled in when the node starts.
    /// An empty tracker path is replaced with a default at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<LoopRules>,
    /// The drivers of which an input chooses one, until the inputs are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Box<DriverChoice>>,
    /// The settings with each driver that may take the work over, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<SessionSettings>,
    /// The work returns to its own driver when the limit of that driver has reset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switch_back: bool,
}

/// The drivers that an input may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriverChoice {
    pub input: String,
    /// The settings with each driver.
    pub settings: BTreeMap<String, SessionSettings>,
    /// The reasons why other drivers cannot be used.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

impl SessionSettings {
    /// Returns the settings with one of the drivers. `None` means the node's own driver.
    pub fn with_driver(&self, driver: Option<&str>) -> &SessionSettings {
        let named = |other: &&SessionSettings| Some(other.driver.name.as_str()) == driver;
        self.fallback.iter().find(named).unwrap_or(self)
    }

    /// Returns the drivers that can do the work, the node's own first.
    pub fn drivers(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self).chain(&self.fallback).map(|settings| settings.driver.name.as_str())
    }

    /// Decides whether a session may write files, itself or through a shell, a subagent, a skill or an MCP
    /// server.
    pub fn may_write(&self) -> bool {
        may_write(self.isolation, &self.permissions)
    }
}

/// A worktree that Windlass made for one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunWorktree {
    /// The absolute path of its top folder. The workspace is this folder or one below it.
    pub top: String,
    pub branch: String,
    /// The commit at which the work starts.
    pub base: String,
    /// The folder in which the person started the run.
    pub checkout: String,
    /// The branch that was checked out there, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Windlass made the branch for this run.
    pub made_branch: bool,
}

/// The point of another run at which a fork starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    pub run: RunId,
    pub node: NodeId,
    /// The number of the node's start, counted from 1.
    pub iteration: u32,
    /// The moment at which the fork was made. The copied records have earlier moments.
    pub made: Moment,
}

/// The run that started this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub run: RunId,
    /// The node of the parent run that started it.
    pub node: NodeId,
    /// The number of runs above this one.
    pub depth: u32,
}

/// The command that starts an agent CLI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCommand {
    /// The driver: `claude`, `sim`, ...
    pub name: String,
    /// The absolute path of the program, found before the run.
    pub program: String,
    /// The words of the command after the program. They come before all other arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// The model, in the CLI's own words.
    #[serde(default)]
    pub model: Option<String>,
    /// Arguments that the user adds after `--`.
    #[serde(default)]
    pub args: Vec<String>,
}

impl AgentCommand {
    /// Returns the program and the words of the command, to which a driver adds its arguments.
    pub fn command(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.words).cloned().collect()
    }
}

/// A plugin folder given to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plugin {
    /// The name from `plugin.json`.
    pub name: String,
    /// The absolute path of the folder.
    pub dir: String,
    /// The plugin's Stop hook loops on a state file in the session's folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loops: bool,
}

/// A command that must succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The name for messages.
    pub name: String,
    /// The user's command line, run by `sh -c`.
    pub command: String,
}

/// The answers to use when the rules leave a request open and no one can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// For a tool that needs permission.
    pub on_permission: OnPermission,
    /// For a question of the agent.
    pub on_question: OnQuestion,
}

/// The ways in which a run tells a person that it needs one or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NotifySettings {
    /// The program to run and its arguments; empty if none.
    pub command: Vec<String>,
    /// Ring the bell of the terminal that shows the run.
    pub bell: bool,
    /// Show a notification of that terminal, with the escape sequence OSC 9.
    pub osc9: bool,
}

impl NotifySettings {
    /// Returns true if nobody is told.
    pub fn is_off(&self) -> bool {
        *self == NotifySettings::default()
    }
}

words! {
    /// `--on-permission`.
    pub enum OnPermission {
        /// Refuse the tool.
        Deny = "deny",
        /// Let the tool run.
        Allow = "allow",
        /// End the run as blocked.
        Fail = "fail",
        /// Wait for a person.
        Ask = "ask",
    }
}

words! {
    /// `--on-question`.
    pub enum OnQuestion {
        /// End the run as blocked, at once.
        Fail = "fail",
        /// Tell the agent to decide by itself.
        Empty = "empty",
        /// Wait for a person.
        Wait = "wait",
    }
}

/// Limits on time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeLimits {
    /// The whole run, from its start.
    pub run_ms: Option<u64>,
    /// One check.
    pub check_ms: u64,
    /// The time between terminate and kill.
    pub grace_ms: u64,
    /// The first wait after a transient error. It doubles each time.
    pub retry_ms: u64,
    /// The longest wait after a rate limit with an unknown end. The first wait is a minute, and it
    /// doubles each time.
    pub rate_limit_ms: u64,
}

impl Default for TimeLimits {
    fn default() -> Self {
        TimeLimits {
            run_ms: None,
            check_ms: 600_000,
            grace_ms: 5_000,
            retry_ms: 2_000,
            rate_limit_ms: 300_000,
        }
    }
}
