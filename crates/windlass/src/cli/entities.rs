//! `windlass entities`: lists, shows, checks and copies commands, skills and agents.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::entity::{Entity, EntityKind, Level, Provider, ToolEffect, ToolRule};
use windlass_core::registry::limits::{DriverTools, EntityLimits, limits, limits_of_role};
use windlass_core::registry::{Registry, expand};
use windlass_runtime::catalog::Diagnostic;
use windlass_runtime::entities::{self, LoadedEntities};
use windlass_runtime::new_file::NewFileScope;

use super::complete;
use super::feed::{envelope, words};
use super::fit;
use super::invocation::{Invocation, print};
use super::report::{Report, note};
use super::run_flags::words_of;
use super::sanitize::{plain, plain_line};
use super::terminal::error_columns;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  windlass entities                     list all that you can call by name
  windlass entities --type skill --all  list all skills, also hidden ones
  windlass entities show commit         show its text and where it is from
  windlass entities check               report the errors in all files
  windlass entities eject commit        copy it to .windlass, to change it";

/// List, show, check and copy commands, skills and agents
///
/// Without a subcommand, lists them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<EntitiesCommand>,

    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum EntitiesCommand {
    /// List the commands, skills and agents that can be called by name
    List(List),
    /// Show the text of an entity, where it comes from and what it hides
    Show(Show),
    /// Check all files and report their errors
    Check(Of),
    /// Copy a built-in entity into .windlass
    Eject(Eject),
}

/// The flags of `windlass entities list`.
#[derive(Debug, clap::Args)]
struct List {
    /// List only commands, skills or agents [default: all three]
    #[arg(long = "type", value_name = "TYPE", value_parser = words_of(EntityKind::WORDS))]
    kind: Option<EntityKind>,

    /// List only the entities of one provider [default: all providers]
    #[arg(long, value_name = "NAME", value_parser = words_of(Provider::WORDS))]
    provider: Option<Provider>,

    /// Also list entities that another entity hides
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    of: Of,
}

/// The flags of `windlass entities show`.
#[derive(Debug, clap::Args)]
struct Show {
    /// Name or alias of the entity
    #[arg(value_name = "NAME", add = complete::entities(None))]
    name: String,

    /// Type of the entity [default: the first of that name: command, skill, then agent]
    #[arg(long = "type", value_name = "TYPE", value_parser = words_of(EntityKind::WORDS))]
    kind: Option<EntityKind>,

    /// Show the text with these arguments filled in [default: show the placeholders]
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    args: Option<String>,

    #[command(flatten)]
    of: Of,
}

/// The flags of `windlass entities eject`.
#[derive(Debug, clap::Args)]
struct Eject {
    /// Name or alias of the entity
    #[arg(value_name = "NAME", add = complete::entities(None))]
    name: String,

    /// Type of the entity [default: the first of that name: command, skill, then agent]
    #[arg(long = "type", value_name = "TYPE", value_parser = words_of(EntityKind::WORDS))]
    kind: Option<EntityKind>,

    /// Copy it for all projects, into your own settings folder [default: into this project]
    #[arg(long)]
    user: bool,

    #[command(flatten)]
    of: Of,
}

