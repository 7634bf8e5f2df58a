//! The settings with which the CLI starts: the login, our hooks, and in `permissive` all of the user's own.
//!
//! They are the user's settings of a private home, because the CLI reads system settings only from a file that
//! belongs to root.

use serde_json::{Map, Value, json};
use windlass_core::hook::permission::Isolation;

use super::super::turn::{TurnPaths, TurnRequest};
use super::hook::{STOP, TOOL};
use super::jsonc;

/// The attempts for one request of the model. The CLI waits between them and prints nothing meanwhile, so the
/// run waits instead, where people see it and where a limit ends it.
const ATTEMPTS: u64 = 2;
/// A person may take a week to answer a question. In milliseconds.
const TOOL_HOOK_MS: u64 = 7 * 24 * 3600 * 1000;
/// Time for a stop beyond the checks it waits for.
const STOP_MARGIN_MS: u64 = 300_000;
/// The longest time that a timer of the CLI can have.
const LONGEST_MS: u64 = 2_000_000_000;
/// The variable with the path of the Windlass binary, so that no shell interprets the path.
const PROGRAM: &str = "WINDLASS_HOOK_PROGRAM";

/// The user's settings that would keep our hooks from running.
const OVERRIDDEN: &[&str] = &["admin", "hooksConfig", "advanced.autoConfigureMemory", "tools.sandbox"];

/// Builds `settings.json`. `folders` are the folders outside of the workspace that the agent may use, and
/// `unignored` is the file that lists what a `.gitignore` does not hide.
pub(super) fn build(
    turn: &TurnRequest<'_>,
    hooks: &Value,
    user_settings: Option<&str>,
    folders: &[String],
    unignored: &str,
) -> Value {
    let user = user_settings.and_then(jsonc::object).unwrap_or_default();
    let mut settings = match turn.settings.isolation {
        Isolation::Permissive => without_obstacles(user),
        Isolation::Strict | Isolation::Minimal => login(&user),
    };
    for (path, value) in [
        ("security.folderTrust.enabled", json!(false)),
        ("general.enableAutoUpdate", json!(false)),
        ("general.enableAutoUpdateNotification", json!(false)),
        ("general.maxAttempts", json!(ATTEMPTS)),
        ("general.sessionRetention.enabled", json!(false)),
        ("privacy.usageStatisticsEnabled", json!(false)),
        ("ide.enabled", json!(false)),
    ] {
        set(&mut settings, path, value);
    }
    append(&mut settings, "context.includeDirectories", folders.iter().map(|folder| json!(folder)));
    append(&mut settings, "context.fileFiltering.customIgnoreFilePaths", [json!(unignored)]);
    for (event, entries) in hooks.as_object().into_iter().flatten() {
        append(&mut settings, &format!("hooks.{event}"), entries.as_array().into_iter().flatten().cloned());
    }
    Value::Object(settings)
}

/// Builds the hooks. The CLI removes variables that look like secrets from a hook's environment, or in some
/// places all variables, so each hook brings its own.
pub(super) fn hooks(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>) -> Value {
    let program = paths.windlass_exe.to_string_lossy().into_owned();
    let own = turn.own_env(paths).into_iter().chain([(PROGRAM.to_owned(), program)]);
    let env: Map<String, Value> = own.map(|(name, value)| (name, Value::String(value))).collect();
    let hook = |event: &str, command: String, ms: u64| {
        let hook = json!({ "type": "command", "name": format!("windlass {event}"), "command": command, "timeout": ms.min(LONGEST_MS), "env": env });
        json!([{ "hooks": [hook] }])
    };
    let checks = (turn.spec.checks.len() as u64).saturating_mul(turn.spec.limits.check_ms);
    // The CLI lets a tool run if its hook dies without a word.
    let tool = format!(
        "\"${PROGRAM}\" hook {TOOL} --closed || {{ [ $? = 2 ] || echo 'windlass: denied, the hook failed' >&2; exit 2; }}"
    );
    let stop = format!("\"${PROGRAM}\" hook {STOP} --open");
    json!({
        TOOL: hook(TOOL, tool, TOOL_HOOK_MS),
        STOP: hook(STOP, stop, checks.saturating_add(STOP_MARGIN_MS)),
    })
}

/// Returns the login part of the user's settings.
fn login(user: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for path in ["security.auth", "selectedAuthType", "billing", "advanced.dnsResolutionOrder"] {
        if let Some(value) = get(user, path) {
            set(&mut kept, path, value.clone());
        }
    }
    kept
}

/// Returns the user's settings without those that would keep our hooks from running.
fn without_obstacles(user: Map<String, Value>) -> Map<String, Value> {
    let mut settings = user;
    for path in OVERRIDDEN {
        remove(&mut settings, path);
    }
    if let Some(Value::Object(security)) = settings.get_mut("security") {
        // Approvals of the CLI itself, and lists that our extension is not on.
        security.retain(|key, _| key == "auth" || key == "environmentVariableRedaction");
    }
    settings
}

fn get<'a>(settings: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = settings.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

fn remove(settings: &mut Map<String, Value>, path: &str) {
    match path.split_once('.') {
        None => drop(settings.remove(path)),
        Some((first, rest)) => {
            if let Some(Value::Object(inner)) = settings.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}

/// Returns the place of a value, with the objects around it. Anything else in their place gives way.
fn place<'a>(settings: &'a mut Map<String, Value>, path: &str) -> &'a mut Value {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = settings.entry(first).or_insert(Value::Null);
    let Some(rest) = rest else { return value };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(inner) => place(inner, rest),
        other => other,
    }
}

fn set(settings: &mut Map<String, Value>, path: &str, value: Value) {
    *place(settings, path) = value;
}

fn append(settings: &mut Map<String, Value>, path: &str, more: impl IntoIterator<Item = Value>) {
    let place = place(settings, path);
    match place {
        Value::Array(list) => list.extend(more),
        other => *other = more.into_iter().collect(),
    }
}
