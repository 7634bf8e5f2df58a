//! Combines flags, workflow and settings. A flag or variable wins; then the node, the enclosing blocks and
//! the workflow; then the settings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::entity::{Entity, EntityKind};
use windlass_core::graph::check::nearest;
use windlass_core::graph::template::is_plain;
use windlass_core::graph::workflow::{NodeNumber, PromptSource, Session, Template, TurnLoop, input_name};
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::{
    DEFAULT_CONTINUE, DEFAULT_CONTINUE_WITHOUT_TRACKER, DEFAULT_MARKER, DEFAULT_TRACKER, LoopMode, LoopRules,
};
use windlass_core::registry::Registry;
use windlass_core::registry::losses::{
    EntityLoss, LostPart, knows_name, limit_loss, losses, model_loss, model_on, shares_name, whose,
};
use windlass_core::spec::{
    AgentCommand, Check, DriverChoice, NotifySettings, OnPermission, OnQuestion, Plugin, Policy,
    SessionSettings, Spec, TimeLimits,
};
use windlass_forms::settings::{Resolved, Settings};
use windlass_peers::agent::doctor::find_program;
use windlass_peers::agent::{Capabilities, Enforcement, Hold};

use super::agent_words::{self, UnclosedQuote};
use super::choose::PlannedWorkflow;
use super::losses::{entity_driver, warning};
use super::nodes::{self, PlannedNode};
use super::{PlanFlags, RunRequest, entity, inputs, text_path};
use crate::catalog::{Catalog, is_public_name};
use crate::config::base_of;
use crate::doctor::find_agent;
use crate::home::Home;
use crate::user_error::{ProblemPart, UserError, UserErrorKind};

/// A session, and the entity whose text it gets.
type SessionSource<'a> = (&'a Session, Option<&'a Entity>);

/// The words with which this program plays another agent CLI. The name of its format follows.
pub(super) const PLAY_AS: [&str; 2] = ["sim", "--as"];

/// The part of a driver in a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DriverRole {
    /// The node's own driver.
    Own,
    /// A driver that may take the work over.
    Fallback,
}

/// The inputs of a plan.
pub(super) struct PlanInputs<'a> {
    pub(super) home: &'a Home,
    pub(super) cwd: &'a Path,
    pub(super) request: &'a RunRequest,
    pub(super) resolved: &'a Resolved,
    pub(super) catalog: &'a Catalog,
    pub(super) registry: &'a Registry,
    /// The checks from `--check`.
    pub(super) checks: &'a [Check],
    /// The warnings about what entities lose on the drivers of their sessions.
    pub(super) lost: RefCell<Vec<ProblemPart>>,
}

