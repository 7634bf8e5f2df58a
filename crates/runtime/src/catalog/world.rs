//! What the checks of a workflow document know of this machine: entities, other workflows,
//! drivers and checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::graph::check::{Ability, Known};
use windlass_core::graph::workflow::{Input, InputKind, Workflow};
use windlass_core::registry::Registry;
use windlass_core::spec::Check;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::document::Document;
use windlass_peers::agent::{Agents, Capabilities};

use super::{Catalog, WorkflowEntry};
use crate::entities;
use crate::home::Home;
use crate::problem::Problem;

/// The nodes a run can carry out so far.
const RUNS: [&str; 15] = [
    "prompt",
    "skill",
    "command",
    "agent",
    "shell",
    "check",
    "if",
    "loop",
    "task_loop",
    "criteria_loop",
    "parallel",
    "workflow",
    "ask",
    "wait",
    "clear_context",
];

/// What there is.
pub(crate) struct World {
    pub(crate) registry: Registry,
    broken: BTreeMap<String, String>,
    workflows: BTreeMap<String, Option<Workflow>>,
    checks: BTreeSet<String>,
    driver: String,
    agents: Agents,
}

impl World {
    /// Looks around.
    pub(crate) fn look(
        home: &Home,
        cwd: &Path,
        plugins: &[PathBuf],
        resolved: &Resolved,
        catalog: &Catalog,
    ) -> Result<World, Problem> {
        // Of two workflows of one name the first is run.
        let first = catalog.workflows.iter().rev();
        let workflows = first.map(|entry| (entry.name.clone(), Some(callable(entry)))).collect();
        let loaded = entities::load(home, cwd, plugins)?;
        Ok(World {
            broken: loaded.broken_names(),
            registry: loaded.registry,
            workflows,
            checks: resolved.settings.checks.iter().map(|check| check.name.clone()).collect(),
            driver: resolved.settings.driver.clone(),
            agents: home.agents.clone(),
        })
    }

    /// Checks of the command line can be named by nodes, too.
    pub(crate) fn with_checks(mut self, checks: &[Check]) -> World {
        self.checks.extend(checks.iter().map(|check| check.name.clone()));
        self
    }

    /// Everything that is wrong with a document, besides what reading it said.
    pub(crate) fn check(&self, document: &Document, said: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let known = Known {
            broken: self.broken.clone(),
            workflows: self.workflows.clone(),
            checks: self.checks.clone(),
            drivers: self
                .agents
                .iter()
                .map(|dialect| (dialect.name().to_owned(), abilities(dialect.capabilities())))
                .collect(),
            driver: Some(self.driver.clone()),
            runs: RUNS.into_iter().collect(),
            ..Known::new(&self.registry)
        };
        document.check(said, &known)
    }
}

/// The graph as others call it: what it is to work on can be given beside its inputs.
fn callable(entry: &WorkflowEntry) -> Workflow {
    let mut graph = entry.graph().into_owned();
    if graph.inputs.iter().all(|input| input.name != "input") {
        graph.inputs.push(Input {
            name: "input".to_owned(),
            description: None,
            kind: InputKind::Text,
            required: false,
            default: None,
            choices: Vec::new(),
        });
    }
    graph
}

fn abilities(can: Capabilities) -> BTreeSet<Ability> {
    let Capabilities { stop_block, resume, questions, plugins, schema, .. } = can;
    let can = [
        (Ability::StopBlock, stop_block),
        (Ability::Resume, resume),
        (Ability::Questions, questions),
        (Ability::Plugins, plugins),
        (Ability::Schema, schema),
    ];
    can.into_iter().filter(|(_, can)| *can).map(|(ability, _)| ability).collect()
}
