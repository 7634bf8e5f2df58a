//! The known keys: how Windlass reads and shows the value of each.

use windlass_core::entity::Provider;
use windlass_core::registry::tools::{self, Named};
use windlass_core::spec::Check;

use super::layer::SettingSource;
use super::setting_value::{SettingError, SettingValue, written};
use super::value::{EntitySettings, PluginDir, Settings};
use super::words::{DRIVERS, DURABILITIES, ISOLATIONS, MODES, ON_PERMISSION, ON_QUESTION, PROVIDERS};
use super::{budgets, prices};
use crate::tracker::yaml::quote;
use crate::words::{did_you_mean, is_label, quoted};

/// A key at the top level.
pub(super) struct SettingKey {
    pub(super) name: &'static str,
    take: fn(&mut Settings, &SettingValue, &SettingSource) -> Result<(), SettingError>,
    /// Returns the value as TOML, or `None` if it is unset.
    show: fn(&Settings) -> Option<String>,
}

/// The known tables.
pub(super) const TABLES: &[&str] =
    &["checks", "permissions", "agents", "entities", "notify", "budgets", prices::PRICES];

/// The keys of the tables whose keys are fixed. `agents` has them for each driver.
pub(super) const RULE_LISTS: &[&str] = &["allow", "deny", "ask"];
pub(super) const ENTITY_KEYS: &[&str] = &["providers", "project_path", "user_path"];
pub(super) const AGENT_KEYS: &[&str] = &["program", "args", "model"];
pub(super) const NOTIFY_KEYS: &[&str] = &["command", "bell", "osc9"];

macro_rules! key {
    ($field:ident, $read:expr, $show:expr) => {
        SettingKey {
            name: stringify!($field),
            take: |settings, given, _| {
                settings.$field = $read(given)?;
                Ok(())
            },
            show: |settings| $show(&settings.$field),
        }
    };
}

/// The top-level keys, in the order in which `windlass config show` prints them.
pub(super) const KEYS: &[SettingKey] = &[
    key!(driver, |given: &SettingValue| given.word(&DRIVERS).map(str::to_owned), shown_text),
    key!(model, |given: &SettingValue| given.text().map(Some), |model: &Option<String>| {
        model.as_deref().and_then(shown_text)
    }),
    key!(
        fallback,
        |given: &SettingValue| given
            .words(&DRIVERS)
            .map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>()),
        |names: &Vec<String>| Some(shown_list(names.iter().map(String::as_str)))
    ),
    key!(switch_back, SettingValue::flag, shown_flag),
    key!(isolation, |given: &SettingValue| given.word(&ISOLATIONS), |value: &_| shown_text(
        ISOLATIONS.word(*value)
    )),
    key!(max_isolation, |given: &SettingValue| given.word(&ISOLATIONS), |value: &_| shown_text(
        ISOLATIONS.word(*value)
    )),
    SettingKey {
        name: "plugins",
        take: take_plugins,
        show: |settings| Some(shown_list(settings.plugins.iter().map(|plugin| plugin.path.as_str()))),
    },
    key!(max_iterations, SettingValue::count, shown_count),
    key!(mode, |given: &SettingValue| given.word(&MODES), |value: &_| shown_text(MODES.word(*value))),
    key!(stuck_after, SettingValue::count, shown_count),
    key!(timeout, |given: &SettingValue| given.time().map(Some), |value: &Option<_>| value
        .as_ref()
        .and_then(shown_time)),
    key!(check_timeout, SettingValue::time, shown_time),
    key!(grace, SettingValue::duration, shown_time),
    key!(retry_delay, SettingValue::duration, shown_time),
    key!(rate_limit_wait, SettingValue::duration, shown_time),
    key!(on_permission, |given: &SettingValue| given.word(&ON_PERMISSION), |value: &_| {
        shown_text(ON_PERMISSION.word(*value))
    }),
    key!(on_question, |given: &SettingValue| given.word(&ON_QUESTION), |value: &_| shown_text(
        ON_QUESTION.word(*value)
    )),
    key!(durability, |given: &SettingValue| given.word(&DURABILITIES), |value: &_| shown_text(
        DURABILITIES.word(*value)
    )),
];

/// The result of applying a value.
pub(super) enum TakenValue {
    Yes,
    /// An unknown key that Windlass can ignore, with a hint.
    Unknown(Option<String>),
    /// An unknown key, with a hint, that may be a misspelt limit. Ignoring it could let an agent do
    /// more than the user meant to allow.
    Refused(Option<String>),
    Wrong(SettingError),
}

impl From<Result<(), SettingError>> for TakenValue {
    fn from(result: Result<(), SettingError>) -> TakenValue {
        result.map_or_else(TakenValue::Wrong, |()| TakenValue::Yes)
    }
}