impl PlanInputs<'_> {
    /// Builds the [`Spec`] of a workflow, except for its input and the workflows it runs.
    pub(super) fn spec(
        &self,
        part: &PlannedWorkflow<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Spec, UserError> {
        let nodes = nodes::each(&part.workflow);
        self.require_plugins(part, &nodes)?;
        let mut sessions = BTreeMap::new();
        for node in &nodes {
            if let Some(session) = node.session() {
                sessions.insert(node.node.id.clone(), self.session_settings(part, node, session, warnings)?);
            }
        }
        let mut body = part.workflow.body.clone();
        if self.flags().max_iterations.is_some() || self.resolved.is_asked_for("max_iterations") {
            nodes::forget_computed(&mut body, NodeNumber::Turns);
        }
        Ok(Spec {
            workflow: part.workflow.name.clone(),
            description: self.description(part),
            seed: String::new(),
            input: String::new(),
            inputs: inputs::defaults(&part.workflow),
            kinds: inputs::kinds(&part.workflow),
            ranges: inputs::ranges(&part.workflow),
            body,
            sessions,
            workspace: text_path(self.cwd)?,
            machine: self.home.machine.clone(),
            plugins: self.plugins()?,
            checks: self.checks(part),
            env: part.workflow.env.clone(),
            parent_env: BTreeMap::new(),
            shell: part.workflow.settings.shell.unwrap_or_default(),
            gives: part.workflow.gives.clone(),
            runs: self.home.runs_folder(),
            policy: self.policy(),
            limits: self.limits(part),
            timeout_from: self
                .flags()
                .timeout_ms
                .map_or_else(|| part.workflow.settings.timeout_from.clone(), |_| None),
            budget: part.workflow.budget,
            prices: self.settings().price_table(),
            others: BTreeMap::new(),
            parent: None,
            notify: self.notify(warnings)?,
            worktree: None,
            fork_of: None,
            request: None,
        })
    }

    /// Returns the description of a workflow. One built-in session needs none: people see its prompt.
    fn description(&self, part: &PlannedWorkflow<'_>) -> Option<String> {
        let is_plain = part.is_builtin
            && matches!(part.workflow.body.as_slice(), [node] if node.kind.session().is_some());
        part.workflow.description.clone().filter(|_| !is_plain)
    }

    fn session_settings(
        &self,
        part: &PlannedWorkflow<'_>,
        node: &PlannedNode<'_>,
        session: &Session,
        warnings: &mut Vec<String>,
    ) -> Result<SessionSettings, UserError> {
        let entity = self.entity(&session.source)?;
        let own = node.options.driver.clone();
        let name = self.pick("driver", self.flags().driver.clone(), own, self.settings().driver.clone());
        let source = (session, entity);
        let mut settings = match input_name(&name) {
            Some(input) => self.settings_to_choose(part, node, source, input, warnings)?,
            None => self.settings_with(part, node, source, &name, DriverRole::Own, warnings)?,
        };
        self.add_fallback(&mut settings, warnings, |driver, warnings| {
            self.settings_with(part, node, source, driver, DriverRole::Fallback, warnings)
        })?;
        Ok(settings)
    }

    /// Adds the settings with each driver that may take the work over.
    fn add_fallback(
        &self,
        settings: &mut SessionSettings,
        warnings: &mut Vec<String>,
        with: impl Fn(&str, &mut Vec<String>) -> Result<SessionSettings, UserError>,
    ) -> Result<(), UserError> {
        let names = self.flags().fallback.as_ref().unwrap_or(&self.settings().fallback);
        let mut others: Vec<SessionSettings> = Vec::new();
        for name in names {
            if !others.iter().any(|other| other.driver.name == *name) {
                others.push(with(name, warnings)?);
            }
        }
        let switch_back = self.flags().switch_back || self.settings().switch_back;
        let choices = settings.choice.iter_mut().flat_map(|choice| choice.settings.values_mut());
        let add = |own: &mut SessionSettings| {
            let is_other = |other: &&SessionSettings| other.driver.name != own.driver.name;
            own.fallback = others.iter().filter(is_other).cloned().collect();
            own.switch_back = switch_back && !own.fallback.is_empty();
        };
        choices.for_each(&add);
        add(settings);
        Ok(())
    }

    /// Combines the settings with each driver that an input may name. Drivers that are not installed are known as
    /// missing, and refused only if the input names one.
    fn settings_to_choose(
        &self,
        part: &PlannedWorkflow<'_>,
        node: &PlannedNode<'_>,
        source: SessionSource<'_>,
        input: &str,
        warnings: &mut Vec<String>,
    ) -> Result<SessionSettings, UserError> {
        let definition = part.workflow.inputs.iter().find(|definition| definition.name == input);
        let names = definition.into_iter().flat_map(|input| &input.choices).filter_map(|name| name.as_str());
        let mut choice =
            DriverChoice { input: input.to_owned(), settings: BTreeMap::new(), missing: BTreeMap::new() };
        let mut problem = None;
        for name in names {
            match self.settings_with(part, node, source, name, DriverRole::Own, warnings) {
                Ok(settings) => drop(choice.settings.insert(name.to_owned(), settings)),
                Err(missing) if missing.class == UserErrorKind::Agent => {
                    choice.missing.insert(name.to_owned(), missing.text());
                    problem.get_or_insert(missing);
                }
                Err(other) => return Err(other),
            }
        }
        let none = || {
            let text = format!("input `{input}` of workflow `{}` names no driver", part.workflow.name);
            UserError::new(UserErrorKind::Configuration, text)
        };
        let first = choice.settings.values().next().cloned();
        let first = first.ok_or_else(|| problem.unwrap_or_else(none))?;
        Ok(SessionSettings { choice: Some(Box::new(choice)), ..first })
    }

    fn settings_with(
        &self,
        part: &PlannedWorkflow<'_>,
        node: &PlannedNode<'_>,
        (session, entity): SessionSource<'_>,
        driver: &str,
        role: DriverRole,
        warnings: &mut Vec<String>,
    ) -> Result<SessionSettings, UserError> {
        let isolation = self.isolation(part, node, warnings)?;
        let models = self.models(node, entity, driver, role, warnings);
        let driver = self.driver(driver, role, &models, warnings)?;
        let can = self.home.agents.capabilities(&driver.name);
        self.holds_strict(&driver.name, can.enforcement, isolation, warnings)?;
        let mut permissions = self.settings().permissions.clone();
        if let Some(entity) = entity {
            self.say_losses(part, node, entity, &driver.name)?;
            entity::narrow(entity, can, &mut permissions);
        }
        if let Some(tools) = &session.tools {
            entity::narrow_to((&node.node.id, tools), (&driver.name, can), &mut permissions, warnings);
            self.keeps_tools(node.node.id.as_str(), &driver.name, can.enforcement.tools, warnings)?;
        }
        let has_choice = models.len() > 1 || models.iter().any(|model| !is_plain(model));
        let models = if has_choice { models.into_iter().map(Template).collect() } else { Vec::new() };
        Ok(SessionSettings {
            driver,
            models,
            effort: node.options.effort,
            isolation,
            permissions,
            entity: entity.cloned().map(Box::new),
            rules: session.turns.as_ref().map(|turns| self.rules(part, turns, can, warnings)).transpose()?,
            choice: None,
            fallback: Vec::new(),
            switch_back: false,
        })
    }

    fn flags(&self) -> &PlanFlags {
        &self.request.flags
    }

    fn settings(&self) -> &Settings {
        &self.resolved.settings
    }

    /// Picks the flag or variable, else the workflow's own value, else the setting.
    fn pick<T>(&self, key: &str, flag: Option<T>, own: Option<T>, setting: T) -> T {
        if let Some(flag) = flag {
            return flag;
        }
        if self.resolved.is_asked_for(key) {
            return setting;
        }
        own.unwrap_or(setting)
    }

    fn mode(&self, turns: &TurnLoop) -> LoopMode {
        self.pick("mode", self.flags().mode, turns.mode, self.settings().mode)
    }

    /// Refuses a workflow whose plugins are not loaded. A plugin that loops is needed only in `plugin` mode,
    /// under any name; in the other modes Windlass loops itself.
    fn require_plugins(
        &self,
        part: &PlannedWorkflow<'_>,
        nodes: &[PlannedNode<'_>],
    ) -> Result<(), UserError> {
        let name = &part.workflow.name;
        let plugins = &self.catalog.plugins;
        let is_loaded = |needed: &&str| plugins.iter().any(|plugin| plugin.name == plugin_name(needed));
        let needed = part.workflow.plugins.iter().map(String::as_str);
        let needed = needed.filter(|needed| !is_public_name(plugin_name(needed)));
        let missing: Vec<&str> = needed.filter(|needed| !is_loaded(needed)).collect();
        if !missing.is_empty() {
            let text = format!("workflow `{name}` needs plugins that are not loaded: {}", missing.join(", "));
            return Err(UserError::new(UserErrorKind::Configuration, text)
                .hint("load each with --plugin DIR, or name its folder under `plugins` in the settings"));
        }
        let has_plugin_mode =
            nodes.iter().filter_map(PlannedNode::turns).any(|turns| self.mode(turns) == LoopMode::Plugin);
        if !has_plugin_mode || plugins.iter().any(|plugin| plugin.loops) {
            return Ok(());
        }
        let mut text = format!(
            "workflow `{name}` is in `plugin` mode, which needs a plugin whose Stop hook reads \
             .claude/ralph-loop.local.md, such as ralph-loop or ralph-wiggum"
        );
        if let Some(plugin) = plugins.iter().find(|plugin| is_public_name(&plugin.name)) {
            text.push_str(&format!("; the loaded `{}` has no such hook", plugin.name));
        }
        Err(UserError::new(UserErrorKind::Configuration, text)
            .hint("load one with --plugin DIR, or let Windlass itself loop: --mode fresh"))
    }

    /// Returns the entity whose text the session gets.
    fn entity(&self, source: &PromptSource) -> Result<Option<&Entity>, UserError> {
        let (kind, name) = match source {
            PromptSource::Prompt { .. } => return Ok(None),
            PromptSource::Skill { name, .. } => (EntityKind::Skill, name),
            PromptSource::Command { name, .. } => (EntityKind::Command, name),
            PromptSource::Agent { name, .. } => (EntityKind::Agent, name),
        };
        let found = self.registry.lookup(kind, name);
        found.map(Some).map_err(|miss| UserError::new(UserErrorKind::Configuration, miss.to_string()))
    }

    /// Picks the more permissive isolation of request and workflow, with a warning, up to `max_isolation`.
    fn isolation(
        &self,
        part: &PlannedWorkflow<'_>,
        node: &PlannedNode<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Isolation, UserError> {
        let asked = self.flags().isolation.unwrap_or(self.settings().isolation);
        let most = self.settings().max_isolation;
        // A default that nobody set gives way to the document, up or down.
        let is_asked = self.flags().isolation.is_some() || self.is_set("isolation");
        let wanted = match node.options.isolation {
            Some(own) if part.document.is_some() && !is_asked => own,
            own => own.map_or(asked, |own| own.max(asked)),
        };
        let workflow = &part.workflow.name;
        if wanted > most {
            let who = match asked > most {
                true => "this run".to_owned(),
                false => format!("node `{}` of workflow `{workflow}`", node.node.id),
            };
            let text = format!(
                "{who} wants `{}` isolation, and `max_isolation` is `{}`",
                wanted.word(),
                most.word()
            );
            return Err(UserError::new(UserErrorKind::Refused, text)
                .hint("raise `max_isolation` in your own settings if you trust this workflow"));
        }
        if wanted > asked {
            warnings.push(format!(
                "workflow `{workflow}` needs `{}` isolation, so Windlass uses that instead of `{}`",
                wanted.word(),
                asked.word()
            ));
        }
        Ok(wanted)
    }

    /// Says what an entity loses on a driver. Refuses the loss of a limit, unless the user accepts that.
    fn say_losses(
        &self,
        part: &PlannedWorkflow<'_>,
        node: &PlannedNode<'_>,
        entity: &Entity,
        driver: &str,
    ) -> Result<(), UserError> {
        let configured = self.settings().agents.get(driver).and_then(|agent| agent.model.as_deref());
        let is_overridden = node.options.models().next().is_some()
            || part.workflow.settings.models().next().is_some()
            || self.flags().model.is_some()
            || self.resolved.is_asked_for("model");
        let found = losses(entity, &entity_driver(&self.home.agents, driver), configured);
        let is_limit = |loss: &&EntityLoss| loss.part == LostPart::Limit;
        if let Some(loss) = found.iter().find(is_limit).filter(|_| !self.flags().isolation_best_effort) {
            let text = format!("{} ({}) {}", whose(entity), entity.source.path, loss.what);
            return Err(UserError::new(UserErrorKind::Refused, text).hint(loss.hint.clone()));
        }
        let found = found.iter().filter(|loss| loss.part != LostPart::Model || !is_overridden);
        self.lost.borrow_mut().extend(found.map(|loss| warning(entity, loss)));
        Ok(())
    }

    /// Refuses the tools of a node where the driver cannot enforce them, unless the user accepts that.
    fn keeps_tools(
        &self,
        node: &str,
        driver: &str,
        hold: Hold,
        warnings: &mut Vec<String>,
    ) -> Result<(), UserError> {
        if hold == Hold::Enforced {
            return Ok(());
        }
        let EntityLoss { what, hint, .. } = limit_loss(driver);
        let text = format!("node `{node}` {what}");
        if self.flags().isolation_best_effort {
            warnings.push(text);
            return Ok(());
        }
        Err(UserError::new(UserErrorKind::Refused, text).hint(hint))
    }

    /// Refuses `strict` where the driver cannot enforce it, unless the user accepts that.
    fn holds_strict(
        &self,
        driver: &str,
        enforcement: Enforcement,
        isolation: Isolation,
        warnings: &mut Vec<String>,
    ) -> Result<(), UserError> {
        let parts = [
            (enforcement.tools, "which tools the agent uses"),
            (enforcement.settings, "which settings it loads"),
        ];
        let open: Vec<&str> =
            parts.iter().filter(|(hold, _)| *hold != Hold::Enforced).map(|(_, what)| *what).collect();
        if isolation != Isolation::Strict || open.is_empty() {
            return Ok(());
        }
        let text =
            format!("driver `{driver}` cannot enforce `strict`: nothing limits {}", open.join(" and "));
        if self.flags().isolation_best_effort {
            warnings.push(text);
            return Ok(());
        }
        Err(UserError::new(UserErrorKind::Refused, text).hint(
            "accept that with --isolation-best-effort, or choose `--isolation minimal` or another driver",
        ))
    }

    fn driver(
        &self,
        name: &str,
        role: DriverRole,
        models: &[String],
        warnings: &mut Vec<String>,
    ) -> Result<AgentCommand, UserError> {
        let configured = self.settings().agents.get(name);
        // The flags about a program and its arguments are about the driver of the run.
        let is_own = role == DriverRole::Own;
        let given = self.agent_words(name, role)?;
        let program = match find_agent(self.home, name, given.as_ref().map(|(program, _)| program.as_path()))
        {
            Ok(program) => program,
            // A dry run starts no agent, so it needs none.
            Err(problem) if self.request.dry_run && problem.class == UserErrorKind::Agent => {
                warnings.push(format!("a run would be refused: {}", problem.text()));
                given.as_ref().map_or_else(|| PathBuf::from(name), |(program, _)| program.clone())
            }
            Err(problem) => return Err(problem),
        };
        let mut words = given.map(|(_, words)| words).unwrap_or_default();
        let mut name = name;
        if self.home.agents.named(name).is_some_and(|dialect| dialect.program().is_none())
            && let Some(cli) = simulated_cli(self.home.var("WINDLASS_SIM_FORMAT"))?
        {
            // The driver of that CLI runs the simulated agent in its place.
            words.extend(PLAY_AS.iter().chain([&cli]).map(|word| (*word).to_owned()));
            name = cli;
        }
        let mut args = configured.map(|agent| agent.args.clone()).unwrap_or_default();
        args.extend(self.request.agent_args.iter().filter(|_| is_own).cloned());
        // A template is filled in when the node starts.
        let model = models.first().filter(|model| is_plain(model)).cloned();
        Ok(AgentCommand { name: name.to_owned(), program: text_path(&program)?, words, model, args })
    }

    /// Reads the command of a driver's agent CLI from the flag or the settings.
    fn agent_words(
        &self,
        driver: &str,
        role: DriverRole,
    ) -> Result<Option<(PathBuf, Vec<String>)>, UserError> {
        let configured = self.settings().agents.get(driver).and_then(|agent| agent.program.as_deref());
        let flag = self.flags().agent_bin.as_ref().filter(|_| role == DriverRole::Own);
        let (given, base) = match (flag, configured) {
            (Some(bin), _) => (bin.as_path(), self.request.cwd.as_path()),
            (None, Some(program)) => (Path::new(program), self.home.user.as_path()),
            (None, None) => return Ok(None),
        };
        agent_words::read(given, base).map(Some).map_err(|UnclosedQuote| {
            let text = format!(
                "the command of driver `{driver}` has a quote that is never closed: {}",
                given.display()
            );
            UserError::new(UserErrorKind::Usage, text).hint("close it, or put a backslash before it")
        })
    }

    /// Picks the models, in the order in which they are tried. The workflow's choice wins over the entity's.
    fn models(
        &self,
        node: &PlannedNode<'_>,
        entity: Option<&Entity>,
        driver: &str,
        role: DriverRole,
        warnings: &mut Vec<String>,
    ) -> Vec<String> {
        let configured = self.settings().agents.get(driver).and_then(|agent| agent.model.clone());
        // The names of models differ between drivers.
        if role == DriverRole::Fallback {
            return configured.into_iter().collect();
        }
        let facts = entity_driver(&self.home.agents, driver);
        let mut unknown = |whose: &str, model: &str| {
            let EntityLoss { what, hint, .. } = model_loss(model, driver, configured.as_deref());
            warnings.push(format!("{whose} {what}; {hint}"));
        };
        let of_entity = || model_on(entity?.model.as_ref()?, entity?.source.provider, &facts);
        let asked: Vec<String> = node.options.models().cloned().collect();
        // A template may give any name, and a person may have set up any name but a tier of another CLI.
        let is_known = |model: &&String| !is_plain(model) || knows_name(model, &facts);
        let own: Vec<String> = asked.iter().filter(is_known).cloned().collect();
        let is_overridden = self.flags().model.is_some() || self.resolved.is_asked_for("model");
        for model in asked.iter().filter(|model| !is_known(model) && !is_overridden) {
            unknown(&format!("node `{}`", node.node.id), model);
        }
        let own = if asked.is_empty() { of_entity().map(|model| vec![model]) } else { Some(own) };
        let own = own.filter(|models| !models.is_empty());
        let flag = self.flags().model.as_ref();
        let flag = flag.map(|models| models.split(',').map(|model| model.trim().to_owned()).collect());
        // The setting is about the driver of the settings.
        let fits =
            |model: &&String| is_overridden || driver == self.settings().driver || shares_name(model, &facts);
        let set = self.settings().model.as_ref();
        let setting = set.filter(fits);
        if let Some(model) = set.filter(|model| setting.is_none() && own.is_none() && !asked.contains(model))
        {
            unknown("the setting `model`", model);
        }
        let setting = setting.cloned().or_else(|| configured.clone());
        self.pick("model", flag, own, setting.into_iter().collect())
    }

    /// Builds the rules of a session's turns.
    fn rules(
        &self,
        part: &PlannedWorkflow<'_>,
        turns: &TurnLoop,
        can: Capabilities,
        warnings: &mut Vec<String>,
    ) -> Result<LoopRules, UserError> {
        let mode = match self.mode(turns) {
            LoopMode::InSession if !can.stop_block && can.resume => {
                warnings.push(
                    "this driver cannot be kept from stopping, so Windlass resumes its session after each turn: \
                     `resume` instead of `in_session`"
                        .to_owned(),
                );
                LoopMode::Resume
            }
            LoopMode::InSession if can.silent_stop && can.resume && turns.promise.is_some() => {
                warnings.push(
                    "this driver does not tell its last words when it wants to stop, so Windlass looks for the \
                     promise after each turn and resumes the session: `resume` instead of `in_session`"
                        .to_owned(),
                );
                LoopMode::Resume
            }
            mode => mode,
        };
        if mode == LoopMode::Plugin {
            self.ends_by_promise(part, turns, warnings)?;
        }
        let promise = turns.promise.clone();
        let marker = match (&turns.marker, &promise) {
            (None, None) => Some(DEFAULT_MARKER.to_owned()),
            (marker, _) => marker.clone(),
        };
        // A plugin keeps its own state file and knows no tracker.
        let signal = self.flags().until_signal.clone();
        let has_tracker = signal.is_none() && mode != LoopMode::Plugin;
        let marker = marker.filter(|_| has_tracker);
        let go_on = if has_tracker { DEFAULT_CONTINUE } else { DEFAULT_CONTINUE_WITHOUT_TRACKER };
        let settings = self.settings();
        let most = self.flags().max_iterations;
        Ok(LoopRules {
            prompt: String::new(),
            mode,
            marker,
            marker_match: turns.marker_match,
            promise,
            signal,
            blocked_marker: turns.blocked.clone(),
            max_iterations: self.pick("max_iterations", most, turns.max, settings.max_iterations),
            continue_message: turns.continue_message.clone().unwrap_or_else(|| go_on.to_owned()),
            tracker_body: turns.tracker.clone().unwrap_or_else(|| DEFAULT_TRACKER.to_owned()),
            tracker_path: has_tracker.then(String::new),
            stuck_after: self.pick("stuck_after", None, turns.stuck_after, settings.stuck_after),
        })
    }

    /// Refuses `plugin` mode without a promise: the plugin looks for nothing else, so the loop could never
    /// complete.
    fn ends_by_promise(
        &self,
        part: &PlannedWorkflow<'_>,
        turns: &TurnLoop,
        warnings: &mut Vec<String>,
    ) -> Result<(), UserError> {
        let name = &part.workflow.name;
        if self.flags().until_signal.is_some() {
            let text = "--until-signal has no effect in `plugin` mode: only a promise ends the loop";
            return Err(
                UserError::new(UserErrorKind::Usage, text).hint("leave it out, or choose another --mode")
            );
        }
        if turns.promise.is_none() {
            let text =
                format!("in `plugin` mode only a promise completes a loop, and workflow `{name}` has none");
            return Err(UserError::new(UserErrorKind::Configuration, text).hint(
                "add `completionPromise` to the `loop` of its workflow.json, `promise` to the `turns` of a document, \
                 or choose another mode: --mode fresh",
            ));
        }
        if turns.marker.is_some() {
            warnings.push(format!(
                "in `plugin` mode there is no tracker: the marker of workflow `{name}` completes nothing"
            ));
        }
        Ok(())
    }

    /// Finds the program that notifies a person. Without it the run works too, so a missing one is a warning.
    fn notify(&self, warnings: &mut Vec<String>) -> Result<NotifySettings, UserError> {
        let mut notify = self.settings().notify.clone();
        let Some(written) = notify.command.first() else { return Ok(notify) };
        let base = self.resolved.sources.get("notify.command").map(|source| base_of(source, self.cwd));
        let base = base.unwrap_or_else(|| self.cwd.to_owned());
        match find_program(written, self.home.var("PATH").unwrap_or_default(), &base) {
            Some(program) => {
                let program = text_path(&program)?;
                notify.command.splice(..1, [program]);
            }
            None => {
                warnings.push(format!(
                    "the program `{written}` of `notify.command` is not installed or cannot be executed, so \
                     nobody is notified"
                ));
                notify.command.clear();
            }
        }
        Ok(notify)
    }

    fn plugins(&self) -> Result<Vec<Plugin>, UserError> {
        let plugin = |entry: &crate::catalog::PluginEntry| {
            Ok(Plugin { name: entry.name.clone(), dir: text_path(&entry.dir)?, loops: entry.loops })
        };
        self.catalog.plugins.iter().map(plugin).collect()
    }

    /// Returns the checks of settings, workflow and flags. For the same name, the later source wins.
    fn checks(&self, part: &PlannedWorkflow<'_>) -> Vec<Check> {
        let mut checks = self.settings().checks.clone();
        let own = part.workflow.checks.iter();
        let own = own.map(|(name, command)| Check { name: name.clone(), command: command.clone() });
        for check in own.chain(self.checks.iter().cloned()) {
            checks.retain(|other| other.name != check.name);
            checks.push(check);
        }
        checks
    }

    /// Asks a person at the terminal, unless a setting or flag says otherwise. A run in the background waits
    /// for answers, too.
    fn policy(&self) -> Policy {
        let settings = self.settings();
        let ask = self.request.interactive;
        let permission =
            if ask && !self.is_set("on_permission") { OnPermission::Ask } else { settings.on_permission };
        let question = if (ask || self.request.detached) && !self.is_set("on_question") {
            OnQuestion::Wait
        } else {
            settings.on_question
        };
        Policy {
            on_permission: self.flags().on_permission.unwrap_or(permission),
            on_question: self.flags().on_question.unwrap_or(question),
        }
    }

    fn is_set(&self, key: &str) -> bool {
        !self.resolved.is_builtin(key)
    }

    /// Takes the run's time limit from flag, workflow or settings. The limit of a node applies to that node
    /// alone.
    fn limits(&self, part: &PlannedWorkflow<'_>) -> TimeLimits {
        let settings = self.settings();
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let own = part.workflow.settings.timeout_ms;
        TimeLimits {
            run_ms: self.flags().timeout_ms.or(own).or(settings.timeout.map(ms)),
            check_ms: ms(settings.check_timeout),
            grace_ms: ms(settings.grace),
            retry_ms: ms(settings.retry_delay),
            rate_limit_ms: ms(settings.rate_limit_wait),
        }
    }
}

/// Returns the name in `name@owner/repo`.
fn plugin_name(needed: &str) -> &str {
    needed.split_once('@').map_or(needed, |(name, _)| name)
}

/// Returns the agent CLI whose format `sim` plays, if it is one with a driver of its own. Refuses a format that `sim`
/// does not know.
fn simulated_cli(format: Option<&str>) -> Result<Option<&'static str>, UserError> {
    let own = ["claude", "plain"];
    let clis = ["codex", "opencode", "copilot", "gemini", "acp"];
    let Some(format) = format.filter(|format| !format.is_empty() && !own.contains(format)) else {
        return Ok(None);
    };
    if let Some(cli) = clis.into_iter().find(|cli| *cli == format) {
        return Ok(Some(cli));
    }
    let known = || own.into_iter().chain(clis);
    let near = nearest(format, known()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let list: Vec<&str> = known().collect();
    Err(UserError::new(
        UserErrorKind::Usage,
        format!("WINDLASS_SIM_FORMAT is `{format}`, which `sim` does not know"),
    )
    .hint(format!("{near}it is one of {}", list.join(", "))))
}
