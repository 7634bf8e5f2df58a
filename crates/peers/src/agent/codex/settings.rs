//! The settings of one session, as a file that Codex layers over an empty home.
//!
//! Pure: takes the text of the user's own settings. The isolation decides what stays of them.

use toml::{Table, Value};
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::{Isolation, Ruling, decide};
use windlass_core::hook::{ToolCall, ToolName};

use super::super::turn::TurnRequest;
use super::project::ProjectSettings;
use super::tools;

/// The hook decides about the tools of MCP servers. Without this value Codex itself refuses each call.
const APPROVED: &str = "approve";

/// The user's settings that decide where a model is and who pays for it.
const LOGIN_KEYS: &[&str] = &[
    "model",
    "model_provider",
    "model_providers",
    "model_reasoning_effort",
    "model_reasoning_summary",
    "model_supports_reasoning_summaries",
    "model_verbosity",
    "model_context_window",
    "model_auto_compact_token_limit",
    "model_catalog_json",
    "oss_provider",
    "service_tier",
    "openai_base_url",
    "chatgpt_base_url",
    "cli_auth_credentials_store",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
    "preferred_auth_method",
];
/// Keys that only the file of the home itself may have.
const NOT_LAYERED: [&str; 2] = ["profile", "profiles"];
/// Features with which an agent works beyond its turn or with other programs of the user.
const USERS_OWN: [&str; 6] = ["apps", "plugins", "memories", "goals", "browser_use", "computer_use"];

/// The limits of the shell: the folders in which it may write, and the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellSandbox {
    pub(super) mode: &'static str,
    pub(super) has_network: bool,
    /// Further folders in which it may write.
    pub(super) folders: Vec<String>,
}

/// The shell writes nothing at all.
pub(super) const READ_ONLY: &str = "read-only";
/// The shell writes in the workspace.
pub(super) const WORKSPACE: &str = "workspace-write";
/// The shell is as free as the user's.
const FREE: &str = "danger-full-access";

impl ShellSandbox {
    /// Returns the sandbox of a session. `git` are the folders that git needs to commit, and `own` the folders
    /// that Windlass lets every session write in.
    pub(super) fn of(
        turn: &TurnRequest<'_>,
        user: &Table,
        git: Vec<String>,
        own: Vec<String>,
    ) -> ShellSandbox {
        let isolation = turn.settings.isolation;
        let has_network = isolation != Isolation::Strict;
        if !turn.settings.may_write() {
            return ShellSandbox { mode: READ_ONLY, has_network: false, folders: Vec::new() };
        }
        let wanted = user.get("sandbox_mode").and_then(Value::as_str);
        let table = user.get("sandbox_workspace_write");
        let users = table.and_then(|table| table.get("writable_roots")?.as_array());
        let users = users.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        match isolation {
            // Whoever can write git's settings and hooks can run programs outside the sandbox.
            Isolation::Strict => ShellSandbox { mode: WORKSPACE, has_network, folders: own },
            Isolation::Permissive if !matches!(wanted, Some(WORKSPACE | READ_ONLY)) => {
                ShellSandbox { mode: FREE, has_network, folders: Vec::new() }
            }
            Isolation::Minimal | Isolation::Permissive => ShellSandbox {
                mode: WORKSPACE,
                has_network,
                folders: own.into_iter().chain(git).chain(users).collect(),
            },
        }
    }
}