/// The flags that all subcommands share.
#[derive(Debug, clap::Args)]
struct Of {
    /// Also load the plugin in DIR (may be repeated)
    #[arg(long = "plugin", value_name = "DIR")]
    plugins: Vec<PathBuf>,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl Of {
    fn load(&self, invocation: &Invocation) -> Result<LoadedEntities, Report> {
        load(invocation, &self.plugins)
    }
}

/// Loads all entities. Every plugin that was named must exist.
pub(super) fn load(invocation: &Invocation, plugins: &[PathBuf]) -> Result<LoadedEntities, Report> {
    let plugins: Vec<PathBuf> = plugins.iter().map(|dir| invocation.cwd.join(dir)).collect();
    if let Some(dir) = plugins.iter().find(|dir| !dir.join(".claude-plugin/plugin.json").is_file()) {
        let text = format!("{} is not a plugin: it has no .claude-plugin/plugin.json", dir.display());
        return Err(Report::new(Exit::Configuration, plain_line(&text))
            .hint("give the folder of a Claude Code plugin: --plugin DIR"));
    }
    Ok(entities::load(&invocation.home, &invocation.cwd, &plugins)?)
}

/// Runs `windlass entities`.
pub(crate) fn perform(args: Args) -> Result<Exit, Report> {
    let invocation = Invocation::look()?;
    match args.what.unwrap_or(EntitiesCommand::List(args.list)) {
        EntitiesCommand::List(list) => list.perform(&invocation),
        EntitiesCommand::Show(show) => show.perform(&invocation),
        EntitiesCommand::Check(of) => check(&invocation, &of),
        EntitiesCommand::Eject(eject) => eject.perform(&invocation),
    }
}

impl List {
    fn perform(&self, invocation: &Invocation) -> Result<Exit, Report> {
        let loaded = self.of.load(invocation)?;
        let registry = &loaded.registry;
        let shown = |entity: &&Entity| {
            self.kind.is_none_or(|kind| kind == entity.kind)
                && self.provider.is_none_or(|provider| provider == entity.source.provider)
        };
        let found: Vec<&Entity> = match self.all {
            true => registry.all().filter(shown).collect(),
            false => registry.winners(self.kind).filter(shown).collect(),
        };
        let lines = match self.of.json {
            true => found.iter().map(|entity| object(registry, entity)).collect(),
            false => {
                let rows: Vec<[String; 4]> = found.iter().map(|entity| cells(registry, entity)).collect();
                fit::table(&rows, 3, invocation.screen.limit())
            }
        };
        announce(&loaded);
        complain_briefly(&loaded.diagnostics);
        print(&lines)
    }
}

/// Prints what each provider has.
fn announce(loaded: &LoadedEntities) {
    announce_lines(&entities::start_up_lines(&loaded.registry));
}

/// Prints the lines about the providers. A terminal gets only one line, without the details.
pub(super) fn announce_lines(lines: &[String]) {
    let Some(columns) = error_columns().filter(|_| lines.len() > 1) else {
        return lines.iter().for_each(|line| note(line));
    };
    let brief = |line: &String| {
        let line = line.trim_start_matches(TITLE).trim_start();
        line.split(" (").next().unwrap_or(line).to_owned()
    };
    let all: Vec<String> = lines.iter().map(brief).collect();
    note(&fit::shorten_words(&format!("{TITLE} {}", all.join(", ")), columns));
}

/// The start of a line about a provider.
const TITLE: &str = "[entities]";

/// Prints how many files have errors, without the details.
fn complain_briefly(diagnostics: &[Diagnostic]) {
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = diagnostics.len() - errors;
    if !diagnostics.is_empty() {
        note(&format!("{}; `windlass entities check` shows them", tally(errors, warnings)));
    }
}

fn tally(errors: usize, warnings: usize) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", plural(errors, "error"), plural(warnings, "warning"))
}

fn object(registry: &Registry, entity: &Entity) -> String {
    envelope("entity", words::now(), None, facts(registry, entity))
}

fn facts(registry: &Registry, entity: &Entity) -> Value {
    let source = &entity.source;
    let by = registry.shadowed_by(entity);
    json!({
        "kind": entity.kind,
        "name": entity.name,
        "provider": source.provider,
        "level": source.level,
        "path": source.path,
        "line": source.line,
        "plugin": source.plugin.as_ref().map(|plugin| &plugin.name),
        "description": entity.description,
        "aliases": entity.aliases,
        "tools": named_tools(entity),
        "limits": shown_limits(entity),
        "agents": entity.roles.iter().map(|role| &role.name).collect::<Vec<_>>(),
        "model": entity.model.as_ref().map(|model| model.tier),
        "argument_hint": entity.argument_hint,
        "shadowed": by.is_some(),
        "shadowed_by": by.map(|winner| &winner.source.path),
    })
}