/// Stores a value under its key.
pub(super) fn take(
    settings: &mut Settings,
    path: &[&str],
    given: &SettingValue,
    source: &SettingSource,
) -> TakenValue {
    match path {
        ["checks", name] => take_check(settings, name, given).into(),
        ["permissions", list] => take_rules(settings, list, given),
        ["entities", field] => take_entities(settings, field, given),
        ["notify", field] => take_notify(settings, field, given),
        ["agents", driver, field] => take_agent(settings, driver, field, given),
        ["budgets", name, field] => budgets::take(settings, name, field, given),
        [prices::PRICES, model, field] => prices::take(settings, model, field, given),
        [name] => match KEYS.iter().find(|key| key.name == *name) {
            Some(key) => (key.take)(settings, given, source).into(),
            None if TABLES.contains(name) => TakenValue::Wrong(SettingError::new("must be a table", None)),
            None => unknown(name),
        },
        [prices::PRICES, ..] => TakenValue::Refused(Some(prices::NO_VARIABLE.to_owned())),
        ["permissions" | "budgets", ..] => TakenValue::Refused(None),
        _ => TakenValue::Unknown(None),
    }
}

/// Refuses an unknown key that is close to one in [`LIMITING`]; any other is only ignored.
fn unknown(name: &str) -> TakenValue {
    let hint = did_you_mean(name, known_names());
    match did_you_mean(name, LIMITING) {
        Some(near) if hint.as_ref() == Some(&near) => TakenValue::Refused(hint),
        _ => TakenValue::Unknown(hint),
    }
}

/// The keys that limit what an agent may do or spend.
pub(super) const LIMITING: [&str; 6] =
    ["permissions", "on_permission", "isolation", "max_isolation", "budgets", prices::PRICES];

pub(super) fn known_names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name).chain(TABLES.iter().copied())
}

/// Returns every key that has a value, with that value as TOML.
pub(super) fn show(settings: &Settings) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> =
        KEYS.iter().filter_map(|key| Some((key.name.to_owned(), (key.show)(settings)?))).collect();
    for Check { name, command } in &settings.checks {
        shown.push((format!("checks.{name}"), quote(command)));
    }
    let rules = &settings.permissions;
    for (name, list) in [("allow", &rules.allow), ("deny", &rules.deny), ("ask", &rules.ask)] {
        shown.push((format!("permissions.{name}"), shown_list(list.iter().map(String::as_str))));
    }
    show_entities(&settings.entities, &mut shown);
    let notify = &settings.notify;
    shown.push(("notify.command".to_owned(), shown_list(notify.command.iter().map(String::as_str))));
    shown.push(("notify.bell".to_owned(), notify.bell.to_string()));
    shown.push(("notify.osc9".to_owned(), notify.osc9.to_string()));
    for (driver, agent) in &settings.agents {
        if let Some(program) = &agent.program {
            shown.push((format!("agents.{driver}.program"), quote(program)));
        }
        if !agent.args.is_empty() {
            shown.push((format!("agents.{driver}.args"), shown_list(agent.args.iter().map(String::as_str))));
        }
        if let Some(model) = &agent.model {
            shown.push((format!("agents.{driver}.model"), quote(model)));
        }
    }
    budgets::show(settings, &mut shown);
    prices::show(settings, &mut shown);
    shown
}

/// Returns a key with dots between its parts.
pub(super) fn dotted(path: &[&str]) -> String {
    match path {
        [prices::PRICES, model, rest @ ..] => prices::key_of(model, rest),
        path => path.join("."),
    }
}

fn show_entities(entities: &EntitySettings, shown: &mut Vec<(String, String)>) {
    let words = entities.providers.iter().map(|provider| provider.word());
    shown.push(("entities.providers".to_owned(), shown_list(words)));
    for (name, path) in [("project_path", &entities.project_path), ("user_path", &entities.user_path)] {
        shown.extend(path.as_deref().map(|path| (format!("entities.{name}"), quote(path))));
    }
}

fn take_plugins(
    settings: &mut Settings,
    given: &SettingValue,
    source: &SettingSource,
) -> Result<(), SettingError> {
    for path in given.texts()? {
        settings.plugins.push(PluginDir { path, source: source.clone() });
    }
    Ok(())
}

fn take_check(settings: &mut Settings, name: &str, given: &SettingValue) -> Result<(), SettingError> {
    if !is_label(name) {
        let message = "has a name that is blank, has control characters or is longer than 60 characters";
        return Err(SettingError::new(message, None));
    }
    let command = given.text()?;
    match settings.checks.iter_mut().find(|check| check.name == name) {
        Some(check) => check.command = command,
        None => settings.checks.push(Check { name: name.to_owned(), command }),
    }
    Ok(())
}

