//! Turns a request into a run's orders: workflow, settings and flags become one [`Spec`].
//!
//! Everything that can be wrong is found here, before an agent runs: [`choose`] says what is
//! run, [`document`] reads a workflow document, [`entity`] makes an entity's text, [`orders`] puts
//! flags, workflow and settings together.

mod choose;
mod document;
mod entity;
mod orders;

use std::path::{Path, PathBuf};

use windlass_core::entity::Kind;
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::Mode;
use windlass_core::spec::{OnPermission, OnQuestion, Spec};
use windlass_store::Durability;

use crate::catalog::collect;
use crate::config;
use crate::home::Home;
use crate::problem::{Class, Problem};
use choose::{Told, choose};
pub(crate) use document::only_session;
use orders::Orders;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where the sessions work.
    pub cwd: PathBuf,
    /// What the user typed, byte for byte.
    pub input: String,
    /// Which workflow.
    pub want: Want,
    /// What the workflow's own inputs are, by name.
    pub inputs: Vec<(String, String)>,
    /// Plugin folders from the command line.
    pub plugins: Vec<PathBuf>,
    /// What flags say.
    pub flags: Flags,
    /// Arguments for the agent CLI.
    pub agent_args: Vec<String>,
    /// A person sits at the terminal.
    pub interactive: bool,
    /// Only the plan is wanted.
    pub dry_run: bool,
}

/// Which workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// The named one, or the only one of the plugins.
    Workflow(Option<String>),
    /// The built-in loop.
    Loop,
    /// One session with an entity; the input is its arguments.
    Entity {
        /// What it is.
        kind: Kind,
        /// What it is called.
        name: String,
    },
}

/// What flags say.
#[derive(Debug, Clone, Default)]
pub struct Flags {
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
    pub mode: Option<Mode>,
    /// `--check`
    pub checks: Vec<String>,
    /// `--until-signal`
    pub until_signal: Option<String>,
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
    /// What is odd but possible.
    pub warnings: Vec<String>,
    /// What was looked at on the way.
    pub notes: Vec<String>,
    /// How hard commits are.
    pub durability: Durability,
}

/// Makes the orders of a run.
pub fn plan(home: &Home, request: &Request) -> Result<Plan, Problem> {
    let cwd = request.cwd.canonicalize().map_err(|error| {
        Problem::new(Class::Usage, format!("the folder {} cannot be used: {error}", request.cwd.display()))
    })?;
    let resolved = config::read(home, &cwd, Vec::new())?;
    if let Some(problem) = Problem::of(&resolved.diagnostics) {
        return Err(problem);
    }
    let mut catalog = collect(home, &cwd, &request.plugins, &resolved)?;
    let unused = choose::set_aside(&mut catalog, &request.want)?;
    if let Some(problem) = Problem::of(&catalog.problems) {
        return Err(problem);
    }
    let mut warnings: Vec<String> =
        resolved.diagnostics.iter().chain(&catalog.problems).map(|d| strip(&d.to_string())).collect();
    warnings.extend(unused);
    let chosen = choose(home, &cwd, request, &resolved, &catalog)?;
    warnings.extend(chosen.warnings.iter().cloned());
    let orders = Orders { request, resolved: &resolved, catalog: &catalog, chosen: &chosen };
    orders.require_plugins()?;
    let isolation = orders.isolation(&mut warnings)?;
    let driver = orders.driver(home)?;
    let settings = &resolved.settings;
    let mut permissions = settings.permissions.clone();
    let policy = orders.policy();
    let (prompt, system) = match &chosen.told {
        Told::Text(text) => (text.clone(), None),
        Told::Entity { entity, args } => {
            let stage = entity::Stage {
                workspace: &cwd,
                env: &home.env,
                driver: &driver.name,
                isolation,
                rules: &permissions,
                on_permission: policy.on_permission,
                timeout_ms: orders.limits().run_ms,
                dry_run: request.dry_run,
            };
            let texts = entity::texts(entity, args, &stage, &mut warnings)?;
            entity::narrow(entity, &driver.name, &mut permissions, &mut warnings);
            texts
        }
    };
    let node = orders.node(prompt, system);
    let spec = Spec {
        workflow: chosen.file.name.clone(),
        seed: crate::random::token(),
        input: request.input.clone(),
        node,
        workspace: text_path(&cwd)?,
        machine: home.machine.clone(),
        driver,
        isolation,
        permissions,
        plugins: orders.plugins()?,
        checks: orders.checks()?,
        policy,
        limits: orders.limits(),
    };
    Ok(Plan { spec, warnings, notes: chosen.notes, durability: config::durability_of(settings) })
}

/// Ends what a plan under way has started: the commands in an entity's text.
pub fn give_up() {
    windlass_peers::process::end_short();
}

fn strip(text: &str) -> String {
    text.strip_prefix("warning: ").unwrap_or(text).to_owned()
}

fn text_path(path: &Path) -> Result<String, Problem> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Problem::new(Class::Usage, format!("the path {} is not UTF-8 text", path.display())))
}
