//! Turns a request into a [`Spec`]: combines workflow, settings and flags, and finds every error before an
//! agent runs.
//!
//! - [`choose`] selects the workflow and the workflows it runs.
//! - [`flags`] and [`inputs`] read the command line.
//! - [`session_settings`] combines flags, workflow and settings for each session.
//! - [`jobs`] checks that tasks can run in parallel.
//! - [`own_worktree`] plans the worktree of the run itself.
//! - [`costs`] finds budgets of money that could not hold.
//! - [`losses`] says what an entity loses on its driver.
//! - [`inspect`] tries out the prompt of the only session.
//! - [`entity`] writes the prompt of an entity when its node starts.

mod agent_words;
mod choose;
mod costs;
mod entity;
mod flags;
mod inputs;
mod inspect;
mod jobs;
mod losses;
mod nodes;
mod own_worktree;
mod programs;
mod session_settings;
mod side_by_side;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::engine::{InputError, settle_inputs};
use windlass_core::entity::EntityKind;
use windlass_core::graph::upper_bound::worst;
use windlass_core::graph::workflow::{Budget, Workflow};
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::LoopMode;
use windlass_core::spec::{OnPermission, OnQuestion, SessionSettings, Spec};
use windlass_forms::settings::Resolved;
use windlass_forms::workflow::TASKS;
use windlass_store::Durability;

use crate::catalog::{collect, look_into_broken};
use crate::config;
use crate::doctor::install_hint;
use crate::home::Home;
use crate::trust;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};
use choose::{Selection, SetAside, WorkflowSources, set_aside};
pub(crate) use costs::uncounted;
pub(crate) use entity::{PromptContext, texts as entity_texts};
pub use flags::checks;
pub(crate) use losses::entity_driver;
pub(crate) use nodes::called as called_workflows;
pub(crate) use own_worktree::uncommitted;
pub use own_worktree::{PlannedWorktree, WantedBranch};
use session_settings::{PLAY_AS, PlanInputs};

/// A request to run something.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRequest {
    /// The folder in which the sessions work.
    pub cwd: PathBuf,
    /// The text that the user typed, byte for byte.
    pub input: String,
    pub want: WantedWorkflow,
    /// The values of the workflow's declared inputs, by name.
    pub inputs: Vec<(String, String)>,
    /// Plugin folders from the command line.
    pub plugins: Vec<PathBuf>,
    pub flags: PlanFlags,
    /// Extra arguments for the agent CLI.
    pub agent_args: Vec<String>,
    /// True if a person sits at the terminal.
    pub interactive: bool,
    /// True if the run goes to the background, where a person can answer it later.
    pub detached: bool,
    /// True if a person sees the warnings on a terminal. Otherwise Windlass refuses a run whose settings ask
    /// for rights that nobody trusts.
    pub has_terminal: bool,
    /// True if nothing runs and only the plan is wanted.
    pub dry_run: bool,
}

/// The workflow that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedWorkflow {
    /// The named workflow or file, or the only workflow that plugins bring.
    Workflow(Option<String>),
    /// The workflow `tasks`, which the person did not name. The project's workflow of that name needs trust.
    Tasks,
    /// The built-in loop, even if another workflow has that name.
    Loop,
    /// One session with an entity. The input becomes its arguments.
    Entity { kind: EntityKind, name: String },
}

impl WantedWorkflow {
    /// Returns the name by which the workflow is found, if it has one.
    fn name(&self) -> Option<&str> {
        match self {
            WantedWorkflow::Workflow(name) => name.as_deref(),
            WantedWorkflow::Tasks => Some(TASKS),
            WantedWorkflow::Loop | WantedWorkflow::Entity { .. } => None,
        }
    }
}

/// The flags that change a plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanFlags {
    /// `--driver`
    pub driver: Option<String>,
    /// `--agent-bin`
    pub agent_bin: Option<PathBuf>,
    /// `--model`
    pub model: Option<String>,
    /// `--fallback`
    pub fallback: Option<Vec<String>>,
    /// `--switch-back`
    pub switch_back: bool,
    /// `--isolation`
    pub isolation: Option<Isolation>,
    /// `--isolation-best-effort`
    pub isolation_best_effort: bool,
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
    /// `--budget`
    pub budget: Budget,
    /// `--on-permission`
    pub on_permission: Option<OnPermission>,
    /// `--on-question`
    pub on_question: Option<OnQuestion>,
    /// `--worktree`
    pub worktree: Option<WantedBranch>,
}