/// Returns the user's settings. Text that is no TOML counts as no settings.
pub(super) fn users(text: Option<&str>) -> Table {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Builds the settings of a session.
pub(super) fn of_session(
    turn: &TurnRequest<'_>,
    user: &Table,
    sandbox: &ShellSandbox,
    project: ProjectSettings,
    hooks: Table,
) -> Table {
    let isolation = turn.settings.isolation;
    let mut all = kept(user, isolation);
    set(&mut all, &["suppress_unstable_features_warning"], true);
    set(&mut all, &["check_for_update_on_startup"], false);
    set(&mut all, &["approval_policy"], "never");
    set(&mut all, &["sandbox_mode"], sandbox.mode);
    set(&mut all, &["sandbox_workspace_write", "network_access"], sandbox.has_network);
    let folders: Vec<Value> = sandbox.folders.iter().cloned().map(Value::String).collect();
    set(&mut all, &["sandbox_workspace_write", "writable_roots"], folders);
    let project = if isolation == Isolation::Strict { ProjectSettings::LeftOut } else { project };
    let (trust, servers) = match project {
        ProjectSettings::Loaded { servers } => ("trusted", servers),
        ProjectSettings::LeftOut => ("untrusted", Vec::new()),
    };
    set(&mut all, &["projects", turn.workspace, "trust_level"], trust);
    // Codex adds the rest from the project's settings.
    for server in &servers {
        set(&mut all, &["mcp_servers", server, "default_tools_approval_mode"], APPROVED);
    }
    if let Some(model) = turn.model() {
        set(&mut all, &["model"], model.as_str());
    }
    if let Some(effort) = turn.settings.effort {
        set(&mut all, &["model_reasoning_effort"], Effort::word(effort));
    }
    if let Some(role) = turn.system {
        let users = all.get("developer_instructions").and_then(Value::as_str);
        let role = users.map_or_else(|| role.to_owned(), |users| format!("{users}\n\n{role}"));
        set(&mut all, &["developer_instructions"], role);
    }
    set_tools(&mut all, turn);
    if let Some(Value::Table(servers)) = all.get_mut("mcp_servers") {
        for server in servers.iter_mut().filter_map(|(_, server)| server.as_table_mut()) {
            set(server, &["default_tools_approval_mode"], APPROVED);
        }
    }
    within(&mut all, "hooks", |known| {
        for (event, ours) in hooks {
            append(known, &event, ours);
        }
    });
    all
}

/// Turns off the tools that no hook is asked about, unless the rules allow them, and what the isolation
/// leaves out.
fn set_tools(all: &mut Table, turn: &TurnRequest<'_>) {
    let settings = turn.settings;
    let has = |tool, name: &str| {
        let call = ToolCall { tool, name: name.to_owned(), input: serde_json::Value::Null };
        decide(settings.isolation, &settings.permissions, turn.workspace, &call) == Ruling::Allow
    };
    if !has(ToolName::WebSearch, tools::WEB_SEARCH) {
        set(all, &["web_search"], "disabled");
    }
    set(all, &["features", "hooks"], true);
    // With it the agent may ask a person, and a hook answers.
    set(all, &["features", "default_mode_request_user_input"], true);
    if !has(ToolName::Task, tools::SUBAGENT) {
        // Two generations of models have subagents of their own.
        set(all, &["features", "multi_agent"], false);
        set(all, &["agents", "enabled"], false);
    }
    if settings.isolation == Isolation::Permissive {
        return;
    }
    for feature in USERS_OWN {
        set(all, &["features", feature], false);
    }
    if settings.isolation == Isolation::Strict {
        set(all, &["features", "image_generation"], false);
        set(all, &["project_doc_max_bytes"], 0);
        set(all, &["skills", "include_instructions"], false);
        set(all, &["skills", "bundled", "enabled"], false);
    }
}

fn kept(user: &Table, isolation: Isolation) -> Table {
    let is_kept = |key: &str| match isolation {
        Isolation::Strict | Isolation::Minimal => LOGIN_KEYS.contains(&key),
        Isolation::Permissive => !NOT_LAYERED.contains(&key),
    };
    user.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Sets a value below these keys.
fn set(table: &mut Table, keys: &[&str], value: impl Into<Value>) {
    match keys {
        [] => {}
        [key] => drop(table.insert((*key).to_owned(), value.into())),
        [key, rest @ ..] => within(table, key, |below| set(below, rest, value)),
    }
}

/// Changes the table below a key. A user's value of another kind gives way.
fn within(table: &mut Table, key: &str, change: impl FnOnce(&mut Table)) {
    let below = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    match below {
        Value::Table(below) => change(below),
        other => {
            let mut fresh = Table::new();
            change(&mut fresh);
            *other = Value::Table(fresh);
        }
    }
}

/// Adds entries to a list.
fn append(table: &mut Table, key: &str, more: Value) {
    let more = match more {
        Value::Array(more) => more,
        one => vec![one],
    };
    match table.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(known) => known.extend(more),
        other => *other = Value::Array(more),
    }
}
