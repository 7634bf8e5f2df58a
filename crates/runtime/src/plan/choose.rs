//! Selects what to run: a workflow by name, the only workflow of the plugins, or an entity. Collects all
//! workflows that it runs, too.

use std::path::Path;

use windlass_core::graph::workflow::Workflow;
use windlass_core::registry::Registry;
use windlass_core::spec::Check;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::document::WorkflowDocument;

use super::{PlanPurpose, RunRequest, WantedWorkflow, entity, nodes};
use crate::catalog::{Body, Catalog, WorkflowEntry, World};
use crate::entities;
use crate::home::Home;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};

/// The workflow of `windlass loop`.
const LOOP: &str = "loop";

/// The selected workflow and everything it runs.
pub(super) struct Selection<'a> {
    pub(super) main: PlannedWorkflow<'a>,
    /// The workflows it runs, at any depth, each once.
    pub(super) others: Vec<PlannedWorkflow<'a>>,
    /// The entities that nodes name.
    pub(super) registry: Registry,
    pub(super) warnings: Vec<ProblemPart>,
    /// One line per provider about the entities found.
    pub(super) notes: Vec<String>,
}

/// A workflow, with the document it was read from if there is one.
pub(super) struct PlannedWorkflow<'a> {
    pub(super) workflow: Workflow,
    pub(super) document: Option<&'a WorkflowDocument>,
    pub(super) is_builtin: bool,
}

impl<'a> PlannedWorkflow<'a> {
    fn of(entry: &'a WorkflowEntry) -> PlannedWorkflow<'a> {
        let document = match &entry.body {
            Body::Document(document) => Some(&**document),
            Body::File(_) => None,
        };
        PlannedWorkflow { workflow: entry.graph().into_owned(), document, is_builtin: entry.is_builtin }
    }

    fn alone(self) -> Selection<'a> {
        Selection {
            main: self,
            others: Vec::new(),
            registry: Registry::new(Vec::new()),
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// The sources in which a request finds its workflow.
pub(super) struct WorkflowSources<'a> {
    pub(super) home: &'a Home,
    pub(super) cwd: &'a Path,
    pub(super) resolved: &'a Resolved,
    pub(super) catalog: &'a Catalog,
    /// The diagnostics of documents that were set aside.
    pub(super) broken: &'a [Diagnostic],
    /// The checks from `--check`.
    pub(super) checks: &'a [Check],
    pub(super) purpose: PlanPurpose,
}

impl<'a> WorkflowSources<'a> {
    pub(super) fn choose(&self, request: &RunRequest) -> Result<Selection<'a>, UserError> {
        let WantedWorkflow::Entity { kind, name } = &request.want else {
            let part = PlannedWorkflow::of(select(self.catalog, self.broken, &request.want)?);
            if part.document.is_some() {
                return self.with_others(request, part);
            }
            no_inputs(request, &part.workflow.name)?;
            return Ok(part.alone());
        };
        let loaded = entities::load_with(self.home, self.cwd, &request.plugins, self.resolved);
        let found = loaded.registry.lookup(*kind, name);
        let entity = found.map_err(|miss| {
            let Some(problem) = loaded.broken(name) else {
                let list = format!("`windlass entities list --type {kind}` lists them");
                let hint = miss.suggestion().map(|near| format!("{near} {list}")).unwrap_or(list);
                return UserError::new(UserErrorKind::Configuration, miss.text()).hint(hint);
            };
            let text = format!("{kind} `{name}` cannot be used: {}", entities::why(problem));
            let hint = problem.hint.clone();
            UserError::new(UserErrorKind::Configuration, text)
                .hint(hint.unwrap_or_else(|| "`windlass entities check` shows the line".to_owned()))
        })?;
        no_inputs(request, &entity.name)?;
        let part = PlannedWorkflow { workflow: entity::workflow(entity), document: None, is_builtin: false };
        let notes = entities::start_up_lines(&loaded.registry);
        Ok(Selection { registry: loaded.registry, notes, ..part.alone() })
    }

    /// Checks a document and every workflow it runs. Refuses an error in any of them.
    fn with_others(
        &self,
        request: &RunRequest,
        main: PlannedWorkflow<'a>,
    ) -> Result<Selection<'a>, UserError> {
        let world = World::look(self.home, self.cwd, &request.plugins, self.resolved, self.catalog);
        let world = world.with_checks(self.checks).for_purpose(self.purpose);
        let mut warnings = Vec::new();
        let mut others: Vec<PlannedWorkflow<'a>> = Vec::new();
        self.check(&world, &main, &mut warnings)?;
        let mut left = nodes::called(&main.workflow);
        while let Some(name) = left.pop() {
            let is_there = |other: &PlannedWorkflow<'_>| other.workflow.name == name;
            if is_there(&main) || others.iter().any(is_there) {
                continue;
            }
            let part = PlannedWorkflow::of(self.find(&name)?);
            self.check(&world, &part, &mut warnings)?;
            left.extend(nodes::called(&part.workflow));
            others.push(part);
        }
        let registry = world.into_registry();
        // The entities of a built-in workflow are its own affair.
        let notes = if main.is_builtin { Vec::new() } else { entities::start_up_lines(&registry) };
        Ok(Selection { main, others, registry, warnings, notes })
    }

    /// Refuses a workflow with errors, and collects its warnings.
    fn check(
        &self,
        world: &World<'_>,
        part: &PlannedWorkflow<'_>,
        warnings: &mut Vec<ProblemPart>,
    ) -> Result<(), UserError> {
        let Some(document) = part.document else { return Ok(()) };
        for name in nodes::called(&part.workflow) {
            self.is_whole(&name)?;
        }
        let found = world.check(document, Vec::new());
        if let Some(problem) = UserError::of(&found) {
            return Err(self.with_nameless(problem, &part.workflow));
        }
        // Users cannot fix the workflows that come with Windlass.
        if !part.is_builtin {
            warnings.extend(found.into_iter().map(ProblemPart::from));
        }
        Ok(())
    }