/// The specification of a run, with everything a person should know before it starts.
#[derive(Debug, Clone)]
pub struct Plan {
    pub spec: Spec,
    /// The graph that runs.
    pub workflow: Workflow,
    /// The most that the run can take, in words.
    pub worst: String,
    pub warnings: Vec<ProblemPart>,
    /// One line per provider about the entities found.
    pub notes: Vec<String>,
    pub durability: Durability,
    /// The worktree to make for the run.
    pub worktree: Option<PlannedWorktree>,
}

impl Plan {
    pub fn warning_texts(&self) -> Vec<String> {
        self.warnings.iter().map(ToString::to_string).collect()
    }
}

/// The purpose of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanPurpose {
    /// To run it.
    Run,
    /// To walk it with stubs. Kinds of nodes that runs do not support yet are allowed.
    Walk,
}

/// Plans a run, or returns everything that is wrong with the request.
pub fn plan(home: &Home, request: &RunRequest) -> Result<Plan, UserError> {
    plan_for(home, request, if request.dry_run { PlanPurpose::Walk } else { PlanPurpose::Run })
}

fn plan_for(home: &Home, request: &RunRequest, purpose: PlanPurpose) -> Result<Plan, UserError> {
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
    if let Some(problem) = trust::refusal(&resolved).filter(|_| !request.has_terminal) {
        return Err(problem);
    }
    planned(home, request, &cwd, &resolved, purpose).map_err(|problem| trust::explain(problem, &resolved))
}

fn planned(
    home: &Home,
    request: &RunRequest,
    cwd: &Path,
    resolved: &Resolved,
    purpose: PlanPurpose,
) -> Result<Plan, UserError> {
    let mut catalog = collect(home, cwd, &request.plugins, resolved)?;
    if let WantedWorkflow::Workflow(Some(wanted)) = &request.want {
        catalog.add_file(cwd, wanted)?;
    }
    let untrusted = match &request.want {
        WantedWorkflow::Tasks => trust::leave_out(home, &mut catalog, TASKS, request.has_terminal)?,
        WantedWorkflow::Workflow(_) | WantedWorkflow::Loop | WantedWorkflow::Entity { .. } => None,
    };
    look_into_broken(&mut catalog, home, cwd, &request.plugins, resolved);
    let SetAside { warnings: left_out, broken } = set_aside(&mut catalog, &request.want)?;
    if let Some(problem) = UserError::of(&catalog.problems) {
        return Err(problem);
    }
    let checks = flags::checks(&request.flags.checks)?;
    let shelves =
        WorkflowSources { home, cwd, resolved, catalog: &catalog, broken: &broken, checks: &checks, purpose };
    let Selection { mut main, mut others, registry, warnings: found, notes } = shelves.choose(request)?;
    let in_files = resolved.diagnostics.iter().cloned().chain(trust::warnings(resolved)).chain(untrusted);
    let in_files = in_files.chain(catalog.problems.iter().cloned()).map(ProblemPart::from);
    let found: Vec<ProblemPart> =
        in_files.chain(left_out.into_iter().map(ProblemPart::from)).chain(found).collect();
    let mut warnings: Vec<String> = Vec::new();
    flags::apply(&request.flags, &mut main, &mut others, &mut warnings)?;
    let parts: Vec<&Workflow> = std::iter::once(&main).chain(&others).map(|part| &part.workflow).collect();
    let inputs = inputs::given(request, &parts)?;
    if purpose == PlanPurpose::Walk {
        warnings.extend(parts.iter().flat_map(|part| nodes::not_yet(part)));
    }
    warnings.extend(inputs::unused(request, &parts));
    let given = PlanInputs {
        home,
        cwd,
        request,
        resolved,
        catalog: &catalog,
        registry: &registry,
        checks: &checks,
        lost: RefCell::default(),
    };
    let mut spec = Spec {
        seed: crate::random::token(),
        input: request.input.clone(),
        inputs,
        request: recorded(request),
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
    settle_inputs(&mut spec).map_err(|error| unsettled(home, error))?;
    flags::one_driver(request, &spec)?;
    jobs::need_a_repository(&request.flags, &spec, &mut warnings)?;
    jobs::note_missing_checks(&spec, &mut warnings);
    let worktree = own_worktree::of(&request.flags, &spec, &mut warnings)?;
    side_by_side::refuse(&spec)?;
    programs::refuse_typos(home, &spec)?;
    programs::need_bash(home, &spec)?;
    let uncounted = uncounted(&home.agents, &spec, &resolved.settings.day_limits()).refuse()?;
    inspect::ahead(home, &spec, &mut warnings)?;
    let worst = worst(&nodes::bounded(&main.workflow, &spec), &graphs).to_string();
    let durability = config::durability_of(&resolved.settings);
    let lost = given.lost.into_inner();
    let warnings = warnings.into_iter().map(ProblemPart::from).chain(lost).chain(uncounted);
    let warnings = each_once(found.into_iter().chain(warnings));
    Ok(Plan { spec, workflow: main.workflow, worst, warnings, notes, durability, worktree })
}

fn unsettled(home: &Home, error: InputError) -> UserError {
    match error {
        InputError::Value(why) => UserError::new(UserErrorKind::Usage, why),
        InputError::MissingDriver { driver, why } => {
            let problem = UserError::new(UserErrorKind::Agent, why);
            UserError { hint: install_hint(home, &driver), ..problem }
        }
    }
}

/// Decides whether a session uses the simulated agent of this binary.
pub fn is_simulated(home: &Home, spec: &Spec) -> bool {
    let own = crate::os::own_program().ok();
    let is_own = |settings: &SessionSettings| {
        let driver = &settings.driver;
        let is_inside = home.agents.named(&driver.name).is_some_and(|dialect| dialect.program().is_none());
        // The driver of another CLI runs it.
        let is_named = driver.words.iter().map(String::as_str).take(PLAY_AS.len()).eq(PLAY_AS);
        (is_inside || is_named) && own.as_deref() == Some(Path::new(&driver.program))
    };
    std::iter::once(spec).chain(spec.others.values()).any(|part| part.sessions.values().any(is_own))
}

/// Returns a request as the run records it. The run has the input itself.
fn recorded(request: &RunRequest) -> Option<serde_json::Value> {
    serde_json::to_value(RunRequest { input: String::new(), ..request.clone() }).ok()
}

/// The purpose of planning a recorded run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanAgain {
    /// To find out whether its document has changed.
    Compare,
    /// To run its document as it is now.
    Run,
}