fn take_rules(settings: &mut Settings, list: &str, given: &SettingValue) -> TakenValue {
    let rules = match list {
        "allow" => &mut settings.permissions.allow,
        "deny" => &mut settings.permissions.deny,
        "ask" => &mut settings.permissions.ask,
        _ => return TakenValue::Refused(did_you_mean(list, RULE_LISTS.iter().copied())),
    };
    let added = match given.texts() {
        Ok(added) => added,
        Err(wrong) => return TakenValue::Wrong(wrong),
    };
    for (number, rule) in added.iter().enumerate() {
        if let Err(mut wrong) = rule_fault(list, rule) {
            wrong.at = given.place_of(number);
            return TakenValue::Wrong(wrong);
        }
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    TakenValue::Yes
}

/// Refuses a rule that could never match a tool call, because it would limit nothing.
fn rule_fault(list: &str, rule: &str) -> Result<(), SettingError> {
    let shown = quoted(rule);
    if rule.trim() != rule || rule.contains(char::is_control) || tools::pattern(rule).is_err() {
        let hint = "write a tool, with a pattern in brackets or without: `Bash(git push:*)`";
        return Err(SettingError::new(format!("has a rule that cannot be understood: {shown}"), Some(hint)));
    }
    let name = rule.split('(').next().unwrap_or(rule);
    if list != "allow" && tools::is_always_allowed(name) {
        return Err(SettingError::new(
            format!("has a rule that never applies: {shown} is always allowed"),
            None,
        ));
    }
    if let Some((what, hint)) = tools::name_error(name, tools::pattern(rule).ok().flatten()) {
        return Err(SettingError::new(
            format!("has a rule that never applies: {shown}, because {what}"),
            Some(hint),
        ));
    }
    // Rules name the tools of MCP servers as Claude Code does, or with a wildcard.
    match tools::named(name, Provider::Claude) {
        Named::Unknown => {
            let hint = did_you_mean(name, tools::words());
            let hint = hint.as_deref().unwrap_or("write `NAME*` for a tool that Windlass does not know");
            Err(SettingError::new(
                format!("has a rule about a tool that no agent CLI has: {shown}"),
                Some(hint),
            ))
        }
        Named::Everything if name != "*" => Err(SettingError::new(
            format!("has a rule about a tool that no agent CLI has: {shown}"),
            Some("write `*`"),
        )),
        Named::Everything | Named::These(_) | Named::Matching(_) | Named::Elsewhere => Ok(()),
    }
}

fn take_entities(settings: &mut Settings, field: &str, given: &SettingValue) -> TakenValue {
    let entities = &mut settings.entities;
    match field {
        "providers" => {
            given.words(&PROVIDERS).map(|providers: Vec<Provider>| entities.providers = providers).into()
        }
        "project_path" => given.text().map(|path| entities.project_path = Some(path)).into(),
        "user_path" => given.text().map(|path| entities.user_path = Some(path)).into(),
        _ => TakenValue::Unknown(did_you_mean(field, ENTITY_KEYS.iter().copied())),
    }
}

fn take_notify(settings: &mut Settings, field: &str, given: &SettingValue) -> TakenValue {
    let notify = &mut settings.notify;
    match field {
        "command" => given.texts().map(|command| notify.command = command).into(),
        "bell" => given.flag().map(|bell| notify.bell = bell).into(),
        "osc9" => given.flag().map(|osc9| notify.osc9 = osc9).into(),
        _ => TakenValue::Unknown(did_you_mean(field, NOTIFY_KEYS.iter().copied())),
    }
}

fn take_agent(settings: &mut Settings, driver: &str, field: &str, given: &SettingValue) -> TakenValue {
    if DRIVERS.meaning(driver).is_none() {
        let (message, hint) = DRIVERS.unknown(driver);
        return TakenValue::Wrong(SettingError::new(
            format!("names an unknown driver: it {message}"),
            hint.as_deref(),
        ));
    }
    let agent = settings.agents.entry(driver.to_owned()).or_default();
    match field {
        "program" => given.text().map(|program| agent.program = Some(program)).into(),
        "args" => given.texts().map(|args| agent.args = args).into(),
        "model" => given.text().map(|model| agent.model = Some(model)).into(),
        _ => TakenValue::Unknown(did_you_mean(field, AGENT_KEYS.iter().copied())),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every `show`")]
fn shown_text(text: impl AsRef<str>) -> Option<String> {
    Some(quote(text.as_ref()))
}

#[expect(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "the shape of every `show`")]
fn shown_count(count: &u32) -> Option<String> {
    Some(count.to_string())
}

#[expect(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "the shape of every `show`")]
fn shown_flag(flag: &bool) -> Option<String> {
    Some(flag.to_string())
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of every `show`")]
fn shown_time(time: &std::time::Duration) -> Option<String> {
    Some(quote(&written(*time)))
}

fn shown_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.map(quote).collect();
    format!("[{}]", items.join(", "))
}