    /// Reports a called workflow as broken rather than missing if its document has errors.
    fn is_whole(&self, name: &str) -> Result<(), UserError> {
        if self.catalog.workflows.iter().any(|entry| entry.name == name) {
            return self.catalog.broken_first(name, self.broken).map_or(Ok(()), Err);
        }
        UserError::of(&self.catalog.about(self.broken, name)).map_or(Ok(()), Err)
    }

    /// Adds a hint to the error about a missing workflow: it may be in a file without a name.
    fn with_nameless(&self, problem: UserError, workflow: &Workflow) -> UserError {
        let is_there = |name: &String| !matches!(self.catalog.named(name), Ok(None));
        let missing = nodes::called(workflow).into_iter().find(|name| !is_there(name));
        let missing = missing.map(|name| self.catalog.missing(&name, self.broken));
        let Some(missing) = missing else { return problem };
        problem.after(missing.parts)
    }

    fn find(&self, name: &str) -> Result<&'a WorkflowEntry, UserError> {
        self.catalog.named(name)?.ok_or_else(|| self.catalog.missing(name, self.broken))
    }
}

/// The broken documents that a plan leaves out, with a warning about each.
pub(super) struct SetAside {
    pub(super) warnings: Vec<String>,
    pub(super) broken: Vec<Diagnostic>,
}

/// Sets broken documents aside. Only a request that needs one of them fails; the others get a warning.
pub(super) fn set_aside(catalog: &mut Catalog, want: &WantedWorkflow) -> Result<SetAside, UserError> {
    let is_broken =
        |file: &String| catalog.problems.iter().any(|problem| problem.is_error() && problem.is_in(file));
    let files: Vec<String> =
        catalog.files.iter().map(|path| path.display().to_string()).filter(is_broken).collect();
    let is_of_a_document = |problem: &Diagnostic| files.iter().any(|file| problem.is_in(file));
    let (broken, others) = std::mem::take(&mut catalog.problems).into_iter().partition(is_of_a_document);
    catalog.problems = others;
    let broken: Vec<Diagnostic> = broken;
    if let Some(name) = want.name() {
        if let Some(problem) = catalog.broken_first(name, &broken) {
            return Err(problem);
        }
        let is_there = !matches!(catalog.named(name), Ok(None));
        let mut about = catalog.about(&broken, name);
        if let (true, Some((_, own))) = (about.is_empty(), name.split_once(':')) {
            about = catalog.about(&broken, own);
        }
        if let Some(problem) = UserError::of(&about).filter(|_| !is_there) {
            return Err(problem);
        }
    }
    let is_of_a_plugin = |problem: &&Diagnostic| {
        catalog.of_plugins.iter().any(|path| problem.is_in(&path.display().to_string()))
    };
    let of_plugins: Vec<Diagnostic> = broken.iter().filter(is_of_a_plugin).cloned().collect();
    if let (WantedWorkflow::Workflow(None), Some(problem)) = (want, UserError::of(&of_plugins)) {
        // The broken workflow may be the intended one, so nothing else runs in its place.
        return Err(problem.hint("fix it, or say what to run: `--workflow NAME`, or `windlass loop`"));
    }
    let mut names: Vec<&str> = broken
        .iter()
        .filter(|problem| problem.is_error())
        .filter_map(|problem| problem.file.as_deref())
        .collect();
    names.dedup();
    let say =
        |file: &&str| format!("{file} has mistakes and is left out; `windlass workflow check` shows them");
    let warnings = names.iter().map(say).collect();
    Ok(SetAside { warnings, broken })
}

/// Refuses `--input` for anything but a workflow document.
fn no_inputs(request: &RunRequest, name: &str) -> Result<(), UserError> {
    let Some((input, _)) = request.inputs.first() else { return Ok(()) };
    Err(UserError::new(UserErrorKind::Usage, format!("`{name}` has no input `{input}`"))
        .hint("only workflow documents with `inputs` take --input"))
}

/// Returns the named workflow, else the only one of the plugins, else the built-in loop.
fn select<'a>(
    catalog: &'a Catalog,
    broken: &[Diagnostic],
    want: &WantedWorkflow,
) -> Result<&'a WorkflowEntry, UserError> {
    let all: Vec<&WorkflowEntry> = catalog.workflows.iter().collect();
    if *want == WantedWorkflow::Loop {
        let found = all.iter().find(|entry| entry.name == LOOP && entry.is_builtin).copied();
        return found.ok_or_else(|| catalog.missing(LOOP, broken));
    }
    if let Some(wanted) = want.name() {
        return catalog.named(wanted)?.ok_or_else(|| catalog.missing(wanted, broken));
    }
    let of_plugins: Vec<&WorkflowEntry> = all.iter().copied().filter(|entry| entry.from_plugin).collect();
    match of_plugins.as_slice() {
        [] => select(catalog, broken, &WantedWorkflow::Loop),
        [only] => Ok(only),
        several => {
            let text = format!("plugins bring {} workflows, and none is chosen", several.len());
            let whole = |entry: &&WorkflowEntry| {
                let is_alone = several.iter().filter(|other| other.name == entry.name).count() == 1;
                if is_alone { entry.name.clone() } else { format!("{}:{}", entry.owner_name(), entry.name) }
            };
            let names: Vec<String> = several.iter().map(whole).collect();
            Err(UserError::new(UserErrorKind::Usage, text)
                .hint(format!("choose one with --workflow NAME: {}", names.join(", "))))
        }
    }
}