/// Plans a recorded run again, from its documents and settings as they are now. Returns `None` if the run
/// was recorded without its request.
pub(crate) fn plan_again(home: &Home, spec: &Spec, why: PlanAgain) -> Option<Result<Spec, UserError>> {
    let request: RunRequest = serde_json::from_value(spec.request.clone()?).ok()?;
    let (cwd, flags) = (request.cwd.clone(), PlanFlags { worktree: None, ..request.flags.clone() });
    // A fork shows no warnings, so the built-in workflow must not run in place of one without trust.
    let may_leave_out = why == PlanAgain::Compare || request.want != WantedWorkflow::Tasks;
    let has_terminal = request.has_terminal && may_leave_out;
    let input = spec.input.clone();
    let request = RunRequest { cwd, flags, input, has_terminal, dry_run: true, ..request };
    Some(plan_for(home, &request, PlanPurpose::Run).map(|planned| {
        let mut again = planned.spec;
        again.seed.clone_from(&spec.seed);
        again.follow(spec.policy);
        again.move_to(&spec.workspace);
        again.worktree.clone_from(&spec.worktree);
        again.request.clone_from(&spec.request);
        again
    }))
}

/// Drops repeated warnings: similar nodes cause the same one.
fn each_once(warnings: impl Iterator<Item = ProblemPart>) -> Vec<ProblemPart> {
    let mut once: Vec<ProblemPart> = Vec::new();
    for warning in warnings {
        if !once.contains(&warning) {
            once.push(warning);
        }
    }
    once
}

/// Ends the short programs that a plan in progress has started.
pub fn give_up() {
    windlass_peers::process::end_short();
}

fn text_path(path: &Path) -> Result<String, UserError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        UserError::new(UserErrorKind::Usage, format!("the path {} is not UTF-8 text", path.display()))
    })
}
