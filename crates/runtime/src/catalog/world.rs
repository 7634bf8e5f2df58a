//! Collects what the checks of a workflow document know about this machine: entities, other workflows,
//! drivers and checks.
//!
//! The entity folders are read only when a document names an entity.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use windlass_core::graph::check::{Ability, CheckContext};
use windlass_core::graph::workflow::{InputKind, Node, Workflow, WorkflowInput};
use windlass_core::registry::Registry;
use windlass_core::registry::losses::EntityDriver;
use windlass_core::spec::Check;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::{AgentSettings, Resolved};
use windlass_forms::workflow::document::WorkflowDocument;
use windlass_peers::agent::{Agents, Capabilities};

use super::{Catalog, WorkflowEntry};
use crate::entities;
use crate::home::Home;
use crate::plan::called_workflows as called;
use crate::plan::{PlanPurpose, entity_driver};

/// The surroundings against which documents are checked.
pub(crate) struct World<'a> {
    searched: SearchedPlaces<'a>,
    entities: OnceCell<UsableEntities>,
    workflows: BTreeMap<String, Option<Workflow>>,
    /// The documents of other workflows, by name.
    documents: BTreeMap<String, WorkflowDocument>,
    /// Names of workflows that have errors, or have none, as far as anybody asked.
    with_errors: RefCell<BTreeMap<String, bool>>,
    checks: BTreeSet<String>,
    driver: String,
    agents: Agents,
    /// True if the documents are meant to run, and not only to be walked with stubs.
    is_run: bool,
    /// True if the check lists what sessions lose on their drivers.
    lists_losses: bool,
}

/// The places where entities are searched.
struct SearchedPlaces<'a> {
    home: &'a Home,
    cwd: &'a Path,
    plugins: &'a [PathBuf],
    resolved: &'a Resolved,
}

/// The usable entities, and the reasons why others are not usable.
#[derive(Default)]
struct UsableEntities {
    registry: Registry,
    broken: BTreeMap<String, String>,
}