/// Returns the tools that the entity turns on, each once.
fn named_tools(entity: &Entity) -> Option<Vec<&String>> {
    let is_on = |rule: &&ToolRule| rule.effect != ToolEffect::Deny && rule.tool != "*";
    let names: Vec<&String> = match &entity.tools {
        Some(tools) => tools.iter().map(|tool| &tool.name).collect(),
        None => entity.limits.iter().filter(is_on).map(|rule| &rule.tool).collect(),
    };
    let mut once = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    (entity.tools.is_some() || !once.is_empty()).then_some(once)
}

/// Returns the limits that apply to a session with the entity.
fn shown_limits(entity: &Entity) -> Value {
    let limits = limits(entity, DriverTools::ALL);
    let mut shown = json!({ "only": limits.only });
    if let Value::Object(fields) = &mut shown {
        fields.extend(effects(&limits).map(|(word, rules)| (word.to_owned(), json!(rules))));
    }
    shown
}

/// Groups the rules by their effect.
fn effects(limits: &EntityLimits) -> impl Iterator<Item = (&'static str, Vec<&str>)> {
    [ToolEffect::Allow, ToolEffect::Deny, ToolEffect::Ask].into_iter().map(|effect| {
        let plain: &[String] = match effect {
            ToolEffect::Allow => &[],
            ToolEffect::Deny => &limits.deny,
            ToolEffect::Ask => &limits.ask,
        };
        let ordered = limits.ordered.iter().filter(|limit| limit.effect == effect);
        (effect.word(), plain.iter().chain(ordered.map(|limit| &limit.rule)).map(String::as_str).collect())
    })
}

fn cells(registry: &Registry, entity: &Entity) -> [String; 4] {
    let source = &entity.source;
    let from = match &source.plugin {
        Some(plugin) => format!("{} plugin {}", source.provider, plain_line(&plugin.name)),
        None => format!("{} {}", source.provider, source.level.word()),
    };
    let about = plain_line(&entity.description);
    let about = match registry.shadowed_by(entity) {
        Some(winner) => format!("{} (hidden by {})", place(entity), place(winner)),
        None => about,
    };
    [plain_line(&entity.name), entity.kind.to_string(), from, about]
}

/// Describes where an entity comes from.
fn place(entity: &Entity) -> String {
    match entity.source.level {
        Level::Builtin => "Windlass itself".to_owned(),
        Level::Project | Level::User => format!("{}:{}", plain_line(&entity.source.path), entity.source.line),
    }
}

/// Finds an entity by name. Without a kind it prefers a command, then a skill, then an agent.
fn find<'a>(loaded: &'a LoadedEntities, kind: Option<EntityKind>, name: &str) -> Result<&'a Entity, Report> {
    let name = name.strip_prefix('/').unwrap_or(name);
    let registry = &loaded.registry;
    if let Some(kind) = kind {
        return registry
            .lookup(kind, name)
            .map_err(|missing| miss(loaded, name, missing.text(), missing.suggestion()));
    }
    let found = registry.find(name);
    let Some(first) = found.first() else {
        return Err(unknown(loaded, name));
    };
    for other in found.iter().skip(1) {
        note(&format!("there is also the {} `{}`: use --type {0}", other.kind, plain_line(&other.name)));
    }
    Ok(first)
}

/// Reports that no entity has the name, or that its file is broken.
fn miss(loaded: &LoadedEntities, name: &str, text: String, near: Option<String>) -> Report {
    match loaded.broken(name) {
        Some(problem) => {
            let text = format!("`{name}` cannot be used: {}", entities::why(problem));
            Report::new(Exit::Configuration, plain_line(&text))
                .hint("`windlass entities check` shows the line")
        }
        None => {
            let list = "`windlass entities` lists the names";
            let hint = near.map(|near| format!("{near} {list}")).unwrap_or_else(|| list.to_owned());
            Report::new(Exit::Configuration, plain_line(&text)).hint(hint)
        }
    }
}

/// Reports that no entity has the name, and suggests a similar one.
pub(super) fn unknown(loaded: &LoadedEntities, name: &str) -> Report {
    let near = EntityKind::ALL.into_iter().find_map(|kind| loaded.registry.suggest(kind, name));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    miss(loaded, name, format!("no command, skill or agent is called {name:?}"), near)
}

