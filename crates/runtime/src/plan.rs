//! Turns a request into a run's orders: workflow, settings and flags become one [`Spec`].
//!
//! Everything that can be wrong is found here, before an agent runs. What an entity says is
//! [`entity`]'s.

mod entity;

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::entity::{Entity, Kind};
use windlass_core::graph::{Node, NodeKind};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::NodeId;
use windlass_core::looping::{DEFAULT_CONTINUE, DEFAULT_MARKER, DEFAULT_TRACKER, MarkerMatch, Mode, Rules};
use windlass_core::spec::{Check, Driver, Limits, OnPermission, OnQuestion, Plugin, Policy, Spec};
use windlass_forms::settings::{self, Resolved, Settings};
use windlass_forms::workflow::{LoopPart, WorkflowFile, apply_template};
use windlass_store::Durability;

use crate::catalog::{Catalog, WorkflowEntry, collect};
use crate::config;
use crate::doctor::find_agent;
use crate::entities;
use crate::home::Home;
use crate::problem::{Class, Problem};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Where the sessions work.
    pub cwd: PathBuf,
    /// What the user typed, byte for byte.
    pub input: String,
    /// Which workflow.
    pub want: Want,
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
    let catalog = collect(home, &cwd, &request.plugins, &resolved)?;
    if let Some(problem) = Problem::of(&catalog.problems) {
        return Err(problem);
    }
    let mut warnings: Vec<String> =
        resolved.diagnostics.iter().chain(&catalog.problems).map(|d| strip(&d.to_string())).collect();
    let Chosen { name: workflow, file, entity, notes } = choose(home, &cwd, request, &resolved, &catalog)?;
    let orders = Orders { request, resolved: &resolved, catalog: &catalog, file: &file };
    orders.require_plugins()?;
    let isolation = orders.isolation(&mut warnings)?;
    let driver = orders.driver(home)?;
    let settings = &resolved.settings;
    let mut permissions = settings.permissions.clone();
    let policy = orders.policy();
    let node = match &entity {
        None => orders.node()?,
        Some(entity) => {
            let stage = entity::Stage {
                workspace: &cwd,
                env: &home.env,
                driver: &driver.name,
                isolation,
                rules: &permissions,
                on_permission: policy.on_permission,
                dry_run: request.dry_run,
            };
            let node = entity::node(entity, &request.input, &stage, &mut warnings)?;
            entity::narrow(entity, &driver.name, &mut permissions, &mut warnings);
            node
        }
    };
    let spec = Spec {
        workflow,
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
    Ok(Plan { spec, warnings, notes, durability: config::durability_of(settings) })
}

fn strip(text: &str) -> String {
    text.strip_prefix("warning: ").unwrap_or(text).to_owned()
}

fn text_path(path: &Path) -> Result<String, Problem> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Problem::new(Class::Usage, format!("the path {} is not UTF-8 text", path.display())))
}

/// What is to be run.
struct Chosen {
    name: String,
    file: WorkflowFile,
    entity: Option<Entity>,
    notes: Vec<String>,
}

fn choose(
    home: &Home,
    cwd: &Path,
    request: &Request,
    resolved: &Resolved,
    catalog: &Catalog,
) -> Result<Chosen, Problem> {
    let Want::Entity { kind, name } = &request.want else {
        let entry = select(catalog, &request.want)?;
        let file = entry.file.clone().unwrap_or_else(builtin);
        return Ok(Chosen { name: entry.name.clone(), file, entity: None, notes: Vec::new() });
    };
    let loaded = entities::load(home, cwd, &request.plugins)?;
    let found = loaded.registry.lookup(*kind, name);
    let entity = found.map_err(|miss| {
        Problem::new(Class::Configuration, miss.to_string())
            .hint(format!("`windlass entities list --type {kind}` names those there are"))
    })?;
    let driver = request.flags.driver.as_ref().unwrap_or(&resolved.settings.driver);
    let file = entity::workflow(entity, driver);
    Ok(Chosen { name: file.name.clone(), file, entity: Some(entity.clone()), notes: loaded.start_up_lines() })
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
        let found = all.iter().find(|entry| entry.name == wanted && (!builtin_only || entry.file.is_none()));
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

/// Everything that is known while the orders are made.
struct Orders<'a> {
    request: &'a Request,
    resolved: &'a Resolved,
    catalog: &'a Catalog,
    file: &'a WorkflowFile,
}

