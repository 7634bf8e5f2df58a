//! Puts flags, workflow and settings together: a flag or variable, else the workflow's own word,
//! else the settings.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::graph::{Node, NodeKind};
use windlass_core::hook::permission::Isolation;
use windlass_core::id::NodeId;
use windlass_core::looping::{DEFAULT_CONTINUE, DEFAULT_GO_ON, DEFAULT_MARKER, DEFAULT_TRACKER, Mode, Rules};
use windlass_core::spec::{Check, Driver, Limits, OnPermission, OnQuestion, Plugin, Policy};
use windlass_forms::settings::{self, Resolved, Settings};
use windlass_forms::workflow::WorkflowFile;

use super::choose::Chosen;
use super::{Flags, Request, text_path};
use crate::catalog::Catalog;
use crate::doctor::find_agent;
use crate::home::Home;
use crate::problem::{Class, Problem};

/// Everything that is known while the orders are made.
pub(super) struct Orders<'a> {
    pub(super) request: &'a Request,
    pub(super) resolved: &'a Resolved,
    pub(super) catalog: &'a Catalog,
    pub(super) chosen: &'a Chosen,
}

impl Orders<'_> {
    fn flags(&self) -> &Flags {
        &self.request.flags
    }

    fn file(&self) -> &WorkflowFile {
        &self.chosen.file
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
        let own = self.file().looping.as_ref().and_then(|part| part.mode);
        self.pick("mode", self.flags().mode, own, self.settings().mode)
    }

    /// `ralph-loop` is needed only where that plugin loops: otherwise Windlass itself is it.
    pub(super) fn require_plugins(&self) -> Result<(), Problem> {
        let plugin_mode = self.file().looping.is_some() && self.mode() == Mode::Plugin;
        let mut needed: Vec<&str> = self.file().plugins.iter().map(|plugin| plugin.name.as_str()).collect();
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
            self.file().name,
            missing.join(", ")
        );
        Err(Problem::new(Class::Configuration, text)
            .hint("load each with --plugin DIR, or name its folder under `plugins` in the settings"))
    }

    /// The workflow's isolation wins upward, with a warning, as far as the settings let it.
    pub(super) fn isolation(&self, warnings: &mut Vec<String>) -> Result<Isolation, Problem> {
        let asked = self.flags().isolation.unwrap_or(self.settings().isolation);
        let most = self.settings().max_isolation;
        // What nobody asked for gives way to what a document says, up or down.
        let is_asked = self.flags().isolation.is_some() || self.is_set("isolation");
        let wanted = match self.file().isolation {
            Some(own) if self.chosen.lowers_isolation && !is_asked => own,
            own => own.map_or(asked, |own| own.max(asked)),
        };
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
                self.file().name,
                wanted.word(),
                asked.word()
            ));
        }
        Ok(wanted)
    }

    pub(super) fn driver(&self, home: &Home) -> Result<Driver, Problem> {
        let wanted = self.flags().driver.clone().or_else(|| self.chosen.driver.clone());
        let name = wanted.unwrap_or_else(|| self.settings().driver.clone());
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
        let model = self.flags().model.clone().or_else(|| self.file().model.clone());
        let model = model.or_else(|| self.settings().model.clone());
        Ok(Driver { name, program: text_path(&program)?, model, args })
    }

    pub(super) fn node(&self, prompt: String, system: Option<String>) -> Node {
        let id = |word: &str| self.chosen.node.clone().unwrap_or_else(|| NodeId::new(word));
        let Some(part) = &self.file().looping else {
            return Node { id: id("turn"), kind: NodeKind::Prompt { prompt }, system };
        };
        let mode = self.mode();
        let promise = part.completion_promise.clone();
        let marker = match (&part.completion_marker, &promise) {
            (None, None) => Some(DEFAULT_MARKER.to_owned()),
            (marker, _) => marker.clone(),
        };
        // The plugin keeps its own state file; a tracker only where a marker is looked for.
        let signal = self.flags().until_signal.clone();
        let marker = marker.filter(|_| signal.is_none());
        let has_tracker = signal.is_none() && (mode != Mode::Plugin || marker.is_some());
        let go_on = if signal.is_some() { DEFAULT_GO_ON } else { DEFAULT_CONTINUE };
        let rules = Rules {
            prompt,
            mode,
            marker,
            marker_match: part.marker_match,
            promise,
            signal,
            blocked_marker: part.blocked_marker.clone(),
            max_iterations: self.pick(
                "max_iterations",
                self.flags().max_iterations,
                part.max_iterations,
                self.settings().max_iterations,
            ),
            continue_message: part.continue_message.clone().unwrap_or_else(|| go_on.to_owned()),
            tracker_body: part.tracker_template.clone().unwrap_or_else(|| DEFAULT_TRACKER.to_owned()),
            tracker_path: has_tracker.then(String::new),
            stuck_after: self.pick("stuck_after", None, part.stuck_after, self.settings().stuck_after),
        };
        Node { id: id("loop"), kind: NodeKind::Loop(rules), system }
    }

    pub(super) fn plugins(&self) -> Result<Vec<Plugin>, Problem> {
        let plugin = |entry: &crate::catalog::PluginEntry| {
            Ok(Plugin { name: entry.name.clone(), dir: text_path(&entry.dir)? })
        };
        self.catalog.plugins.iter().map(plugin).collect()
    }

    /// The settings' checks, the workflow's, then the flags'; a later source of the same name
    /// wins, but two flags of one name are a mistake.
    pub(super) fn checks(&self) -> Result<Vec<Check>, Problem> {
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
        for check in self.file().checks.iter().cloned().chain(flags) {
            checks.retain(|other| other.name != check.name);
            checks.push(check);
        }
        Ok(checks)
    }

    /// A person at the terminal is asked; otherwise the settings' policy answers.
    pub(super) fn policy(&self) -> Policy {
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

    pub(super) fn limits(&self) -> Limits {
        let settings = self.settings();
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Limits {
            run_ms: self.flags().timeout_ms.or(self.chosen.timeout_ms).or(settings.timeout.map(ms)),
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
