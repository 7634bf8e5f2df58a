//! The arguments, environment, settings and input with which Claude Code starts.
//!
//! Pure: this module builds the contents of the files, and the caller writes them with mode 0600. The
//! tests with the real CLI check the effect of each option.

use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_core::graph::workflow::Effort;
use windlass_core::hook::permission::Isolation;
use windlass_core::launch::LineMark;
use windlass_core::launch::files::INPUT;

use super::super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::schema;

/// The file that may contain keys from the user's environment and settings.
pub(super) const SETTINGS: &str = "settings.json";
/// The way in which the CLI asks for permissions: in its output, with the reply on its input. Without one, the
/// CLI offers no questions in headless mode. An MCP server would do as well, but costs a tenth of a second per
/// turn.
const PROMPT_TOOL: &str = "stdio";
/// The last line of a turn. After it the CLI waits for another message or the end of its input.
const LAST_LINE: (&str, &str) = ("type", "result");
/// A person may take a week to answer a question.
const TOOL_HOOK_SECONDS: u64 = 7 * 24 * 3600;
/// Time for a Stop beyond the checks it waits for.
const STOP_MARGIN_SECONDS: u64 = 300;

/// Prepares one turn.
pub(super) fn prepare(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    outside: &UserEnvironment<'_>,
) -> Prepared {
    let [settings, input, system] = [SETTINGS, INPUT, "system"].map(|name| paths.dir.join(name));
    let ours = turn.own_env(paths);
    // Through standard input the CLI reads the prompt byte for byte, whatever it starts with.
    let mut launch = turn.launch(paths, outside, arguments(turn, [&settings, &system]), Some(&input));
    let (key, value) = LAST_LINE;
    launch.stdin_until = Some(LineMark { key: key.to_owned(), value: value.to_owned() });
    if turn.plan.holds_stop {
        // 0 means no cap: only the limit of the loop applies.
        launch.env.push(("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP".into(), "0".into()));
    }
    let role = turn.system.iter().map(|role| (system.clone(), role.as_bytes().to_vec()));
    let files = [
        (settings, settings_json(turn, paths, &ours, outside.user_settings).to_string().into_bytes()),
        (input, first_message(&turn.plan.prompt)),
    ];
    Prepared { launch, files: files.into_iter().chain(role).collect(), links: Vec::new() }
}

/// Builds the line with the prompt.
fn first_message(prompt: &str) -> Vec<u8> {
    let message = json!({ "role": "user", "content": prompt });
    format!("{}\n", json!({ "type": "user", "message": message })).into_bytes()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn arguments(turn: &TurnRequest<'_>, [settings, system]: [&Path; 2]) -> Vec<String> {
    let (spec, session_settings, plan) = (turn.spec, turn.settings, turn.plan);
    let mut argv = session_settings.driver.command();
    let session = if plan.resume { "--resume" } else { "--session-id" };
    argv.extend(["-p", "--input-format", "stream-json", "--output-format", "stream-json"].map(str::to_owned));
    argv.extend(["--verbose", "--permission-mode", "default", session].map(str::to_owned));
    argv.push(plan.session.to_string());
    argv.extend(["--settings".to_owned(), text(settings)]);
    argv.extend(["--permission-prompt-tool".to_owned(), PROMPT_TOOL.to_owned()]);
    argv.extend(sources(session_settings.isolation).iter().map(|word| (*word).to_owned()));
    argv.extend(spec.plugins.iter().flat_map(|plugin| ["--plugin-dir".to_owned(), plugin.dir.clone()]));
    // In a file: an argument is limited to 128 KB and visible to every user.
    argv.extend(turn.system.iter().flat_map(|_| ["--append-system-prompt-file".to_owned(), text(system)]));
    let schema = plan.schema.as_ref().and_then(schema::argument);
    argv.extend(schema.into_iter().flat_map(|schema| ["--json-schema".to_owned(), schema]));
    argv.extend(turn.model().into_iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    let effort = session_settings.effort.map(Effort::word);
    argv.extend(effort.into_iter().flat_map(|effort| ["--effort", effort]).map(str::to_owned));
    argv.extend(session_settings.driver.args.iter().cloned());
    argv
}

/// Returns the flags that select the settings to load. Only `--strict-mcp-config` keeps the project's
/// MCP servers out once its settings are loaded, so it belongs to `Strict` alone.
fn sources(isolation: Isolation) -> &'static [&'static str] {
    match isolation {
        Isolation::Strict => &["--setting-sources", "", "--strict-mcp-config"],
        Isolation::Minimal => &["--setting-sources", "project,local"],
        Isolation::Permissive => &["--setting-sources", "user,project,local"],
    }
}

fn settings_json(
    turn: &TurnRequest<'_>,
    paths: &TurnPaths<'_>,
    ours: &[(String, String)],
    user_settings: Option<&str>,
) -> Value {
    let spec = turn.spec;
    let mut settings = match turn.settings.isolation {
        Isolation::Permissive => Map::new(),
        Isolation::Strict | Isolation::Minimal => login(user_settings),
    };
    // Repeated here, because a project's own `env` could remove the socket from our hooks, and a hook
    // without a socket allows everything.
    let env = settings.entry("env").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(env) = env {
        env.extend(ours.iter().map(|(name, value)| (name.clone(), value.clone().into())));
    }
    let checks = spec.checks.len() as u64 * spec.limits.check_ms.div_ceil(1000);
    let tool = command_hook(paths, "PreToolUse", "--closed", TOOL_HOOK_SECONDS);
    let stop = command_hook(paths, "Stop", "--open", checks + STOP_MARGIN_SECONDS);
    settings.insert(
        "hooks".into(),
        json!({
            "PreToolUse": [{ "matcher": "*", "hooks": [tool] }],
            "Stop": [{ "hooks": [stop] }],
        }),
    );
    // Explicit, because a project's own `true` would disable our hooks.
    settings.insert("disableAllHooks".into(), Value::Bool(false));
    Value::Object(settings)
}

/// Builds the entry of a hook. With `args` the CLI starts the program itself, so no shell interprets the
/// path. `unanswered` selects the outcome when the run does not answer.
fn command_hook(paths: &TurnPaths<'_>, event: &str, unanswered: &str, seconds: u64) -> Value {
    json!({ "type": "command", "command": text(paths.windlass_exe), "args": ["hook", event, unanswered], "timeout": seconds })
}

const LOGIN_KEYS: &[&str] = &["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh"];
const LOGIN_VARIABLES: &[&str] = &[
    "ANTHROPIC_",
    "AWS_",
    "VERTEX_",
    "CLOUD_ML_REGION",
    "GOOGLE_",
    "CLAUDE_CODE_USE_",
    "CLAUDE_CODE_SKIP_",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
    "CLAUDE_CODE_CLIENT_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
];

/// Returns only the login part of the user's settings.
fn login(user_settings: Option<&str>) -> Map<String, Value> {
    let settings: Option<Map<String, Value>> = user_settings.and_then(|text| serde_json::from_str(text).ok());
    let Some(settings) = settings else { return Map::new() };
    let is_login = |name: &str| LOGIN_VARIABLES.iter().any(|prefix| name.starts_with(prefix));
    let keys = LOGIN_KEYS.iter().filter_map(|key| Some(((*key).to_owned(), settings.get(*key)?.clone())));
    let mut kept: Map<String, Value> = keys.collect();
    if let Some(Value::Object(env)) = settings.get("env") {
        let env: Map<_, _> =
            env.iter().filter(|(k, _)| is_login(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        kept.insert("env".into(), Value::Object(env));
    }
    kept
}