impl Orders<'_> {
    fn flags(&self) -> &Flags {
        &self.request.flags
    }

    fn settings(&self) -> &Settings {
        &self.resolved.settings
    }

    /// A flag or variable, else the workflow's own word, else the settings.
    fn pick<T>(&self, key: &str, flag: Option<T>, workflow: Option<T>, setting: T) -> T {
        if let Some(flag) = flag {
            return flag;
        }
        if self.resolved.is_asked_for(key) {
            return setting;
        }
        workflow.unwrap_or(setting)
    }

    fn mode(&self) -> Mode {
        let own = self.file.looping.as_ref().and_then(|part| part.mode);
        self.pick("mode", self.flags().mode, own, self.settings().mode)
    }

    /// `ralph-loop` is needed only where that plugin loops: otherwise Windlass itself is it.
    fn require_plugins(&self) -> Result<(), Problem> {
        let plugin_mode = self.file.looping.is_some() && self.mode() == Mode::Plugin;
        let mut needed: Vec<&str> = self.file.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        needed.retain(|name| *name != "ralph-loop");
        if plugin_mode {
            needed.push("ralph-loop");
        }
        let loaded = |name: &&str| self.catalog.plugins.iter().any(|plugin| plugin.name == **name);
        let missing: Vec<&str> = needed.into_iter().filter(|name| !loaded(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let text = format!(
            "workflow `{}` needs plugins that are not loaded: {}",
            self.file.name,
            missing.join(", ")
        );
        Err(Problem::new(Class::Configuration, text)
            .hint("load each with --plugin DIR, or name its folder under `plugins` in the settings"))
    }

    /// The workflow's isolation wins upward, with a warning, as far as the settings let it.
    fn isolation(&self, warnings: &mut Vec<String>) -> Result<Isolation, Problem> {
        let asked = self.flags().isolation.unwrap_or(self.settings().isolation);
        let most = self.settings().max_isolation;
        let wanted = self.file.isolation.map_or(asked, |own| own.max(asked));
        if wanted > most {
            let who = if asked > most { "this run" } else { "its workflow" };
            let text = format!(
                "{who} wants `{}` isolation, and `max_isolation` is `{}`",
                wanted.word(),
                most.word()
            );
            return Err(Problem::new(Class::Refused, text)
                .hint("raise `max_isolation` in your own settings if you trust this workflow"));
        }
        if wanted > asked {
            warnings.push(format!(
                "workflow `{}` needs `{}` isolation; it is used instead of `{}`",
                self.file.name,
                wanted.word(),
                asked.word()
            ));
        }
        Ok(wanted)
    }

    fn driver(&self, home: &Home) -> Result<Driver, Problem> {
        let name = self.flags().driver.clone().unwrap_or_else(|| self.settings().driver.clone());
        let configured = self.settings().agents.get(&name);
        let bin = self.flags().agent_bin.clone().map(|bin| self.request.cwd.join(bin));
        let program = bin.or_else(|| configured.and_then(|agent| agent.program.clone()).map(PathBuf::from));
        let program = find_agent(home, &name, program.as_deref())?;
        if name == "sim" && self.flags().agent_bin.is_none() && home.var("WINDLASS_SIM_SCRIPT").is_none() {
            return Err(Problem::new(Class::Usage, "driver `sim` plays a script, and none is named")
                .hint("set WINDLASS_SIM_SCRIPT to a script file; `windlass demo` brings its own"));
        }
        let mut args = configured.map(|agent| agent.args.clone()).unwrap_or_default();
        args.extend(self.request.agent_args.clone());
        let model = self.flags().model.clone().or_else(|| self.file.model.clone());
        let model = model.or_else(|| self.settings().model.clone());
        Ok(Driver { name, program: text_path(&program)?, model, args })
    }

    fn node(&self) -> Result<Node, Problem> {
        let prompt = apply_template(&self.file.prompt_template, &self.request.input);
        let Some(part) = &self.file.looping else {
            return Ok(Node { id: NodeId::new("turn"), kind: NodeKind::Prompt { prompt }, system: None });
        };
        let mode = self.mode();
        let promise = part.completion_promise.clone();
        let marker = match (&part.completion_marker, &promise) {
            (None, None) => Some(DEFAULT_MARKER.to_owned()),
            (marker, _) => marker.clone(),
        };
        // The plugin keeps its own state file; a tracker only where a marker is looked for.
        let has_tracker = mode != Mode::Plugin || marker.is_some();
        let rules = Rules {
            prompt,
            mode,
            marker,
            marker_match: part.marker_match,
            promise,
            blocked_marker: part.blocked_marker.clone(),
            max_iterations: self.pick(
                "max_iterations",
                self.flags().max_iterations,
                part.max_iterations,
                self.settings().max_iterations,
            ),
            continue_message: part.continue_message.clone().unwrap_or_else(|| DEFAULT_CONTINUE.to_owned()),
            tracker_body: part.tracker_template.clone().unwrap_or_else(|| DEFAULT_TRACKER.to_owned()),
            tracker_path: has_tracker.then(String::new),
            stuck_after: self.pick("stuck_after", None, part.stuck_after, self.settings().stuck_after),
        };
        Ok(Node { id: NodeId::new("loop"), kind: NodeKind::Loop(rules), system: None })
    }

    fn plugins(&self) -> Result<Vec<Plugin>, Problem> {
        let plugin = |entry: &crate::catalog::PluginEntry| {
            Ok(Plugin { name: entry.name.clone(), dir: text_path(&entry.dir)? })
        };
        self.catalog.plugins.iter().map(plugin).collect()
    }

    /// The settings' checks, the workflow's, then the flags'; a later source of the same name
    /// wins, but two flags of one name are a mistake.
    fn checks(&self) -> Result<Vec<Check>, Problem> {
        let mut checks = self.settings().checks.clone();
        let mut flags: Vec<Check> = Vec::new();
        for text in &self.flags().checks {
            let check = named_check(text)?;
            if flags.iter().any(|other| other.name == check.name) {
                return Err(Problem::new(Class::Usage, format!("two checks are named `{}`", check.name))
                    .hint("name each differently: --check NAME=COMMAND"));
            }
            flags.push(check);
        }
        for check in self.file.checks.iter().cloned().chain(flags) {
            checks.retain(|other| other.name != check.name);
            checks.push(check);
        }
        Ok(checks)
    }

    /// A person at the terminal is asked; otherwise the settings' policy answers.
    fn policy(&self) -> Policy {
        let settings = self.settings();
        let ask = self.request.interactive;
        let permission =
            if ask && !self.is_set("on_permission") { OnPermission::Ask } else { settings.on_permission };
        let question =
            if ask && !self.is_set("on_question") { OnQuestion::Wait } else { settings.on_question };
        Policy {
            on_permission: self.flags().on_permission.unwrap_or(permission),
            on_question: self.flags().on_question.unwrap_or(question),
        }
    }

    fn is_set(&self, key: &str) -> bool {
        let source = self.resolved.sources.get(key);
        source.is_some_and(|source| source.layer != settings::LayerKind::Builtin)
    }

    fn limits(&self) -> Limits {
        let settings = self.settings();
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Limits {
            run_ms: self.flags().timeout_ms.or(settings.timeout.map(ms)),
            check_ms: ms(settings.check_timeout),
            grace_ms: ms(settings.grace),
            retry_ms: ms(settings.retry_delay),
            rate_limit_ms: ms(settings.rate_limit_wait),
        }
    }
}

/// `NAME=COMMAND` or a command. A name is in small letters, so that the variable of
/// `RUST_BACKTRACE=1 cargo test` is not taken for one.
fn named_check(text: &str) -> Result<Check, Problem> {
    let (name, command) = match text.split_once('=') {
        Some((name, command)) if is_name(name) => (name, command),
        _ => (text, text),
    };
    if command.trim().is_empty() {
        return Err(Problem::new(Class::Usage, "a check without a command is always green")
            .hint("give one: --check \"cargo test\", or leave --check out"));
    }
    Ok(Check { name: name.to_owned(), command: command.to_owned() })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}
