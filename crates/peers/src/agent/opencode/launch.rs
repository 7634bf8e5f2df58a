//! The arguments, environment, settings and plugin with which OpenCode starts.
//!
//! Pure: this module builds the contents of the files, and the caller writes them with mode 0600. The tests with
//! the real CLI check the effect of each option.
//!
//! Except in `permissive`, OpenCode gets other folders for the user's settings, so that it finds none. It always
//! works without the network while it starts: it would otherwise install packages into each folder with
//! settings, also into that of the repository.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::Isolation;

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::settings;

/// The copy of the user's providers, which may contain keys.
pub(super) const PROVIDERS: &str = "config/opencode/opencode.json";
const PROMPT: &str = "prompt";
const PLUGIN: &str = "windlass.js";
const PLUGIN_TEXT: &str = include_str!("plugin.js");
/// The permission rule that denies every tool until the plugin removes it. It is a pattern that nobody writes, so it
/// replaces no rule of the user.
const GATE: &str = "**";
/// The tools that `strict` does not offer to the model. The plugin's call would refuse them too.
const BEYOND_STRICT: &[&str] = &["webfetch", "websearch", "codesearch", "task", "skill"];
/// Variables that would change what this module sets up.
const DROPPED: &[&str] = &["OPENCODE", "OPENCODE_PID", "OPENCODE_PURE", "OPENCODE_AUTO_SHARE", CONTENT];
/// Variables that bring settings of the user.
const USERS: &[&str] = &["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_PERMISSION"];
const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
const CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Makes the installation of packages do nothing.
const NO_INSTALL: &[(&str, &str)] = &[("npm_config_offline", "true"), ("npm_config_dry_run", "true")];

