//! Turns a request into a run's orders: workflow, settings and flags become one [`Spec`].
//!
//! Everything that can be wrong is found here, before an agent runs: [`choose`] says what is run
//! and what is run from there, [`flags`] and [`inputs`] what was typed for it, [`orders`] puts
//! flags, workflow and settings together for each session, [`jobs`] looks where several tasks are done at
//! once, [`look`] tries what a session is told.
//! What an [`entity`] says is made when its node begins.

mod choose;
mod entity;
mod flags;
mod inputs;
mod inspect;
mod jobs;
mod nodes;
mod session_settings;
mod side_by_side;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::entity::EntityKind;
use windlass_core::graph::upper_bound::worst;
use windlass_core::graph::workflow::Workflow;
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::LoopMode;
use windlass_core::spec::{OnPermission, OnQuestion, Spec};
use windlass_store::Durability;

use crate::catalog::{collect, look_into_broken};
use crate::config;
use crate::home::Home;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};
use choose::{Selection, SetAside, WorkflowSources, set_aside};
pub(crate) use entity::{PromptContext, texts as entity_texts};
use session_settings::PlanInputs;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Where the sessions work.
    pub cwd: PathBuf,
    /// What the user typed, byte for byte.
    pub input: String,
    /// Which workflow.
    pub want: WantedWorkflow,
    /// What the workflow's own inputs are, by name.
    pub inputs: Vec<(String, String)>,
    /// Plugin folders from the command line.
    pub plugins: Vec<PathBuf>,
    /// What flags say.
    pub flags: PlanFlags,
    /// Arguments for the agent CLI.
    pub agent_args: Vec<String>,
    /// A person sits at the terminal.
    pub interactive: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// Which workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedWorkflow {
    /// The named one, or the only one of the plugins.
    Workflow(Option<String>),
    /// The built-in loop.
    Loop,
    /// One session with an entity; the input is its arguments.
    Entity {
        /// What it is.
        kind: EntityKind,
        /// What it is called.
        name: String,
    },
}

/// What flags say.
#[derive(Debug, Clone, Default)]
pub struct PlanFlags {
    /// `--driver`
    pub driver: Option<String>,
    /// `--agent-bin`
    pub agent_bin: Option<PathBuf>,
    /// `--model`
    pub model: Option<String>,
    /// `--isolation`
    pub isolation: Option<Isolation>,
    /// `--max-iterations`
    pub max_iterations: Option<u32>,
    /// `--mode`
    pub mode: Option<LoopMode>,
    /// `--check`
    pub checks: Vec<String>,
    /// `--until-signal`
    pub until_signal: Option<String>,
    /// `--jobs`
    pub jobs: Option<u32>,
    /// `--timeout`
    pub timeout_ms: Option<u64>,
    /// `--on-permission`
    pub on_permission: Option<OnPermission>,
    /// `--on-question`
    pub on_question: Option<OnQuestion>,
}

/// A run's orders, and what a person should know before it starts.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The orders.
    pub spec: Spec,
    /// The graph that is run.
    pub workflow: Workflow,
    /// The most it can take, in words.
    pub worst: String,
    /// What is odd but possible.
    pub warnings: Vec<ProblemPart>,
    /// What was looked at on the way.
    pub notes: Vec<String>,
    /// How hard commits are.
    pub durability: Durability,
}

impl Plan {
    /// Returns the warnings as texts.
    pub fn warning_texts(&self) -> Vec<String> {
        self.warnings.iter().map(ToString::to_string).collect()
    }
}

/// Makes the orders of a run.
pub fn plan(home: &Home, request: &RunRequest) -> Result<Plan, UserError> {
    let cwd = request.cwd.canonicalize().map_err(|error| {
        UserError::new(
            UserErrorKind::Usage,
            format!("the folder {} cannot be used: {error}", request.cwd.display()),
        )
    })?;
    let resolved = config::read(home, &cwd, Vec::new())?;
    if let Some(problem) = UserError::of(&resolved.diagnostics) {
        return Err(problem);
    }
    let mut catalog = collect(home, &cwd, &request.plugins, &resolved)?;
    look_into_broken(&mut catalog, home, &cwd, &request.plugins, &resolved);
    let SetAside { warnings: left_out, broken } = set_aside(&mut catalog, &request.want)?;
    if let Some(problem) = UserError::of(&catalog.problems) {
        return Err(problem);
    }
    let checks = flags::checks(&request.flags)?;
    let shelves = WorkflowSources {
        home,
        cwd: &cwd,
        resolved: &resolved,
        catalog: &catalog,
        broken: &broken,
        checks: &checks,
    };
    let Selection { mut main, mut others, registry, warnings: found, notes } = shelves.choose(request)?;
    let in_files = resolved.diagnostics.iter().chain(&catalog.problems).cloned().map(ProblemPart::from);
    let found: Vec<ProblemPart> =
        in_files.chain(left_out.into_iter().map(ProblemPart::from)).chain(found).collect();
    let mut warnings: Vec<String> = Vec::new();
    flags::apply(&request.flags, &mut main, &mut others, &mut warnings)?;
    let parts: Vec<&Workflow> = std::iter::once(&main).chain(&others).map(|part| &part.workflow).collect();
    let inputs = inputs::given(request, &parts)?;
    warnings.extend(inputs::unused(request, &parts));
    let given = PlanInputs {
        home,
        cwd: &cwd,
        request,
        resolved: &resolved,
        catalog: &catalog,
        registry: &registry,
        checks: &checks,
    };
    let mut spec = Spec {
        seed: crate::random::token(),
        input: request.input.clone(),
        inputs,
        ..given.spec(&main, &mut warnings)?
    };
    let mut graphs = BTreeMap::new();
    for other in &others {
        let session_settings = given.spec(other, &mut warnings)?;
        graphs.insert(
            session_settings.workflow.clone(),
            Some(nodes::bounded(&other.workflow, &session_settings)),
        );
        spec.others.insert(session_settings.workflow.clone(), session_settings);
    }
    flags::one_driver(request, &spec)?;
    jobs::need_a_repository(&request.flags, &spec, &mut warnings)?;
    jobs::note_missing_checks(&spec, &mut warnings);
    side_by_side::refuse(&spec)?;
    inspect::ahead(home, &spec, &mut warnings)?;
    let worst = worst(&nodes::bounded(&main.workflow, &spec), &graphs).to_string();
    let durability = config::durability_of(&resolved.settings);
    let warnings = each_once(found.into_iter().chain(warnings.into_iter().map(ProblemPart::from)));
    Ok(Plan { spec, workflow: main.workflow, worst, warnings, notes, durability })
}

/// Nodes that are alike have the same to say.
fn each_once(warnings: impl Iterator<Item = ProblemPart>) -> Vec<ProblemPart> {
    let mut once: Vec<ProblemPart> = Vec::new();
    for warning in warnings {
        if !once.contains(&warning) {
            once.push(warning);
        }
    }
    once
}

/// Ends what a plan under way has started.
pub fn give_up() {
    windlass_peers::process::end_short();
}

fn text_path(path: &Path) -> Result<String, UserError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        UserError::new(UserErrorKind::Usage, format!("the path {} is not UTF-8 text", path.display()))
    })
}
