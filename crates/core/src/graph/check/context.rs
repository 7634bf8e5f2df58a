//! The facts outside of a workflow that a check uses. The caller collects them as plain data.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::workflow::Workflow;
use crate::price::PriceTable;
use crate::registry::Registry;
use crate::registry::losses::EntityDriver;

/// A capability of a driver beyond a single turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// The agent CLI has a Stop hook that can keep the agent working: `mode: in_session`.
    StopBlock,
    /// The agent CLI can resume a session: `mode: resume`, `continue`.
    Resume,
    /// The agent CLI loads Claude Code plugins: `mode: plugin`, `plugins`.
    Plugins,
    /// The agent can ask a person in the middle of a turn.
    Questions,
    /// The agent CLI asks Windlass about each tool call: `tools`.
    Permissions,
    /// The agent CLI accepts an effort: `effort`.
    Effort,
}

/// The facts outside of a workflow that a check uses.
#[derive(Debug, Clone)]
pub struct CheckContext<'k> {
    pub registry: &'k Registry,
    /// Broken entity files: the error, by the lowercase name that the entity would have.
    pub broken: BTreeMap<String, String>,
    /// Other workflows by name; `None` if the graph is unknown.
    pub workflows: BTreeMap<String, Option<Workflow>>,
    /// Names of other workflows that cannot run, because their documents have errors.
    pub broken_workflows: BTreeSet<String>,
    /// Names of the checks from the settings.
    pub checks: BTreeSet<String>,
    /// Drivers and their capabilities; empty if unknown.
    pub drivers: BTreeMap<String, BTreeSet<Ability>>,
    /// The drivers for which the check lists what a session loses on them; empty if nobody asks.
    pub entity_drivers: Vec<EntityDriver<'static>>,
    /// The models of drivers from the settings.
    pub driver_models: BTreeMap<String, String>,
    /// The prices from the settings.
    pub prices: PriceTable,
    /// The default driver.
    pub driver: Option<String>,
    /// True if the workflow is meant to run. The check then refuses kinds that cannot run yet.
    pub is_run: bool,
    /// True if no person can answer questions.
    pub is_headless: bool,
}

impl<'k> CheckContext<'k> {
    /// Makes a context with entities only.
    pub fn new(registry: &'k Registry) -> CheckContext<'k> {
        CheckContext {
            registry,
            broken: BTreeMap::new(),
            workflows: BTreeMap::new(),
            broken_workflows: BTreeSet::new(),
            checks: BTreeSet::new(),
            drivers: BTreeMap::new(),
            entity_drivers: Vec::new(),
            driver_models: BTreeMap::new(),
            prices: PriceTable::default(),
            driver: None,
            is_run: false,
            is_headless: false,
        }
    }
}
