//! What a check knows of the world: plain data, gathered by whoever asks.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::workflow::Workflow;
use crate::registry::Registry;

/// What a driver can do beyond one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// A Stop hook that can be answered with block: `mode: in_session`.
    StopBlock,
    /// A session can be resumed: `mode: resume`.
    Resume,
    /// Claude Code plugins are loaded: `mode: plugin`, `plugins`.
    Plugins,
    /// An answer can be held to a schema: `schema`.
    Schema,
    /// The agent can ask a person in the middle of a turn.
    Questions,
}

/// What a check knows of the world.
#[derive(Debug, Clone)]
pub struct CheckContext<'k> {
    /// Commands, skills and agents.
    pub registry: &'k Registry,
    /// Why a file gives no command, skill or agent, by the name it would have in lower case.
    pub broken: BTreeMap<String, String>,
    /// Other workflows by name, with their graphs where these are known.
    pub workflows: BTreeMap<String, Option<Workflow>>,
    /// Checks of the settings, by name.
    pub checks: BTreeSet<String>,
    /// Drivers and what they can do.
    pub drivers: BTreeMap<String, BTreeSet<Ability>>,
    /// The driver where nobody names one.
    pub driver: Option<String>,
    /// Runs of it are begun here: nodes that runs cannot carry out yet are told.
    pub is_run: bool,
    /// Nobody is there to answer.
    pub is_headless: bool,
}

impl<'k> CheckContext<'k> {
    /// Entities, and nothing else.
    pub fn new(registry: &'k Registry) -> CheckContext<'k> {
        CheckContext {
            registry,
            broken: BTreeMap::new(),
            workflows: BTreeMap::new(),
            checks: BTreeSet::new(),
            drivers: BTreeMap::new(),
            driver: None,
            is_run: false,
            is_headless: false,
        }
    }
}
