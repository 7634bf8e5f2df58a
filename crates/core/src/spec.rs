//! What a run was asked to do: everything decided before it starts, and nothing after.
//!
//! Made by the runtime from a workflow (read by `forms`), the settings and the flags; stored
//! whole in the first event, so that a later change of files changes no running run.

use serde::{Deserialize, Serialize};

use crate::graph::Node;
use crate::hook::permission::{Isolation, Rules as PermissionRules};

/// One run's orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The workflow's name.
    pub workflow: String,
    /// Random text from which session ids are derived.
    pub seed: String,
    /// What the user typed, byte for byte.
    pub input: String,
    /// What is to be done.
    pub node: Node,
    /// The absolute folder the sessions work in.
    pub workspace: String,
    /// The machine that folder is on.
    pub machine: String,
    /// Which agent CLI, and how.
    pub driver: Driver,
    /// The preset, after the workflow's wish was honoured.
    pub isolation: Isolation,
    /// The settings' own allow, deny and ask rules.
    #[serde(default)]
    pub permissions: PermissionRules,
    /// Plugins given to the agent.
    #[serde(default)]
    pub plugins: Vec<Plugin>,
    /// Gates run by Windlass after a turn.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What is answered when nobody can be asked.
    pub policy: Policy,
    /// Bounds on time.
    #[serde(default)]
    pub limits: Limits,
}

/// How one agent CLI is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// `claude`, `sim`, ...
    pub name: String,
    /// The program, absolute, found before the run.
    pub program: String,
    /// The model, as the CLI names it.
    #[serde(default)]
    pub model: Option<String>,
    /// Arguments the user adds after `--`.
    #[serde(default)]
    pub args: Vec<String>,
}

/// A plugin folder given to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plugin {
    /// Its name, from `plugin.json`.
    pub name: String,
    /// Its absolute folder.
    pub dir: String,
}

/// A command that must succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// How it is called in messages.
    pub name: String,
    /// The user's own command line, run by `sh -c`.
    pub command: String,
}

/// What is answered when the rules leave it open and nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// For a tool the rules say to ask about.
    pub on_permission: OnPermission,
    /// For a question of the agent.
    pub on_question: OnQuestion,
}

/// `--on-permission`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPermission {
    /// The tool is refused.
    Deny,
    /// The tool may run.
    Allow,
    /// The run ends as blocked.
    Fail,
    /// A person is waited for.
    Ask,
}

/// `--on-question`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnQuestion {
    /// The run ends as blocked, at once.
    Fail,
    /// The agent is told to decide by itself.
    Empty,
    /// A person is waited for.
    Wait,
}

/// Bounds on time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The whole run, from its start.
    pub run_ms: Option<u64>,
    /// One check.
    pub check_ms: u64,
    /// Between terminate and kill.
    pub grace_ms: u64,
    /// The first wait after a transient error; it doubles.
    pub retry_ms: u64,
    /// The wait after a rate limit that does not say when it ends; it doubles.
    pub rate_limit_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { run_ms: None, check_ms: 600_000, grace_ms: 5_000, retry_ms: 2_000, rate_limit_ms: 300_000 }
    }
}
