//! A story: the specification of a run, and the script for everything outside it.
//!
//! The outcome of an effect depends only on its name, never on how often it was asked for. That makes a run
//! that died comparable with one that did not.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::event::SessionVerdict;
use windlass_core::graph::workflow::{Node, NodeKind, TurnLoop, Workflow};
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::id::{EffectId, NodeId};
use windlass_core::looping::{DEFAULT_CONTINUE, DEFAULT_MARKER, DEFAULT_TRACKER, LoopMode, LoopRules};
use windlass_core::price::{ModelPrice, PriceTable};
use windlass_core::spec::{
    AgentCommand, Check, OnPermission, OnQuestion, Policy, SessionSettings, Spec, TimeLimits,
};
use windlass_core::tasks::Task;

use super::executor::TOKENS;

/// A story to play.
#[derive(Debug, Clone)]
pub(super) struct Story {
    /// The name in messages.
    pub(super) name: String,
    /// The specification of the first run.
    pub(super) spec: Spec,
    pub(super) script: Script,
    /// The task files at the start.
    pub(super) tasks: BTreeMap<String, Vec<Task>>,
    /// The numbers of turns after which a person pauses each run. A paused run continues once nothing else
    /// happens.
    pub(super) pauses: Vec<u32>,
    /// True if a command that a crash interrupts has an unknown outcome.
    pub(super) loses_shells: bool,
}

impl Story {
    pub(super) fn new(name: impl Into<String>, spec: Spec, script: Script) -> Story {
        let tasks = BTreeMap::new();
        Story { name: name.into(), spec, script, tasks, pauses: Vec::new(), loses_shells: false }
    }

    /// Returns the script line of an effect.
    pub(super) fn line(&self, id: &EffectId) -> Line {
        match &self.script {
            Script::Lines(lines) => {
                let found = lines.get(&id.to_string()).or_else(|| lines.get(id.node.as_str()));
                found.cloned().unwrap_or_default()
            }
            Script::Session(seed) => super::sessions::line(*seed, id),
            Script::Graph(seed) => super::graphs::line(*seed, id),
        }
    }
}

/// The source of script lines.
#[derive(Debug, Clone)]
pub(super) enum Script {
    /// Lines by effect, else by node instance. Everything that is not listed succeeds.
    Lines(BTreeMap<String, Line>),
    /// A seed for a single session.
    Session(u64),
    /// A seed for a graph.
    Graph(u64),
}

/// The outcome of an effect.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) pace: Pace,
    /// True if a command, check or landing succeeds.
    pub(super) ok: bool,
    /// The agent's last message.
    pub(super) says: Option<String>,
    /// The agent's answer to a schema.
    pub(super) value: Option<Value>,
    pub(super) verdict: SessionVerdict,
    /// The turn on which a loop of turns is done.
    pub(super) done_on: u32,
    /// True if performing the effect panics.
    pub(super) breaks: bool,
}

impl Default for Line {
    fn default() -> Line {
        let (pace, verdict) = (Pace::Quick, SessionVerdict::Completed);
        Line { pace, ok: true, says: None, value: None, verdict, done_on: 1, breaks: false }
    }
}

impl Line {
    pub(super) fn bad() -> Line {
        let verdict = SessionVerdict::Failed { cause: Default::default(), what: "it failed".into() };
        Line { ok: false, verdict, ..Line::default() }
    }

    pub(super) fn breaks() -> Line {
        Line { breaks: true, ..Line::default() }
    }

    pub(super) fn says(text: &str) -> Line {
        Line { says: Some(text.into()), ..Line::default() }
    }

    pub(super) fn verdict(verdict: SessionVerdict) -> Line {
        Line { verdict, ..Line::default() }
    }

    pub(super) fn paced(pace: Pace) -> Line {
        Line { pace, ..Line::default() }
    }

    pub(super) fn done_on(turn: u32) -> Line {
        Line { done_on: turn, ..Line::default() }
    }
}

/// The time at which the outcome of an effect comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    Quick,
    /// Once no quick event is left anywhere, so that everything beside it got as far as it can.
    Slow,
    /// Only when the effect is ended.
    Never,
}

/// Returns a number below `sides`: a small, even hash, so that the same question always has the same answer.
pub(super) fn dice(seed: u64, what: u64, sides: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ what.wrapping_mul(0xD1B5_4A32_D192_ED03);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 32)) % sides
}

/// Hashes a text, as a question for [`dice`].
pub(super) fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Builds the [`Spec`] of a workflow as the runtime would.
pub(crate) fn spec_of(workflow: &Workflow) -> Spec {
    let mut sessions = BTreeMap::new();
    orders_in(&workflow.body, &mut sessions);
    let check = |(name, command): (&String, &String)| Check { name: name.clone(), command: command.clone() };
    Spec {
        workflow: workflow.name.clone(),
        description: workflow.description.clone(),
        seed: "seed".into(),
        input: "do it".into(),
        inputs: BTreeMap::new(),
        kinds: BTreeMap::new(),
        ranges: BTreeMap::new(),
        body: workflow.body.clone(),
        sessions,
        workspace: "/w".into(),
        machine: "m".into(),
        plugins: vec![],
        checks: workflow.checks.iter().map(check).collect(),
        env: Default::default(),
        parent_env: Default::default(),
        shell: Default::default(),
        gives: None,
        runs: None,
        policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Wait },
        limits: TimeLimits::default(),
        timeout_from: None,
        budget: workflow.budget,
        prices: prices(),
        others: BTreeMap::new(),
        parent: None,
        notify: Default::default(),
        worktree: None,
        fork_of: None,
        request: None,
    }
}

fn orders_in(body: &[Node], into: &mut BTreeMap<NodeId, SessionSettings>) {
    for node in body {
        if let NodeKind::Session(session) = &node.kind {
            into.insert(node.id.clone(), session_settings(session.turns.as_ref().map(rules)));
        }
        for block in node.kind.blocks() {
            orders_in(block.body, into);
        }
    }
}

pub(super) fn session_settings(rules: Option<LoopRules>) -> SessionSettings {
    SessionSettings {
        driver: AgentCommand {
            name: "sim".into(),
            program: "/sim".into(),
            words: vec![],
            model: None,
            args: vec![],
        },
        models: Vec::new(),
        effort: None,
        isolation: Isolation::Minimal,
        permissions: PermissionRules::default(),
        entity: None,
        rules,
        choice: None,
        fallback: Vec::new(),
        switch_back: false,
    }
}

fn rules(turns: &TurnLoop) -> LoopRules {
    let mode = turns.mode.unwrap_or_default();
    LoopRules {
        prompt: String::new(),
        mode,
        marker: Some(DEFAULT_MARKER.into()),
        marker_match: turns.marker_match,
        promise: None,
        signal: None,
        blocked_marker: None,
        max_iterations: turns.max.unwrap_or(5),
        continue_message: DEFAULT_CONTINUE.into(),
        tracker_body: DEFAULT_TRACKER.into(),
        tracker_path: (mode != LoopMode::Plugin).then(String::new),
        stuck_after: 0,
    }
}

/// The model of every turn, and what a turn costs, by its report or by its price.
pub(super) const MODEL: &str = "priced";
pub(super) const COST: f64 = 0.25;

fn prices() -> PriceTable {
    let output = COST * 1e6 / TOKENS as f64;
    let price = ModelPrice { input: 0.0, output, cached_input: 0.0, cache_write: 0.0 };
    PriceTable([(MODEL.to_owned(), price)].into())
}
