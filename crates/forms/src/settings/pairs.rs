//! Turns environment variables and flags into keys and values.

use super::key::{KEYS, LIMITING, known_names};
use super::prices::{NO_VARIABLE, PRICES};
use super::setting_value::SettingValue;
use crate::words::did_you_mean;

const PREFIX: &str = "WINDLASS_";

/// Names after `WINDLASS_` that are not settings: variables for child processes and for tests.
const NOT_SETTINGS: &[&str] =
    &["run", "session", "socket", "iteration", "attempt", "hook", "sim", "crash", "sweep", "test", "bin"];

/// The meaning of an environment variable.
pub(super) enum Variable {
    /// A setting: the path of its key, and its value.
    Key(Vec<String>, SettingValue),
    /// A variable that has nothing to do with settings.
    Foreign,
    /// An unknown name that starts with `WINDLASS_`, with a hint.
    Unknown(Option<String>),
    /// An unknown name, with a hint, that is close to a key that limits an agent.
    Refused(Option<String>),
}

/// Reads a variable: `WINDLASS_MAX_ITERATIONS`, `WINDLASS_CHECKS_TEST`,
/// `WINDLASS_PERMISSIONS_DENY`, `WINDLASS_ENTITIES_PROVIDERS`, `WINDLASS_AGENTS_CLAUDE_PROGRAM`,
/// `WINDLASS_BUDGETS_DAY_COST`.
pub(super) fn variable(name: &str, value: &str) -> Variable {
    let Some(key) = name.strip_prefix(PREFIX).map(str::to_lowercase) else { return Variable::Foreign };
    // An empty variable counts as unset.
    if value.is_empty()
        || NOT_SETTINGS.iter().any(|known| key == *known || key.starts_with(&format!("{known}_")))
    {
        return Variable::Foreign;
    }
    if key == PRICES || key.starts_with("prices_") {
        return Variable::Refused(Some(NO_VARIABLE.to_owned()));
    }
    let Some(path) = path_of(&key) else {
        let limiting =
            LIMITING.into_iter().chain(["permissions_allow", "permissions_deny", "permissions_ask"]);
        let near = did_you_mean(&key, limiting.clone());
        let hint = did_you_mean(&key, known_names().chain(limiting));
        return if near.is_some() && near == hint {
            Variable::Refused(hint)
        } else {
            Variable::Unknown(hint)
        };
    };
    let given = match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["plugins"] => items(value, ':'),
        ["permissions", _] | ["entities", "providers"] => items(value, ','),
        ["agents", _, "args"] | ["notify", "command"] => items(value, ' '),
        _ => SettingValue::Typed(value.to_owned()),
    };
    Variable::Key(path, given)
}

fn path_of(key: &str) -> Option<Vec<String>> {
    if KEYS.iter().any(|known| known.name == key) {
        return Some(vec![key.to_owned()]);
    }
    let (table, rest) = key.split_once('_').filter(|(_, rest)| !rest.is_empty())?;
    match table {
        "checks" | "permissions" | "entities" | "notify" => Some(vec![table.to_owned(), rest.to_owned()]),
        "agents" | "budgets" => {
            let (driver, field) = rest.split_once('_')?;
            Some(vec![table.to_owned(), driver.to_owned(), field.to_owned()])
        }
        _ => None,
    }
}

fn items(value: &str, between: char) -> SettingValue {
    let items = value.split(between).map(str::trim).filter(|item| !item.is_empty());
    SettingValue::TypedList(items.map(str::to_owned).collect())
}

/// Returns the flag that sets a key, as the user types it.
pub(super) fn flag_name(path: &[&str]) -> String {
    match path {
        ["plugins"] => "--plugin".to_owned(),
        ["checks", _] => "--check".to_owned(),
        ["agents", _, "program"] => "--agent-bin".to_owned(),
        path => format!("--{}", path.join("-").replace('_', "-")),
    }
}