/// Leaves out the settings, skills and instructions of the project.
const PROJECT_OFF: &[&str] =
    &["OPENCODE_DISABLE_PROJECT_CONFIG", "OPENCODE_DISABLE_EXTERNAL_SKILLS", "OPENCODE_DISABLE_CLAUDE_CODE"];

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let [prompt, plugin] = [PROMPT, PLUGIN].map(|name| paths.dir.join(name));
    let mut files = vec![
        (prompt.clone(), turn.plan.prompt.clone().into_bytes()),
        (plugin.clone(), plugin_text(turn, paths, outside).into_bytes()),
        // OpenCode does not make the folder of its database.
        (paths.home.join("folder"), Vec::new()),
    ];
    let role = turn.system.map(|text| {
        // The path becomes a part of the system prompt. It stays the same for all turns, so caches work.
        let path = paths.home.join(format!("role-{}.md", turn.effect.node));
        files.push((path.clone(), text.as_bytes().to_vec()));
        path
    });
    if turn.settings.isolation != Isolation::Permissive {
        files.push((paths.dir.join(PROVIDERS), providers(outside).to_string().into_bytes()));
    }
    let mut launch = turn.launch(paths, outside, arguments(turn), Some(&prompt));
    let is_dropped = |name: &str| {
        DROPPED.contains(&name) || turn.settings.isolation != Isolation::Permissive && USERS.contains(&name)
    };
    launch.env.retain(|(name, _)| !is_dropped(name));
    for (name, value) in environment(turn, paths, outside, &content(&plugin, role.as_deref(), turn, outside))
    {
        launch.env.retain(|(other, _)| *other != name);
        launch.env.push((name, value));
    }
    Prepared { launch, files, links: Vec::new() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn user_value<'a>(outside: &UserEnvironment<'a>, name: &str) -> Option<&'a str> {
    let found = outside.env.iter().find(|(other, value)| other == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

fn arguments(turn: &TurnRequest<'_>) -> Vec<String> {
    let (session_settings, plan) = (turn.settings, turn.plan);
    let mut argv = session_settings.driver.command();
    // Without a title, OpenCode asks a model for one. `--auto` answers the questions of OpenCode's own rules,
    // after the plugin's call; without it, such a question would end the turn.
    argv.extend(
        ["run", "--format", "json", "--thinking", "--auto", "--title", "Windlass"].map(str::to_owned),
    );
    if plan.resume {
        argv.extend(["--session".to_owned(), plan.session.to_string()]);
    }
    argv.extend(turn.model().into_iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    let effort = session_settings.effort.map(Effort::word);
    argv.extend(effort.into_iter().flat_map(|effort| ["--variant", effort]).map(str::to_owned));
    argv.extend(session_settings.driver.args.iter().cloned());
    argv
}

/// Returns the database of the conversation, apart from the user's own conversations.
///
/// Each has one of its own, because OpenCode cannot start twice at once on a new one. Its name is the id of the
/// conversation. OpenCode chooses that id, so the plugin then links the id to the database.
fn database(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>) -> PathBuf {
    paths.home.join(format!("{}.db", turn.plan.session))
}

/// Returns the variables that OpenCode gets instead of the user's.
fn environment(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
    content: &Value,
) -> Vec<(String, String)> {
    let isolation = turn.settings.isolation;
    let mut env = vec![
        (CONTENT, content.to_string()),
        ("OPENCODE_PERMISSION", permission(isolation, outside).to_string()),
        ("OPENCODE_DB", text(&database(turn, paths))),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ("OPENCODE_DISABLE_SHARE", "1".to_owned()),
        // A tool that runs others would get past the plugin.
        ("OPENCODE_EXPERIMENTAL_CODE_MODE", "false".to_owned()),
        // OpenCode works in this folder, not in its working folder.
        ("PWD", turn.workspace.to_owned()),
    ];
    env.extend(NO_INSTALL.iter().map(|(name, value)| (*name, (*value).to_owned())));
    if isolation != Isolation::Permissive {
        env.push((CONFIG_HOME, text(&paths.dir.join("config"))));
        env.push(("OPENCODE_TEST_HOME", text(&paths.dir.join("config"))));
    }
    if isolation == Isolation::Strict {
        env.extend(PROJECT_OFF.iter().map(|name| (*name, "1".to_owned())));
    }
    env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Builds the settings that apply over all others.
fn content(
    plugin: &Path,
    role: Option<&Path>,
    turn: &TurnRequest<'_>,
    outside: &UserEnvironment<'_>,
) -> Value {
    let mut content = match (turn.settings.isolation, user_value(outside, CONTENT)) {
        (Isolation::Permissive, Some(users)) => settings::read(users),
        _ => Map::new(),
    };
    append(&mut content, "plugin", Some(plugin));
    append(&mut content, "instructions", role);
    // Windlass keeps the states of the folder itself.
    let ours = json!({ "snapshot": false, "share": "disabled", "autoupdate": false });
    if let Value::Object(ours) = ours {
        content.extend(ours);
    }
    // A refused tool is an answer to the model, not the end of the turn.
    let experimental = content.entry("experimental").or_insert_with(|| json!({}));
    if let Value::Object(experimental) = experimental {
        experimental.insert("continue_loop_on_deny".to_owned(), Value::Bool(true));
    }
    Value::Object(content)
}

fn append(content: &mut Map<String, Value>, key: &str, path: Option<&Path>) {
    let Some(path) = path else { return };
    let list = content.entry(key).or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        list.push(text(path).into());
    }
}

/// Builds the rules that apply after all others: everything is denied while the plugin does not ask Windlass.
fn permission(isolation: Isolation, outside: &UserEnvironment<'_>) -> Value {
    let mut rules = match (isolation, user_value(outside, "OPENCODE_PERMISSION")) {
        (Isolation::Permissive, Some(users)) => serde_json::from_str(users).unwrap_or_default(),
        _ => Map::new(),
    };
    if isolation == Isolation::Strict {
        rules.extend(BEYOND_STRICT.iter().map(|tool| ((*tool).to_owned(), "deny".into())));
    }
    rules.insert(GATE.to_owned(), "deny".into());
    Value::Object(rules)
}

/// Builds the settings with the user's providers and nothing else.
fn providers(outside: &UserEnvironment<'_>) -> Value {
    let home = user_value(outside, "HOME");
    let folder = super::settings_folder(Path::new(home.unwrap_or("/")), outside.env);
    let mut login =
        outside.user_settings.map(|text| settings::login(text, &folder, home)).unwrap_or_default();
    if let Some(content) = user_value(outside, CONTENT) {
        login.extend(settings::login(content, &folder, home));
    }
    Value::Object(login)
}

/// Builds the plugin. Its first line has everything that differs between turns.
fn plugin_text(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>, outside: &UserEnvironment<'_>) -> String {
    let is_permissive = turn.settings.isolation == Isolation::Permissive;
    let changed = NO_INSTALL.iter().map(|(name, _)| *name).chain((!is_permissive).then_some(CONFIG_HOME));
    let restore: Map<String, Value> =
        changed.map(|name| (name.to_owned(), user_value(outside, name).into())).collect();
    let env: Map<String, Value> =
        turn.own_env(paths).into_iter().map(|(name, value)| (name, value.into())).collect();
    let home = Path::new(user_value(outside, "HOME").unwrap_or("/"));
    let tidy: Vec<String> = if is_permissive {
        vec![text(&super::settings_folder(home, outside.env)), text(&home.join(".opencode"))]
    } else {
        Vec::new()
    };
    let facts = json!({
        "windlass": text(paths.windlass_exe), "cwd": turn.workspace, "holds": turn.plan.holds_stop,
        "gate": GATE, "database": text(&database(turn, paths)), "env": env, "restore": restore, "tidy": tidy,
    });
    format!("const turn = {facts}\n{PLUGIN_TEXT}")
}