impl<'a> World<'a> {
    /// Collects the surroundings, except for entities.
    pub(crate) fn look(
        home: &'a Home,
        cwd: &'a Path,
        plugins: &'a [PathBuf],
        resolved: &'a Resolved,
        catalog: &Catalog,
    ) -> World<'a> {
        // The first of two workflows with the same name runs.
        let first = catalog.workflows.iter().rev();
        let workflows = first.map(|entry| (entry.name.clone(), Some(callable(entry)))).collect();
        let documents = catalog.workflows.iter().rev().filter_map(|entry| {
            let document = entry.document()?;
            Some((entry.name.clone(), document.clone()))
        });
        let unreadable = catalog.broken.iter().map(|(name, _)| (name.clone(), true));
        let with_errors =
            unreadable.filter(|(name, _)| catalog.workflows.iter().all(|entry| entry.name != *name));
        World {
            documents: documents.collect(),
            with_errors: RefCell::new(with_errors.collect()),
            searched: SearchedPlaces { home, cwd, plugins, resolved },
            entities: OnceCell::new(),
            workflows,
            checks: resolved.settings.checks.iter().map(|check| check.name.clone()).collect(),
            driver: resolved.settings.driver.clone(),
            agents: home.agents.clone(),
            is_run: true,
            lists_losses: false,
        }
    }

    /// Adds the checks of the command line, which nodes can name, too.
    pub(crate) fn with_checks(mut self, checks: &[Check]) -> World<'a> {
        self.checks.extend(checks.iter().map(|check| check.name.clone()));
        self
    }

    /// Allows kinds of nodes that runs do not support yet, because a rehearsal walks them with stubs.
    pub(crate) fn for_purpose(mut self, purpose: PlanPurpose) -> World<'a> {
        self.is_run = purpose == PlanPurpose::Run;
        self
    }

    /// Also lists what sessions lose on their drivers. A run does that itself, for the drivers that it uses.
    pub(crate) fn with_losses(self) -> World<'a> {
        World { lists_losses: true, ..self }
    }

    /// Returns all diagnostics of a document, including those from reading it.
    pub(crate) fn check(&self, document: &WorkflowDocument, said: Vec<Diagnostic>) -> Vec<Diagnostic> {
        self.check_among(document, said, BTreeSet::new())
    }

    /// Returns all diagnostics of a document, and reports nodes that run a workflow with errors.
    pub(crate) fn check_with_called(
        &self,
        document: &WorkflowDocument,
        said: Vec<Diagnostic>,
    ) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::from([document.workflow.name.clone()]);
        let mut left = called(&document.workflow);
        let mut broken = BTreeSet::new();
        while let Some(name) = left.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if self.has_errors(&name) {
                broken.insert(name.clone());
            }
            left.extend(self.workflows.get(&name).and_then(Option::as_ref).map(called).unwrap_or_default());
        }
        self.check_among(document, said, broken)
    }

    /// Decides whether the document of a workflow has errors of its own.
    fn has_errors(&self, name: &str) -> bool {
        if let Some(known) = self.with_errors.borrow().get(name) {
            return *known;
        }
        let Some(document) = self.documents.get(name) else { return false };
        let has_errors = self.check(document, Vec::new()).iter().any(Diagnostic::is_error);
        self.with_errors.borrow_mut().insert(name.to_owned(), has_errors);
        has_errors
    }

    fn check_among(
        &self,
        document: &WorkflowDocument,
        said: Vec<Diagnostic>,
        broken_workflows: BTreeSet<String>,
    ) -> Vec<Diagnostic> {
        let none = UsableEntities::default();
        let entities = if names_an_entity(&document.workflow) { self.entities() } else { &none };
        let known = CheckContext {
            broken: entities.broken.clone(),
            workflows: self.workflows.clone(),
            broken_workflows,
            checks: self.checks.clone(),
            drivers: self
                .agents
                .iter()
                .map(|dialect| (dialect.name().to_owned(), abilities(dialect.capabilities())))
                .collect(),
            entity_drivers: self.entity_drivers(),
            driver_models: self.driver_models(),
            prices: self.searched.resolved.settings.price_table(),
            driver: Some(self.driver.clone()),
            is_run: self.is_run,
            ..CheckContext::new(&entities.registry)
        };
        document.check(said, &known)
    }

    fn entity_drivers(&self) -> Vec<EntityDriver<'static>> {
        let asked = self.agents.iter().filter(|_| self.lists_losses);
        asked.map(|dialect| entity_driver(&self.agents, dialect.name())).collect()
    }

    fn driver_models(&self) -> BTreeMap<String, String> {
        let agents = &self.searched.resolved.settings.agents;
        let configured =
            |(name, agent): (&String, &AgentSettings)| Some((name.clone(), agent.model.clone()?));
        agents.iter().filter_map(configured).collect()
    }

    /// Returns the entities, if a checked document named one.
    pub(crate) fn into_registry(self) -> Registry {
        self.entities.into_inner().unwrap_or_default().registry
    }

    fn entities(&self) -> &UsableEntities {
        self.entities.get_or_init(|| {
            let SearchedPlaces { home, cwd, plugins, resolved } = self.searched;
            let loaded = entities::load_with(home, cwd, plugins, resolved);
            UsableEntities { broken: loaded.broken_names(), registry: loaded.registry }
        })
    }
}

/// Decides whether a node names a skill, a command or an agent. A mention in a prompt does not count, because
/// the agent reads it.
fn names_an_entity(workflow: &Workflow) -> bool {
    let mut left: Vec<&Node> = workflow.body.iter().collect();
    while let Some(node) = left.pop() {
        let names_one = node.kind.names_entity();
        if names_one {
            return true;
        }
        left.extend(node.kind.blocks().iter().flat_map(|block| block.body));
    }
    false
}

/// Returns the graph as other workflows call it: with an `input` besides its own inputs.
fn callable(entry: &WorkflowEntry) -> Workflow {
    let mut graph = entry.graph().into_owned();
    if graph.inputs.iter().all(|input| input.name != "input") {
        graph.inputs.push(WorkflowInput {
            name: "input".to_owned(),
            description: None,
            kind: InputKind::Text,
            required: false,
            default: None,
            choices: Vec::new(),
            range: Default::default(),
        });
    }
    graph
}

fn abilities(can: Capabilities) -> BTreeSet<Ability> {
    let Capabilities { stop_block, resume, questions, permissions, plugins, effort, .. } = can;
    let can = [
        (Ability::StopBlock, stop_block),
        (Ability::Resume, resume),
        (Ability::Questions, questions),
        (Ability::Permissions, permissions),
        (Ability::Effort, effort),
        (Ability::Plugins, plugins),
    ];
    can.into_iter().filter(|(_, can)| *can).map(|(ability, _)| ability).collect()
}
