//! Chooses what is run: a workflow by its name or because it is the only one, or an entity.

use std::path::Path;

use windlass_core::entity::Entity;
use windlass_core::id::NodeId;
use windlass_core::looping::MarkerMatch;
use windlass_forms::diagnostic::Diagnostic;
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::{LoopPart, WorkflowFile, apply_template};

use super::{Request, Want, document, entity};
use crate::catalog::{Body, Catalog, WorkflowEntry};
use crate::entities;
use crate::home::Home;
use crate::problem::{Class, Problem};

/// What is to be run.
pub(super) struct Chosen {
    /// What a workflow file would say of it.
    pub(super) file: WorkflowFile,
    /// What the agent is told.
    pub(super) told: Told,
    /// What its node is called.
    pub(super) node: Option<NodeId>,
    /// The driver it wants.
    pub(super) driver: Option<String>,
    /// How long it may take.
    pub(super) timeout_ms: Option<u64>,
    /// Its isolation holds downwards too, where nobody asks for another.
    pub(super) lowers_isolation: bool,
    /// What is odd but possible.
    pub(super) warnings: Vec<String>,
    /// What was looked at on the way.
    pub(super) notes: Vec<String>,
}

/// What an agent is told.
pub(super) enum Told {
    /// This.
    Text(String),
    /// What an entity says to these arguments.
    Entity { entity: Box<Entity>, args: String },
}

impl Chosen {
    /// A workflow file on its input.
    fn of_file(file: WorkflowFile, input: &str) -> Chosen {
        let told = Told::Text(apply_template(&file.prompt_template, input));
        Chosen {
            file,
            told,
            node: None,
            driver: None,
            timeout_ms: None,
            lowers_isolation: false,
            warnings: Vec::new(),
            notes: Vec::new(),
        }
    }
}

pub(super) fn choose(
    home: &Home,
    cwd: &Path,
    request: &Request,
    resolved: &Resolved,
    catalog: &Catalog,
) -> Result<Chosen, Problem> {
    let Want::Entity { kind, name } = &request.want else {
        let entry = select(catalog, &request.want)?;
        let file = match &entry.body {
            Body::Document(read) => return document::choose(home, cwd, request, resolved, catalog, read),
            Body::File(file) => (**file).clone(),
            Body::Builtin => builtin(),
        };
        no_inputs(request, &file.name)?;
        return Ok(Chosen::of_file(file, &request.input));
    };
    let loaded = entities::load(home, cwd, &request.plugins)?;
    let found = loaded.registry.lookup(*kind, name);
    let entity = found.map_err(|miss| {
        Problem::new(Class::Configuration, miss.to_string())
            .hint(format!("`windlass entities list --type {kind}` names those there are"))
    })?;
    no_inputs(request, &entity.name)?;
    let driver = request.flags.driver.as_ref().unwrap_or(&resolved.settings.driver);
    let mut chosen = Chosen::of_file(entity::workflow(entity, driver), &request.input);
    chosen.node = Some(NodeId::new(format!("{}-{}", entity.kind, entity.name)));
    chosen.told = Told::Entity { entity: Box::new(entity.clone()), args: request.input.clone() };
    chosen.notes = loaded.start_up_lines();
    Ok(chosen)
}

/// A document that is broken is in nobody's way but of those who want that one: the others hear
/// of it. What is wrong with it, when it is the one.
pub(super) fn set_aside(catalog: &mut Catalog, want: &Want) -> Result<Vec<String>, Problem> {
    let is_broken = |file: &String| {
        let errors = catalog.problems.iter().filter(|problem| problem.is_error());
        errors.filter_map(|problem| problem.file.as_ref()).any(|other| other == file)
    };
    let files: Vec<String> =
        catalog.files.iter().map(|path| path.display().to_string()).filter(is_broken).collect();
    let is_of_a_document =
        |problem: &Diagnostic| problem.file.as_ref().is_some_and(|file| files.contains(file));
    let (of_documents, others) =
        std::mem::take(&mut catalog.problems).into_iter().partition(is_of_a_document);
    catalog.problems = others;
    let of_documents: Vec<Diagnostic> = of_documents;
    if let Want::Workflow(Some(name)) = want {
        let is_wanted = |problem: &&Diagnostic| {
            let file = problem.file.as_deref().map(Path::new);
            file.and_then(Path::file_stem).is_some_and(|stem| stem == name.as_str())
        };
        let wanted: Vec<Diagnostic> = of_documents.iter().filter(is_wanted).cloned().collect();
        let is_there = catalog.workflows.iter().any(|entry| entry.name == *name);
        if let Some(problem) = Problem::of(&wanted).filter(|_| !is_there) {
            return Err(problem);
        }
    }
    let mut broken: Vec<&str> = of_documents
        .iter()
        .filter(|problem| problem.is_error())
        .filter_map(|problem| problem.file.as_deref())
        .collect();
    broken.dedup();
    let say =
        |file: &&str| format!("{file} has mistakes and is left out; `windlass workflow check` shows them");
    Ok(broken.iter().map(say).collect())
}

/// Only a workflow document has inputs of its own.
fn no_inputs(request: &Request, name: &str) -> Result<(), Problem> {
    let Some((input, _)) = request.inputs.first() else { return Ok(()) };
    Err(Problem::new(Class::Usage, format!("`{name}` has no input `{input}`"))
        .hint("only workflow documents with `inputs` take --input"))
}

/// The named workflow; or the only one of the plugins; or the built-in loop.
fn select<'a>(catalog: &'a Catalog, want: &Want) -> Result<&'a WorkflowEntry, Problem> {
    let names = |list: &[&WorkflowEntry]| list.iter().map(|w| w.name.as_str()).collect::<Vec<_>>().join(", ");
    let all: Vec<&WorkflowEntry> = catalog.workflows.iter().collect();
    let wanted = match want {
        Want::Loop => Some("loop"),
        Want::Workflow(name) => name.as_deref(),
        Want::Entity { .. } => None,
    };
    if let Some(wanted) = wanted {
        let builtin_only = *want == Want::Loop;
        let found = all
            .iter()
            .find(|entry| entry.name == wanted && (!builtin_only || matches!(entry.body, Body::Builtin)));
        return found.copied().ok_or_else(|| {
            Problem::new(Class::Configuration, format!("no workflow `{wanted}`"))
                .hint(format!("there are: {}", names(&all)))
        });
    }
    let of_plugins: Vec<&WorkflowEntry> = all.iter().copied().filter(|entry| entry.from_plugin).collect();
    match of_plugins.as_slice() {
        [] => all.last().copied().ok_or_else(|| Problem::new(Class::Configuration, "no workflow")),
        [only] => Ok(only),
        several => Err(Problem::new(
            Class::Usage,
            format!("{} plugins bring a workflow, and none is chosen", several.len()),
        )
        .hint(format!("choose one with --workflow NAME: {}", names(several)))),
    }
}

/// The built-in loop, as a workflow file would say it.
fn builtin() -> WorkflowFile {
    WorkflowFile {
        name: "loop".to_owned(),
        description: None,
        prompt_template: "{input}".to_owned(),
        looping: Some(LoopPart {
            completion_marker: None,
            completion_promise: None,
            max_iterations: None,
            continue_message: None,
            tracker_template: None,
            mode: None,
            marker_match: MarkerMatch::Line,
            blocked_marker: None,
            stuck_after: None,
        }),
        isolation: None,
        plugins: Vec::new(),
        model: None,
        checks: Vec::new(),
    }
}