impl Show {
    fn perform(&self, invocation: &Invocation) -> Result<Exit, Report> {
        let loaded = self.of.load(invocation)?;
        let entity = find(&loaded, self.kind, &self.name)?;
        let text = match &self.args {
            Some(args) => expand(entity, args).text(),
            None => entity.prompt.clone(),
        };
        let shadows = loaded.registry.shadows(entity);
        if self.of.json {
            let mut data = facts(&loaded.registry, entity);
            if let Value::Object(fields) = &mut data {
                fields.insert("prompt".to_owned(), text.into());
                fields.insert("extra".to_owned(), json!(entity.extra));
                let hidden: Vec<&String> = shadows.iter().map(|other| &other.source.path).collect();
                fields.insert("shadows".to_owned(), json!(hidden));
            }
            return print(&[envelope("entity", words::now(), None, data)]);
        }
        let mut lines = about(entity);
        lines.extend(shadows.iter().map(|other| format!("hides       {}", place(other))));
        lines.push(String::new());
        lines.extend(plain(&text).lines().map(str::to_owned));
        print(&lines)
    }
}

/// Describes an entity without its text.
fn about(entity: &Entity) -> Vec<String> {
    let mut lines = vec![
        format!("{:<11} {}", entity.kind.word(), plain_line(&entity.name)),
        format!("from        {} ({}, {})", place(entity), entity.source.provider, entity.source.level.word()),
    ];
    let mut add = |word: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("{word:<11} {}", plain_line(text)));
        }
    };
    add("about", &entity.description);
    add("aliases", &entity.aliases.join(", "));
    add("arguments", entity.argument_hint.as_deref().unwrap_or_default());
    let limits = limits(entity, DriverTools::ALL);
    if let Some(only) = &limits.only {
        let only = if only.is_empty() { "none".to_owned() } else { only.join(", ") };
        add("tools", &only);
    }
    for (word, rules) in effects(&limits) {
        add(word, &rules.join(", "));
    }
    for role in &entity.roles {
        let limits = limits_of_role(role, DriverTools::ALL);
        let only = limits.only.iter().map(|only| format!("tools {}", only.join(", ")));
        let effects = effects(&limits).filter(|(_, rules)| !rules.is_empty());
        let effects = effects.map(|(word, rules)| format!("{word} {}", rules.join(", ")));
        let all: Vec<String> = only.chain(effects).collect();
        add("done by", &format!("agent {}: {}", role.name, all.join("; ")));
    }
    add("model", entity.model.as_ref().map_or("", |model| &model.original));
    add("plugin", entity.source.plugin.as_ref().map_or("", |plugin| &plugin.name));
    lines
}

fn check(invocation: &Invocation, of: &Of) -> Result<Exit, Report> {
    let loaded = of.load(invocation)?;
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = loaded.diagnostics.len() - errors;
    let mut lines: Vec<String> = match of.json {
        true => loaded
            .diagnostics
            .iter()
            .map(|diagnostic| {
                let data = serde_json::to_value(diagnostic).unwrap_or_default();
                envelope("diagnostic", words::now(), None, data)
            })
            .collect(),
        false => loaded.diagnostics.iter().map(ToString::to_string).collect(),
    };
    let count = loaded.registry.all().count();
    lines.push(match of.json {
        true => {
            let data =
                json!({ "entities": count, "errors": errors, "warnings": warnings, "ok": errors == 0 });
            envelope("checked", words::now(), None, data)
        }
        false => format!("{count} commands, skills and agents: {}", tally(errors, warnings)),
    });
    announce(&loaded);
    let printed = print(&lines)?;
    Ok(if errors > 0 { Exit::Configuration } else { printed })
}

impl Eject {
    fn perform(&self, invocation: &Invocation) -> Result<Exit, Report> {
        let loaded = self.of.load(invocation)?;
        let entity = find(&loaded, self.kind, &self.name)?;
        let scope = if self.user { NewFileScope::User } else { NewFileScope::Project };
        let path = entities::eject(&invocation.home, &invocation.cwd, entity, scope)?;
        if self.of.json {
            return print(&[envelope("entity.ejected", words::now(), None, json!({ "path": path }))]);
        }
        print(&[plain_line(&path.display().to_string())])
    }
}
