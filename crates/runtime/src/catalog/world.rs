//! What the checks of a workflow document know of this machine: entities, other workflows,
//! drivers and checks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::graph::check::{Ability, Known, check};
use windlass_core::graph::workflow::Workflow;
use windlass_core::registry::Registry;
use windlass_forms::diagnostic::{Diagnostic, Severity};
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::document::Document;
use windlass_peers::agent::{Capabilities, Driver};

use super::{Body, Catalog};
use crate::entities;
use crate::home::Home;
use crate::plan::only_session;
use crate::problem::Problem;

/// The nodes a run can carry out so far.
const RUNS: [&str; 4] = ["prompt", "skill", "command", "agent"];

/// What there is.
pub(crate) struct World {
    pub(crate) registry: Registry,
    workflows: BTreeMap<String, Option<Workflow>>,
    checks: BTreeSet<String>,
    driver: String,
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
        let graph = |entry: &super::WorkflowEntry| match &entry.body {
            Body::Document(document) => Some(document.workflow.clone()),
            Body::File(_) | Body::Builtin => None,
        };
        Ok(World {
            registry: entities::load(home, cwd, plugins)?.registry,
            workflows: catalog.workflows.iter().map(|entry| (entry.name.clone(), graph(entry))).collect(),
            checks: resolved.settings.checks.iter().map(|check| check.name.clone()).collect(),
            driver: resolved.settings.driver.clone(),
        })
    }

    /// Everything that is wrong with a document, besides what reading it said.
    pub(crate) fn check(&self, document: &Document, said: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let known = Known {
            workflows: self.workflows.clone(),
            checks: self.checks.clone(),
            drivers: Driver::ALL
                .iter()
                .map(|driver| (driver.name().to_owned(), abilities(*driver)))
                .collect(),
            driver: Some(self.driver.clone()),
            runs: RUNS.into_iter().collect(),
            ..Known::new(&self.registry)
        };
        let mut all = document.report(said, &check(&document.workflow, &known));
        if let Err(why) = only_session(&document.workflow) {
            all.push(Diagnostic::new(Severity::Warning, &why.text).in_file(Some(document.file())));
        }
        all
    }
}

fn abilities(driver: Driver) -> BTreeSet<Ability> {
    let Capabilities { stop_block, resume, questions, .. } = driver.capabilities();
    let can = [
        (Ability::StopBlock, stop_block),
        (Ability::Resume, resume),
        (Ability::Questions, questions),
        (Ability::Plugins, matches!(driver, Driver::Claude | Driver::Sim)),
        (Ability::Schema, matches!(driver, Driver::Claude | Driver::Sim)),
    ];
    can.into_iter().filter(|(_, can)| *can).map(|(ability, _)| ability).collect()
}
