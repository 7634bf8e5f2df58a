//! What a run was asked to do: everything decided before it starts, and nothing after.
//!
//! Made by the runtime from a workflow (read by `forms`), the settings and the flags; stored
//! whole in the first event, so that a later change of files changes no running run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entity::Entity;
use crate::graph::workflow::{Budget, InputKind, Node, NodeKind};
use crate::hook::permission::{Isolation, PermissionRules};
use crate::id::{NodeId, RunId};
use crate::looping::{LoopMode, LoopRules};
use crate::words;

/// How deep runs may start runs: what a check refuses, and what no run does.
pub const MAX_DEPTH: u32 = 8;

/// One run's orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The workflow's name.
    pub workflow: String,
    /// Random text from which session ids are derived.
    pub seed: String,
    /// What the user typed, byte for byte.
    pub input: String,
    /// The workflow's own inputs, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, Value>,
    /// What each of those must be; of one that is not here nothing is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, InputKind>,
    /// What is done, one after the other.
    pub body: Vec<Node>,
    /// How each session of it is run, by node.
    pub sessions: BTreeMap<NodeId, SessionSettings>,
    /// The absolute folder the sessions work in.
    pub workspace: String,
    /// The machine that folder is on.
    pub machine: String,
    /// Plugins given to the agent.
    #[serde(default)]
    pub plugins: Vec<Plugin>,
    /// Gates run by Windlass after a turn, and by `check` nodes.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What is answered when nobody can be asked.
    pub policy: Policy,
    /// Bounds on time.
    #[serde(default)]
    pub limits: TimeLimits,
    /// What all of it may spend.
    #[serde(default)]
    pub budget: Budget,
    /// The workflows that are run from here, by name: their orders but for what they are told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Spec>,
    /// The run that started this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
}

impl Spec {
    /// Whether a session of it, or of a workflow that it runs, leaves its loop to a plugin.
    pub fn has_plugin_mode(&self) -> bool {
        let mut rules = self.sessions.values().filter_map(|session_settings| session_settings.rules.as_ref());
        rules.any(|rules| rules.mode == LoopMode::Plugin) || self.others.values().any(Spec::has_plugin_mode)
    }

    /// The one session of a run that is nothing else.
    pub fn only_session(&self) -> Option<(&Node, &SessionSettings)> {
        let [node] = self.body.as_slice() else { return None };
        matches!(node.kind, NodeKind::Session(_)).then_some(node).and_then(|node| {
            let session_settings = self.sessions.get(&node.id)?;
            Some((node, session_settings))
        })
    }

    /// The orders of the only session, or of the first in the order of their names.
    pub fn first_session(&self) -> Option<&SessionSettings> {
        self.only_session()
            .map(|(_, session_settings)| session_settings)
            .or_else(|| self.sessions.values().next())
    }

    /// The driver of a node's sessions, by the name that the run knows the node by.
    pub fn driver_of(&self, node: &NodeId) -> Option<&str> {
        self.sessions.get(&node.in_workflow()).map(|session_settings| session_settings.driver.name.as_str())
    }

    /// Takes another policy, for itself and for the runs that it starts.
    pub fn follow(&mut self, policy: Policy) {
        self.policy = policy;
        self.others.values_mut().for_each(|other| other.policy = policy);
    }
}

/// How the sessions of one node are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSettings {
    /// Which agent CLI, and how.
    pub driver: AgentCommand,
    /// The preset, after the workflow's wish was honoured.
    pub isolation: Isolation,
    /// The settings' own allow, deny and ask rules.
    #[serde(default)]
    pub permissions: PermissionRules,
    /// Whose text the agent is told, as it was found before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Box<Entity>>,
    /// The loop of turns, where it has one. Its prompt is filled in when the node begins; a
    /// tracker path that is there and empty is given a place then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<LoopRules>,
}

/// The run that started this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Which.
    pub run: RunId,
    /// Its node.
    pub node: NodeId,
    /// How many are above it.
    pub depth: u32,
}

/// How one agent CLI is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCommand {
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
    /// Its Stop hook loops on a state file in the folder of the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loops: bool,
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

words! {
    /// `--on-permission`.
    pub enum OnPermission {
        /// The tool is refused.
        Deny = "deny",
        /// The tool may run.
        Allow = "allow",
        /// The run ends as blocked.
        Fail = "fail",
        /// A person is waited for.
        Ask = "ask",
    }
}

words! {
    /// `--on-question`.
    pub enum OnQuestion {
        /// The run ends as blocked, at once.
        Fail = "fail",
        /// The agent is told to decide by itself.
        Empty = "empty",
        /// A person is waited for.
        Wait = "wait",
    }
}

/// Bounds on time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeLimits {
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
